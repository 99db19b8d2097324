import base64

import pytest

from harness import wallets
from harness.apps import write_sql
from harness.cast import ALICE, BOB, CHARLIE, TOKEN
from tests import actions
from tests.actions import shown
from tests.answers import assert_error


@pytest.fixture
def report(client):
    return lambda account_id=BOB, transaction_id=None: actions.report(
        client, transaction_id, accountId=account_id
    )


@pytest.fixture
def bought(listed, ledger, buy):
    """A purchase that is on the ledger, and not reported yet."""
    return ledger.sign_and_submit(buy().json["byteArray"], BOB)


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
    body = assert_error(report(ALICE), 409, "is no longer listed", f"belongs to {BOB} now")
    assert "errors" not in body


def test_a_purchase_that_the_wallet_froze_again_is_named(listed, ledger, buy, report):
    """The message only asked to list the NFT."""
    prepared = buy().json
    body = wallets.body_of(base64.b64decode(prepared["byteArray"]))
    wallets.give_new_id(body, BOB)
    receipt = ledger.submit(ledger.sign_bytes(wallets.seal(body), BOB))
    assert receipt.result == "SPENDER_DOES_NOT_HAVE_ALLOWANCE"
    was = prepared["metadata"]["transactionId"]
    words = f"If it was the purchase {was}, the wallet froze it again"
    error = assert_error(report(BOB, receipt.transaction_id), 404, "was not prepared", words)
    assert error["reason"] == "NOT_PREPARED"


def test_a_refusal_carries_the_ledgers_code(app, listed, ledger, buy, report):
    transaction = buy().json["byteArray"]
    ledger.withdraw(listed, ALICE)
    receipt = ledger.submit(ledger.sign(transaction, BOB))
    assert receipt.result == "SPENDER_DOES_NOT_HAVE_ALLOWANCE"
    for transaction_id in (receipt.transaction_id, None):
        body = assert_error(report(BOB, transaction_id), 409, "had no effect")
        assert body["errors"] == {"ledger": {"result": ["SPENDER_DOES_NOT_HAVE_ALLOWANCE"]}}


def test_the_second_buyer_learns_why_it_failed(listed, ledger, buy, report):
    first, second = buy(account_id=BOB).json, buy(account_id=CHARLIE).json
    ledger.sign_and_submit(first["byteArray"], BOB)
    ledger.submit(ledger.sign(second["byteArray"], CHARLIE))
    sold = f"{TOKEN} #7 was sold to somebody else; you paid nothing"
    assert_error(report(CHARLIE), 409, sold, "SPENDER_DOES_NOT_HAVE_ALLOWANCE")
    assert report(BOB).json["result"] == "OK"


def test_anothers_purchase_is_not_reported(bought, report):
    assert_error(report(CHARLIE, bought), 404, f"{bought} was not prepared here for {CHARLIE}")
    assert_error(report(CHARLIE), 404, "Nothing was prepared here")


def test_it_is_pending_while_a_replica_shows_the_nft_as_it_was(
    client, listed, buy, ledger, report, mirror
):
    rows = []
    mirror.alter(f"/tokens/{TOKEN}/nfts/7$", rows.append)
    transaction = buy().json["byteArray"]
    before = dict(rows[-1])
    bought = ledger.sign_and_submit(transaction, BOB)
    mirror.alter(f"/tokens/{TOKEN}/nfts/7$", lambda document: document.update(before))
    assert report(BOB, bought).status_code == 202
    assert shown(client)["isForSale"] is True


def test_a_report_is_about_the_newest_transaction(listed, ledger, lister, buy, report):
    """Bob buys it, lists it, withdraws it: each report is about Bob's last transaction."""
    ledger.sign_and_submit(buy().json["byteArray"], BOB)
    assert report().json["result"] == "OK"
    lister(listed, 300, BOB, add=False)
    assert report().json["result"] == "OK"
