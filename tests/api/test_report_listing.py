import base64

import pytest

from harness import wallets
from harness.cast import ALICE, BOB, CHARLIE, KEYS, TOKEN
from marketplace.hedera import times
from marketplace.hedera.ids import TransactionId
from tests.actions import prepare_long_ago, report, shown
from tests.answers import assert_error


def prepare(client, price=250, **fields):
    r = client.post("/v1/list/extwallet", json=KEYS | {"listingPrice": price} | fields)
    return r.json["byteArray"]


def test_it_works(client, nft, ledger):
    transaction_id = ledger.sign_and_submit(prepare(client))

    r = report(client, transaction_id)
    assert r.status_code == 200
    assert r.json == {"result": "OK", "listingPrice": 250}
    assert shown(client)["isForSale"] is True
    assert shown(client)["listingPrice"] == 250
    assert [nft["serialNo"] for nft in client.get("/v1/orderbook").json] == [7]


def test_it_lists_at_consensus_time(client, nft, ledger, lister):
    transaction_id = TransactionId.parse(lister(nft, add=False))
    rows = client.get(f"/sandbox/api/v1/transactions/{transaction_id.dashed}").json["transactions"]
    consensus_at = times.to_iso(times.from_consensus(rows[0]["consensus_timestamp"]))
    assert shown(client)["lastListedDate"] == consensus_at[:23] + "Z"


def test_it_reads_both_forms_of_a_transaction_id(client, nft, ledger):
    transaction_id = ledger.sign_and_submit(prepare(client))
    account_id, start = transaction_id.split("@")
    seconds, nanos = start.split(".")

    assert report(client, f"{account_id}-{seconds}-{nanos}").json["result"] == "OK"
    assert report(client, f"{account_id}@{seconds}.{int(nanos)}").json["result"] == "OK"


def test_it_answers_pending_before_the_ledger_knows(client, nft, ledger):
    r = client.post("/v1/list/extwallet", json=KEYS | {"listingPrice": 250})
    byte_array, expires_at = r.json["byteArray"], r.json["metadata"]["expiresAt"]

    r = report(client)
    assert r.status_code == 202
    assert r.json == {"result": "PENDING", "expiresAt": expires_at}
    assert int(r.headers["Retry-After"]) > 0
    assert shown(client)["isForSale"] is False

    ledger.sign_and_submit(byte_array)
    assert report(client).status_code == 200


def test_it_refuses_what_was_never_submitted_once_it_expired(app, client):
    prepare_long_ago(app)
    body = assert_error(
        report(client),
        409,
        "TRANSACTION_EXPIRED",
        "was not submitted in time (TRANSACTION_EXPIRED)",
    )
    assert body["errors"] == {"ledger": {"result": ["TRANSACTION_EXPIRED"]}}
    assert shown(client)["isForSale"] is False


def test_it_finds_a_listing_that_is_reported_long_after_it_was_submitted(app, client, ledger):
    content, then = prepare_long_ago(app)
    receipt = ledger.submit(ledger.sign_bytes(content), then)
    assert receipt.result == "SUCCESS"
    assert report(client, receipt.transaction_id).json["result"] == "OK"


def test_it_refuses_what_the_ledger_refused(client, nft, ledger):
    byte_array = prepare(client)
    ledger.hand_over(nft, BOB)
    receipt = ledger.submit(ledger.sign(byte_array))
    assert receipt.result == "SENDER_DOES_NOT_OWN_NFT_SERIAL_NO"

    for _ in range(2):
        body = assert_error(report(client), 409, "SENDER_DOES_NOT_OWN_NFT_SERIAL_NO")
        assert body["errors"]["ledger"]["result"] == ["SENDER_DOES_NOT_OWN_NFT_SERIAL_NO"]


def test_it_does_not_take_a_wrong_signature_for_a_listing(client, nft, ledger, lister):
    lister((TOKEN, 8))  # the ledger knows Alice's key from now on
    receipt = ledger.submit(ledger.sign(prepare(client), CHARLIE))
    assert receipt.result == "INVALID_SIGNATURE"
    assert report(client).status_code == 202


def test_it_handles_a_foreign_transaction_id(client, nft, ledger, lister):
    foreign = lister((TOKEN, 8))
    prepare(client)
    r = report(client, foreign)
    assert_error(r, 404, f"{foreign} was not prepared here for {ALICE} and {TOKEN} #7")
    assert shown(client)["isForSale"] is False


