import pytest

from harness.apps import write_sql
from harness.cast import ALICE, BOB, CHARLIE, TOKEN
from tests import actions
from tests.actions import hand_in, settle_purchase, shown
from tests.answers import assert_error


@pytest.fixture
def report(client):
    return lambda account_id=BOB, transaction_id=None: actions.report(
        client, transaction_id, accountId=account_id
    )


@pytest.fixture
def bought(client, listed, ledger, buy):
    """A purchase that is on the ledger, and not reported yet."""
    return settle_purchase(client, buy())


@pytest.mark.parametrize("is_named", [True, False])
def test_it_works(client, bought, report, is_named):
    for _ in range(2):
        assert report(BOB, bought if is_named else None).json["result"] == "OK"
    assert (shown(client)["isForSale"], shown(client)["owner"]) == (False, {"accountId": BOB})
    assert client.get("/v1/orderbook").json == []
    assert client.get(f"/v1/user/{ALICE}/listed").json == []


def test_a_purchase_stays_confirmed_once_the_buyer_sold_the_nft(
    client, bought, report, ledger, lister, nft
):
    assert report(BOB, bought).json["result"] == "OK"
    ledger.hand_over(nft, CHARLIE)
    assert report(BOB, bought).json["result"] == "OK"
    assert shown(client)["owner"] == {"accountId": CHARLIE}


def test_a_purchase_stays_confirmed_once_it_was_deleted_here(app, bought, report):
    write_sql(app, "DELETE FROM prepared_transaction")
    assert report(BOB, bought).json["result"] == "OK"
    assert_error(report(CHARLIE, bought), 404, "was not prepared here")


def test_the_seller_learns_that_it_was_sold(bought, report):
    body = assert_error(report(ALICE), 409, "REPORT_OUTDATED", f"belongs to {BOB} now")
    assert "errors" not in body


def test_anothers_purchase_is_not_reported(bought, report):
    assert_error(report(CHARLIE, bought), 404, f"{bought} was not prepared here for {CHARLIE}")
    assert_error(report(CHARLIE), 404, "Nothing was prepared here")


def test_it_is_pending_while_a_replica_shows_the_nft_as_it_was(
    client, listed, buy, ledger, report, mirror
):
    rows = []
    mirror.alter(f"/tokens/{TOKEN}/nfts/7$", rows.append)
    prepared = buy()
    before = dict(rows[-1])
    mirror.alter(f"/tokens/{TOKEN}/nfts/7$", lambda document: document.update(before))
    assert hand_in(client, prepared).status_code == 202
    assert report(BOB, prepared.json["metadata"]["transactionId"]).status_code == 202
    assert shown(client)["isForSale"] is True


def test_a_report_is_about_the_newest_transaction(client, listed, lister, buy, report):
    """Bob buys it, lists it, withdraws it: each report is about Bob's last transaction."""
    settle_purchase(client, buy())
    assert report().json["result"] == "OK"
    lister(listed, 300, BOB, add=False)
    assert report().json["result"] == "OK"
