import pytest
from werkzeug.wrappers import Response

from harness.cast import ALICE, BOB, CHARLIE, KEYS, TOKEN
from tests.actions import expire, report, settle_purchase, shown
from tests.answers import assert_error, handed_out
from tests.engines import both_engines


def prepare(client, wallet="extwallet", **fields):
    return client.post(f"/v1/delist/{wallet}", json=KEYS | fields)


def test_it_works(client, listed):
    transaction = handed_out(prepare(client), ALICE)
    body = transaction.body
    assert transaction.pairs == []
    [removed] = body.cryptoDeleteAllowance.nftAllowances
    assert (removed.token_id.tokenNum, removed.owner.accountNum) == (7001, 1001)
    assert list(removed.serial_numbers) == [7]
    assert body.transactionID.accountID.accountNum == 1001
    assert body.nodeAccountID.accountNum == 3
    assert body.transactionFee == 500_000_000
    assert body.transactionValidDuration.seconds == 180
    assert body.memo == f"Delisting NFT with {TOKEN} and Serial Number 7 on NFT Marketplace"


@pytest.mark.parametrize("is_named", [True, False])
def test_a_withdrawn_listing_leaves_the_order_book(client, listed, ledger, is_named):
    transaction_id = ledger.sign_and_submit(prepare(client).json["byteArray"])
    for _ in range(2):
        assert report(client, transaction_id if is_named else None).json["result"] == "OK"
    assert shown(client)["isForSale"] is False
    assert client.get("/v1/orderbook").json == []


def test_a_withdrawal_of_an_nft_that_was_listed_again_is_refused(client, listed, ledger, lister):
    transaction_id = ledger.sign_and_submit(prepare(client).json["byteArray"])
    lister(listed, 300)
    assert_error(report(client, transaction_id), 409, "and then listed again")
    # What was prepared last is the listing.
    assert report(client).json["result"] == "OK"


def test_a_withdrawal_of_an_nft_that_was_sold_is_refused(client, listed, ledger, buy):
    signed = ledger.sign(prepare(client).json["byteArray"])
    settle_purchase(client, buy())
    assert_error(report(client), 409, "REPORT_OUTDATED", f"it belongs to {BOB} now")
    receipt = ledger.submit(signed)
    assert receipt.result == "SENDER_DOES_NOT_OWN_NFT_SERIAL_NO"
    for transaction_id in (None, receipt.transaction_id):
        body = assert_error(report(client, transaction_id), 409, "TRANSACTION_REFUSED")
        assert body["errors"] == {"ledger": {"result": [receipt.result]}}


def test_a_withdrawal_that_may_still_come_is_pending_though_the_nft_was_sold(
    client, listed, ledger
):
    transaction_id = str(handed_out(prepare(client), ALICE).id)
    ledger.hand_over(listed, BOB)
    assert report(client, transaction_id).status_code == 202


def test_a_withdrawal_stays_confirmed_once_the_nft_was_handed_on(client, listed, ledger):
    withdrawn = ledger.sign_and_submit(prepare(client).json["byteArray"])
    ledger.hand_over(listed, BOB)
    for transaction_id in (withdrawn, None):
        assert report(client, transaction_id).json["result"] == "OK"


@both_engines
def test_a_withdrawal_that_was_never_submitted_expires(app, client, listed, ledger):
    r = prepare(client)
    expire(app)
    for _ in range(2):
        body = assert_error(report(client), 409, "TRANSACTION_EXPIRED")
    assert body["errors"] == {"ledger": {"result": ["TRANSACTION_EXPIRED"]}}
    assert "a new withdrawal" in body["message"]
    ledger.sign_and_submit(r.json["byteArray"])
    assert report(client).json["result"] == "OK"


def test_a_refusal_carries_the_ledgers_code(client, listed, ledger, lister, mirror):
    signed = ledger.sign(prepare(client).json["byteArray"])
    transaction_id = ledger.submit(signed).transaction_id
    lister(listed, 300)
    mirror.alter(
        "/transactions/0.0.1001",
        lambda document: document["transactions"][0].update(result="INSUFFICIENT_PAYER_BALANCE"),
    )
    r = report(client, transaction_id)
    assert_error(r, 409, "had no effect", "INSUFFICIENT_PAYER_BALANCE")


def test_a_withdrawal_by_another_application_counts(client, listed, ledger):
    prepare(client)
    ledger.withdraw(listed, ALICE)
    assert report(client).json["result"] == "OK"


def test_it_rejects_what_is_not_stored_not_listed_or_anothers(client, ledger, lister):
    assert_error(prepare(client), 404, "NFT_NOT_STORED")
    client.post("/v1/add", json=KEYS)
    assert_error(prepare(client), 409, "NOT_LISTED")
    lister((TOKEN, 7))
    assert_error(prepare(client, accountId=CHARLIE), 409, "NOT_THE_OWNER", ALICE, CHARLIE)
    ledger.hand_over((TOKEN, 7), BOB)
    assert_error(prepare(client), 409, "NOT_THE_OWNER", BOB, ALICE)
    ledger.delete_token(TOKEN)
    assert_error(prepare(client), 404, "was burned on the ledger, or its token was deleted")


def test_it_finds_what_was_listed_and_not_reported(client, nft, ledger):
    r = client.post("/v1/list/extwallet", json=KEYS | {"listingPrice": 5})
    ledger.sign_and_submit(r.json["byteArray"])
    assert prepare(client).status_code == 200


@pytest.mark.parametrize("is_listed", [True, False])
@pytest.mark.parametrize(
    ("status", "refused"),
    [(503, "did not answer"), (200, "not JSON"), (403, "status 403"), (404, "status 404")],
)
def test_its_owner_can_withdraw_while_the_mirror_node_cannot_be_asked(
    client, nft, lister, mirror, status, refused, is_listed
):
    """A gateway in front of it answers, or nobody. The ledger says who may sign, and what it ends."""
    if is_listed:
        lister(nft)
    mirror.answer("/", Response(b"<html>Sorry</html>", status))
    assert prepare(client).status_code == 200
    assert_error(prepare(client, accountId=BOB), 503 if status == 503 else 502, refused)


def test_it_asks_again_where_replicas_disagree(client, nft, ledger, mirror):
    r = client.post("/v1/list/extwallet", json=KEYS | {"listingPrice": 5})
    ledger.sign_and_submit(r.json["byteArray"])
    mirror.alter("/nfts/7/transactions", lambda document: document["transactions"].pop(0))
    assert_error(prepare(client), 503, "contradicts itself")