@pytest.mark.parametrize("seconds", [9_223_369_936, 9_999_999_999, 10**17])
def test_an_id_beyond_63_bits_of_nanoseconds_asks_nobody(client, nft, mirror, seconds):
    mirror.asked.clear()
    assert_error(report(client, f"{ALICE}@{seconds}.000000001"), 404, "was not prepared here")
    assert mirror.asked == []


def test_a_report_of_an_unknown_listing_or_nft_is_refused(client, nft):
    assert_error(report(client), 404, "NOT_PREPARED", "Nothing was prepared here")
    assert_error(report(client, accountId=CHARLIE), 404, CHARLIE)
    assert_error(report(client, serialNo=8), 404, "NFT_NOT_STORED")


@pytest.mark.parametrize(
    ("end", "owner", "words"),
    [
        (lambda ledger, nft: ledger.hand_over(nft, BOB), BOB, f"belongs to {BOB} now"),
        (lambda ledger, nft: ledger.withdraw(nft, ALICE), ALICE, "its owner withdrew the approval"),
    ],
)
def test_it_handles_a_transfer_or_a_withdrawal_in_between(client, nft, ledger, end, owner, words):
    ledger.sign_and_submit(prepare(client))
    end(ledger, nft)
    assert_error(report(client), 409, "no longer listed", words)
    assert shown(client)["isForSale"] is False
    assert shown(client)["owner"] == {"accountId": owner}


def test_an_old_listing_does_not_come_back_with_its_old_owner(client, nft, ledger, lister):
    old = lister(nft, listing_price=5, add=False)
    ledger.hand_over(nft, BOB)
    assert_error(report(client, old), 409)
    ledger.hand_over(nft, ALICE)
    ledger.sign_and_submit(prepare(client, 900))

    assert report(client, old).json["result"] == "OK"  # the listing that stands was found instead
    assert shown(client)["listingPrice"] == 900


@pytest.mark.parametrize("is_confirmed", [True, False])
def test_an_approval_given_elsewhere_ends_a_listing(client, nft, ledger, is_confirmed):
    transaction_id = ledger.sign_and_submit(prepare(client))
    if is_confirmed:
        assert report(client).status_code == 200
    ledger.approve(nft, ALICE, "0.0.9001")

    assert_error(report(client, transaction_id), 409, "a later CRYPTOAPPROVEALLOWANCE ended it")
    assert shown(client)["isForSale"] is False


def test_an_altered_new_listing_ends_the_old_one(client, listed, ledger):
    ledger.submit_altered(prepare(client, 90), memo="Listing for 5 HBAR")
    assert_error(report(client), 409, "its memo differs")
    assert shown(client)["isForSale"] is False


def test_a_new_price_is_awaited_by_its_id(client, nft, ledger, lister):
    lister(nft, listing_price=100, add=False)
    byte_array = prepare(client, 80)
    transaction_id = str(wallets.id_of(base64.b64decode(byte_array)))

    assert report(client, transaction_id).status_code == 202
    # Without it, the question is whether the NFT is listed.
    assert report(client).status_code == 200
    ledger.sign_and_submit(byte_array)
    assert report(client, transaction_id).json["result"] == "OK"
    assert shown(client)["listingPrice"] == 80


def test_the_price_is_what_the_owner_signed(client, nft, ledger):
    memo = "Listing NFT with 0.0.7001 and Serial Number 7 for 1 HBAR on another wallet's page"
    ledger.submit_altered(prepare(client, 250), memo=memo)
    assert report(client).json["result"] == "OK"
    assert shown(client)["listingPrice"] == 1


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"memo": "Listing NFT with 0.0.7001 and Serial Number 8 for 1 HBAR"}, "CRYPTOAPPROVE"),
        ({"memo": "Listing NFT with 0.0.7001 and Serial Number 7 for 0 HBAR"}, "CRYPTOAPPROVE"),
        ({"transfer_to": BOB}, "CRYPTOTRANSFER"),
    ],
)
def test_it_refuses_an_altered_transaction_of_the_same_id(client, nft, ledger, change, name):
    ledger.submit_altered(prepare(client), **change)
    assert_error(report(client), 409, f"is a {name}", "its kind or its memo differs")
    assert shown(client)["isForSale"] is False


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_last_of_two_listings_wins_in_either_order_of_reports(client, nft, ledger, order):
    ids = [ledger.sign_and_submit(prepare(client, price)) for price in (100, 200)]

    for position in order:
        assert report(client, ids[position]).json["result"] == "OK"
    assert shown(client)["listingPrice"] == 200
