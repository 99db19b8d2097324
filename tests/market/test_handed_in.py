"""Handing in what a user signs and pays for, instead of submitting it."""

import base64

import pytest

from harness import wallets
from harness.cast import ALICE, BOB, CHARLIE, KEYS, TOKEN
from tests.actions import expire, list_nft, shown
from tests.answers import assert_error
from tests.engines import both_engines


def hand_in(client, content, **fields):
    body = KEYS | {"signedTransaction": base64.b64encode(content).decode()} | fields
    return client.post("/v1/comingsoon", json=body)


def prepare(client, path="list", **fields):
    answer = client.post(f"/v1/{path}/extwallet", json=KEYS | fields)
    assert answer.status_code == 200, answer.json
    return answer.json["byteArray"]


@both_engines
def test_a_listing_and_a_withdrawal(client, nft, ledger):
    signed = ledger.sign(prepare(client, listingPrice=250))
    for _ in range(2):
        assert hand_in(client, signed).json == {"result": "OK", "listingPrice": 250}
    assert shown(client)["listingPrice"] == 250
    assert hand_in(client, ledger.sign(prepare(client, "delist"))).json == {"result": "OK"}
    assert shown(client)["isForSale"] is False


def test_an_offer_and_its_acceptance(client, nft, ledger):
    offer = ledger.sign(prepare(client, "offer", accountId=BOB, offerPrice=50), BOB)
    made = hand_in(client, offer, accountId=BOB).json
    assert made == {"result": "OK", "offerId": made["offerId"]}
    body = {"accountId": ALICE, "offerId": made["offerId"]}
    accepted = client.post("/v1/acceptoffer/extwallet", json=body).json["byteArray"]
    assert hand_in(client, ledger.sign(accepted)).json == {"result": "OK"}
    assert shown(client)["owner"] == {"accountId": BOB}


def test_what_is_handed_in_about_an_offer_is_judged_by_it(client, nft, ledger):
    offer = ledger.sign(prepare(client, "offer", accountId=BOB, offerPrice=50), BOB)
    offer_id = hand_in(client, offer, accountId=BOB).json["offerId"]
    body = {"accountId": ALICE, "offerId": offer_id}
    accepted = ledger.sign(client.post("/v1/acceptoffer/extwallet", json=body).json["byteArray"])
    listing = ledger.sign(prepare(client, listingPrice=250))

    def ask(content, account_id, offer_id):
        named = {"accountId": account_id, "offerId": offer_id}
        signed = {"signedTransaction": base64.b64encode(content).decode()}
        return client.post("/v1/comingsoon", json=named | signed)

    for content in (offer, accepted, listing):
        assert_error(ask(content, CHARLIE, offer_id), 409, "NEITHER_BIDDER_NOR_OWNER")
        assert_error(ask(content, ALICE, "0.0.99999"), 404, "OFFER_UNKNOWN")
    assert ask(accepted, ALICE, offer_id).json == {"result": "OK"}


def change_memo(body):
    body.memo = "Listing NFT with 0.0.7001 and Serial Number 7 for 1 HBAR on X"


def change_spender(body):
    [allowance] = body.cryptoApproveAllowance.nftAllowances
    allowance.spender.CopyFrom(wallets.account(BOB))


@pytest.mark.parametrize(
    "change", [change_memo, change_spender, lambda body: wallets.give_new_id(body, ALICE)]
)
def test_nothing_else_is_passed_on(client, nft, ledger, change):
    body = wallets.body_of(base64.b64decode(prepare(client, listingPrice=250)))
    change(body)
    answer = hand_in(client, ledger.sign_bytes(wallets.seal(body)))
    assert_error(answer, 409, "NOT_AS_PREPARED")
    assert shown(client)["isForSale"] is False


def test_what_was_not_prepared_here_is_not_passed_on(client, nft, ledger):
    body = wallets.approval(ALICE, (TOKEN, 7), BOB, "hello")
    answer = hand_in(client, ledger.sign_bytes(wallets.seal(body)))
    assert_error(answer, 409, "NOT_AS_PREPARED")


def test_the_ledgers_refusal_is_reported(client, nft, ledger):
    signed = ledger.sign(prepare(client, listingPrice=250), BOB)
    list_nft(client, 5)  # from then on, Alice's key is known
    body = assert_error(hand_in(client, signed), 409, "TRANSACTION_REFUSED")
    assert body["errors"] == {"ledger": {"result": ["INVALID_SIGNATURE"]}}


def test_it_refuses_an_expired_transaction(app, client, nft, ledger):
    signed = ledger.sign(prepare(client, listingPrice=250))
    expire(app)
    assert_error(hand_in(client, signed), 409, "TRANSACTION_EXPIRED")
