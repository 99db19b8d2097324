"""Offers over HTTP: made, accepted, withdrawn, deleted and listed, on the sandbox's ledger."""

import base64
import re
from datetime import datetime

import pytest
from hiero_sdk_python.hapi.services.schedulable_transaction_body_pb2 import (
    SchedulableTransactionBody,
)

from harness.apps import authorized_client, settings, write_sql
from harness.cast import ALICE, BOB, CHARLIE, KEYS, MARKET, TOKEN
from harness.ledger import Ledger
from hiero_sandbox.database import write
from hiero_sandbox.ledger import accounts
from marketplace import create_app
from marketplace.hedera import times
from marketplace.market import moderation
from marketplace.market.moderation import Ruling, Subject
from marketplace.sandbox import wallet
from marketplace.store.database import read
from tests.actions import expire, list_nft, shown
from tests.answers import assert_error, opened
from tests.engines import both_engines

HBAR = 100_000_000
OFFER = {"accountId": BOB, "tokenId": TOKEN, "serialNo": 7, "offerPrice": 50}
BAD_VALUES = {
    "accountId": [None, "", "0.0", 1002, "0.0.1002\n"],
    "tokenId": [None, "0.0.7001:7"],
    "serialNo": [None, 0, "7", 7.0, True],
    "offerPrice": [None, 0, -1, "50", 50.5, 50_000_000_001],
    "expiresIn": [None, 0, 61, "7", 1.5, True],
}


def ask(client, **fields):
    return client.post("/v1/offer/extwallet", json=OFFER | fields)


def sign(client, r, account_id=BOB):
    """Have an account sign what was handed out; returns the offer's id."""
    assert r.status_code == 200, r.text
    Ledger(client.application).sign_and_submit(r.json["byteArray"], account_id)
    return r.json["metadata"]["offerId"]


def make(client, **fields):
    """Make an offer that its bidder signs and reports; returns its id."""
    bidder = fields.get("accountId", BOB)
    offer_id = sign(client, ask(client, **fields), bidder)
    assert report(client, bidder, offer_id).json == {"result": "OK"}
    return offer_id


def report(client, account_id, offer_id, **fields):
    return client.post(
        "/v1/comingsoon", json={"accountId": account_id, "offerId": offer_id} | fields
    )


def accept(client, offer_id, account_id=ALICE, **fields):
    keys = {"accountId": account_id, "offerId": offer_id}
    return client.post("/v1/acceptoffer/extwallet", json=keys | fields)


def withdraw(client, offer_id, account_id=BOB):
    keys = {"accountId": account_id, "offerId": offer_id}
    return client.post("/v1/withdrawoffer/extwallet", json=keys)


def find(client, offer_id):
    return client.get(f"/v1/offers/{offer_id}")


def seconds(record, name):
    return datetime.fromisoformat(record[name]).timestamp()


def ids(r):
    assert r.status_code == 200, r.text
    return [offer["offerId"] for offer in r.json]


@both_engines
def test_it_works(client, nft, ledger):
    before = {account: ledger.balance(account) for account in (ALICE, BOB, MARKET)}
    r = ask(client)
    assert r.status_code == 200, r.text
    transaction = opened(r)
    body, metadata = transaction.body, r.json["metadata"]
    offer_id = metadata["offerId"]
    assert body.scheduleSign.scheduleID.scheduleNum == int(offer_id.split(".")[2])
    assert body.transactionID.accountID.accountNum == 1002
    assert body.memo == f"Offer of 50 HBAR for {TOKEN} and Serial Number 7 on NFT Marketplace"
    assert not transaction.pairs
    assert metadata == {
        "accountToSign": BOB,
        "returnTransaction": False,
        "transactionId": metadata["transactionId"],
        "expiresAt": metadata["expiresAt"],
        "network": "sandbox",
        "offerId": offer_id,
    }
    assert find(client, offer_id).json["state"] == "UNSIGNED"
    assert client.get(f"/v1/nft/{TOKEN}/7/offers").json == []
    sign(client, r)
    assert report(client, BOB, offer_id).json == {"result": "OK"}
    record = find(client, offer_id).json
    shown_offer = {
        "offerId": offer_id,
        "token": TOKEN,
        "serialNo": 7,
        "from": {"accountId": ALICE},
        "to": {"accountId": BOB},
        "price": 50,
        "expiresAt": record["expiresAt"],
        "covered": True,
        "createdAt": record["createdAt"],
    }
    scheduled = SchedulableTransactionBody.FromString(base64.b64decode(record["transactionBody"]))
    assert scheduled.memo == body.memo
    assert record == shown_offer | {
        "state": "OPEN",
        "transactionId": record["transactionId"],
        "transactionBody": record["transactionBody"],
    }
    assert re.fullmatch(rf"{MARKET}@[0-9.]+", record["transactionId"])
    days = seconds(record, "expiresAt") - seconds(record, "createdAt")
    assert 7 * 86_400 - 30 < days <= 7 * 86_400
    for path in (
        f"nft/{TOKEN}/7/offers", f"collection/{TOKEN}/offers",
        f"user/{BOB}/offers", f"user/{BOB}/offers?side=made", f"user/{ALICE}/offers?side=received",
    ):  # fmt: skip
        assert client.get(f"/v1/{path}").json == [shown_offer], path
    for path in (f"user/{ALICE}/offers", f"user/{BOB}/offers?side=received"):
        assert client.get(f"/v1/{path}").json == []
    assert client.get(f"/v1/collection/{TOKEN}").json["bestOffer"] == 50
    r = accept(client, offer_id, expectedPrice=50)
    assert opened(r).body.memo.startswith(
        f"Selling NFT with {TOKEN} and Serial Number 7 for 50 HBAR"
    )
    sign(client, r, ALICE)
    assert report(client, ALICE, offer_id).json == {"result": "OK"}
    assert find(client, offer_id).json["state"] == "ACCEPTED"
    assert client.get(f"/v1/collection/{TOKEN}").json["bestOffer"] is None
    after = {account: ledger.balance(account) for account in (ALICE, BOB, MARKET)}
    paid = {account: before[account] - after[account] for account in before}
    assert (
        paid[MARKET] == HBAR // 5
    )  # two cents: one, and one for the second key of the two that delete it
    assert 50 * HBAR < paid[BOB] < 51 * HBAR
    assert -50 * HBAR < paid[ALICE] < -49 * HBAR


@both_engines
@pytest.mark.parametrize("state", ["unsigned", "signed"])
def test_the_bidder_withdraws_alone(client, nft, state):
    r = ask(client)
    offer_id = r.json["metadata"]["offerId"]
    if state == "signed":
        sign(client, r)
    r = withdraw(client, offer_id)
    assert opened(r).body.HasField("scheduleDelete")
    sign(client, r)
    assert report(client, BOB, offer_id).json == {"result": "OK"}
    assert find(client, offer_id).json["state"] == "WITHDRAWN"
    assert_error(withdraw(client, offer_id), 409, f"The offer {offer_id} was withdrawn")
    assert_error(accept(client, offer_id), 409, "was withdrawn")


@both_engines
@pytest.mark.parametrize("is_signed", [False, True])
def test_who_made_it_has_it_deleted(app, client, nft, is_signed):
    r = ask(client)
    offer_id = r.json["metadata"]["offerId"]
    if is_signed:
        sign(client, r)
        assert report(client, BOB, offer_id).json == {"result": "OK"}
    stranger = authorized_client(app, "read", "write")
    assert_error(stranger.delete(f"/v1/offers/{offer_id}"), 403, "was not made by this caller")
    r = client.delete(f"/v1/offers/{offer_id}")
    assert (r.status_code, r.json) == (200, {"result": "OK"})
    assert find(client, offer_id).json["state"] == "WITHDRAWN"
    assert client.get(f"/v1/nft/{TOKEN}/7/offers").json == []
    assert client.delete(f"/v1/offers/{offer_id}").json == {"result": "OK"}  # again
    sql = "SELECT COUNT(*) AS n FROM prepared_transaction WHERE kind = 'offer_deletion'"
    assert count(app, sql) == 1


def count(app, sql):

    with app.app_context():
        return read().execute(sql).fetchone()["n"]


def test_another_end_user_of_the_token_may_not_delete_it(app, nft):
    client = authorized_client(app, "read", "write", "on-behalf")
    r = client.post("/v1/offer/extwallet", json=OFFER, headers={"On-Behalf-Of": "bob"})
    path = f"/v1/offers/{r.json['metadata']['offerId']}"
    assert_error(client.delete(path, headers={"On-Behalf-Of": "eve"}), 403)
    assert_error(client.delete(path), 403)
    assert client.delete(path, headers={"On-Behalf-Of": "bob"}).status_code == 200


def test_an_accepted_offer_cannot_be_deleted(client, nft):
    offer_id = make(client)
    sign(client, accept(client, offer_id), ALICE)
    assert_error(client.delete(f"/v1/offers/{offer_id}"), 409, "was accepted already")
    assert_error(withdraw(client, offer_id), 409, "was accepted already")
    assert_error(accept(client, offer_id, BOB), 409, "was accepted already")


@pytest.mark.parametrize("field", BAD_VALUES)
def test_it_rejects_bad_values(idle_client, field):
    for value in BAD_VALUES[field]:
        assert_error(ask(idle_client, **{field: value}), 422, field)


def test_it_rejects_what_is_missing_and_other_wallets(idle_client):
    for field in set(OFFER):
        body = {name: value for name, value in OFFER.items() if name != field}
        r = idle_client.post("/v1/offer/extwallet", json=body)
        assert_error(r, 422, f"{field} is required")
    assert_error(idle_client.post("/v1/offer/fastwallet", json=OFFER), 404, "fastwallet")
    for path in ("acceptoffer", "withdrawoffer"):
        r = idle_client.post(f"/v1/{path}/extwallet", json={"accountId": BOB, "offerId": "0.0"})
        assert_error(r, 422, "offerId")
        r = idle_client.post(f"/v1/{path}/extwallet", json={"accountId": BOB})
        assert_error(r, 422, "offerId is required")
    for path in (
        "offers/0.0",
        "offers/x",
        f"user/{BOB}/offers?side=both",
        f"nft/{TOKEN}/7/offers?page=x",
    ):
        assert_error(idle_client.get(f"/v1/{path}"), 422)
    assert_error(idle_client.delete("/v1/offers/0.0.1.2"), 422)


def test_what_is_no_offer_is_unknown(client, nft):
    for offer_id in ("0.0.999999", MARKET, "0.0.9223372036854775807"):
        for r in (
            find(client, offer_id), accept(client, offer_id), withdraw(client, offer_id),
            client.delete(f"/v1/offers/{offer_id}"), report(client, BOB, offer_id),
        ):  # fmt: skip
            assert_error(r, 404, f"{offer_id} is not an offer of this marketplace")


def test_lists_of_what_is_not_stored(client):
    assert_error(client.get("/v1/nft/0.0.7999/1/offers"), 404, "not stored")
    assert_error(client.get("/v1/collection/0.0.7999/offers"), 404, "No NFT of 0.0.7999")
    assert client.get("/v1/user/0.0.7999/offers").json == []
    assert_error(ask(client), 404, f"{TOKEN} #7 is not stored")


@both_engines
def test_without_the_setting_there_are_none(tmp_path):
    app = create_app(OFFERS="off", **settings(tmp_path))
    client = authorized_client(app, "read", "write")
    client.post("/v1/add", json=KEYS)
    for r in (
        ask(client), accept(client, "0.0.1"), withdraw(client, "0.0.1"), report(client, BOB, "0.0.1"),
        client.delete("/v1/offers/0.0.1"), find(client, "0.0.1"),
        client.get(f"/v1/nft/{TOKEN}/7/offers"), client.get(f"/v1/collection/{TOKEN}/offers"),
        client.get(f"/v1/user/{BOB}/offers"),
    ):  # fmt: skip
        assert_error(r, 501, "This service has no offers", "MARKETPLACE_OFFERS=on")
    list_nft(client)
    assert client.get(f"/v1/collection/{TOKEN}").json["bestOffer"] is None


def test_without_a_signer_or_a_budget_none_can_be_made(tmp_path):
    app = create_app(SALE_FEE_BUDGET="0", **settings(tmp_path))
    client = authorized_client(app, "read", "write")
    client.post("/v1/add", json=KEYS)
    assert_error(ask(client), 501, "MARKETPLACE_SALE_FEE_BUDGET is 0")
    assert client.get(f"/v1/user/{BOB}/offers").json == []


def test_who_cannot_offer(client, nft):
    assert_error(ask(client, accountId=ALICE), 409, f"belongs to {ALICE} already")
    assert_error(ask(client, accountId=MARKET), 409, "the marketplace's own account")


def test_the_marketplaces_own_nft_is_not_sold_by_its_signature(client, nft, ledger):
    """Its signature of the schedule would be the owner's, too."""
    ledger.hand_over(nft, MARKET)
    assert_error(ask(client), 409, "the marketplace's own account")


@pytest.mark.parametrize("account_id", [ALICE, BOB])
def test_an_account_with_the_marketplaces_key_takes_no_part(client, nft, ledger, account_id):
    key = f"1220{wallet.public_key(MARKET).hex()}"
    ledger.change_account(account_id, key=key)
    body = assert_error(
        ask(client), 409, f"{account_id} shares a key with the marketplace's own account"
    )
    assert body["reason"] == "KEY_SHARED"


def test_the_bidder_must_cover_price_and_fees(client, nft, ledger):
    ledger.change_account(BOB, balance=50 * HBAR)
    body = assert_error(ask(client), 409, f"{BOB} has 50 HBAR", "price and fees can be 51 HBAR")
    assert body["reason"] == "BIDDER_BALANCE_TOO_LOW"
    ledger.change_account(BOB, balance=49 * HBAR)
    assert assert_error(ask(client), 409)["reason"] == "BUYER_BALANCE_TOO_LOW"
    ledger.change_account(BOB, balance=51 * HBAR)
    assert ask(client).status_code == 200


def test_the_bidder_must_be_able_to_receive_it(client, nft, ledger):
    ledger.change_account(BOB, automatic_associations=0)
    body = assert_error(ask(client), 409, "is not associated", "associate it first")
    assert body["reason"] == "BUYER_NOT_ASSOCIATED"
    with ledger.sandbox.app_context(), write() as db:
        accounts.associate(db, BOB, TOKEN, times.now())
    assert ask(client).status_code == 200


def test_what_the_issuer_forbids(client, nft, mirror):
    mirror.alter(f"/tokens/{TOKEN}$", lambda document: document.update(pause_status="PAUSED"))
    assert_error(ask(client), 409, "TOKEN_IS_PAUSED")
    mirror.heal()
    fee = {"amount": 5, "collector_account_id": "0.0.2002", "denominating_token_id": "0.0.5"}
    mirror.alter(f"/tokens/{TOKEN}$", lambda token: token["custom_fees"].update(fixed_fees=[fee]))
    assert assert_error(ask(client), 409)["reason"] == "FEES_IN_TOKENS"
    mirror.heal()
    for name, value, code in (
        ("freeze_status", "FROZEN", "ACCOUNT_FROZEN_FOR_TOKEN"),
        ("kyc_status", "REVOKED", "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN"),
    ):
        mirror.alter(
            f"/accounts/{ALICE}/tokens",
            lambda document, name=name, value=value: document["tokens"][0].update({name: value}),
        )
        assert_error(ask(client), 409, code)
        mirror.heal()


def test_a_seller_who_must_sign_receipts_signs_the_acceptance(client, nft, ledger, mirror):
    mirror.alter(f"/accounts/{ALICE}$", lambda account: account.update(receiver_sig_required=True))
    offer_id = make(client)
    sign(client, accept(client, offer_id), ALICE)
    assert report(client, ALICE, offer_id).json == {"result": "OK"}


@both_engines
def test_what_the_operator_has_hidden_or_blocked(app, client, nft):
    offer_id = make(client)
    with app.app_context():
        moderation.block(BOB, Ruling("stolen"))
    assert find(client, offer_id).json["state"] == "CLOSED"
    assert client.get(f"/v1/user/{BOB}/offers").json == []
    assert_error(ask(client, offerPrice=60), 403, f"{BOB} is blocked")
    assert_error(accept(client, offer_id), 403, f"{BOB} is blocked")
    with app.app_context():
        moderation.unblock(BOB)
        moderation.block(ALICE, Ruling("stolen"))
    assert_error(ask(client, offerPrice=60), 403, f"{ALICE} is blocked")
    assert_error(accept(client, offer_id), 403, f"{ALICE} is blocked")
    with app.app_context():
        moderation.unblock(ALICE)
        moderation.hide(Subject(*nft), Ruling("stolen"))
    assert_error(ask(client, offerPrice=60), 451, "is hidden")
    assert_error(accept(client, offer_id), 451)
    assert_error(find(client, offer_id), 451)
    assert_error(client.get(f"/v1/nft/{TOKEN}/7/offers"), 451)
    assert client.get(f"/v1/collection/{TOKEN}/offers").json == []
    assert client.get(f"/v1/user/{BOB}/offers").json == []
    sign(client, withdraw(client, offer_id))  # which nobody is kept from
    assert report(client, BOB, offer_id).json == {"result": "OK"}


def test_only_the_present_owner_accepts(client, nft, ledger):
    offer_id = make(client)
    assert_error(accept(client, offer_id, CHARLIE), 409, f"belongs to {ALICE}")
    assert_error(accept(client, offer_id, BOB), 409, f"belongs to {ALICE}")
    ledger.hand_over(nft, CHARLIE)
    assert_error(accept(client, offer_id), 409, f"belongs to {CHARLIE}")
    assert_error(accept(client, offer_id, CHARLIE), 409, f"was made to {ALICE}")
    assert find(client, offer_id).json["state"] == "CLOSED"
    assert client.get(f"/v1/user/{BOB}/offers").json == []
    ledger.hand_over(nft, ALICE)  # it comes back, and so does the offer
    assert accept(client, offer_id).status_code == 200
    assert find(client, offer_id).json["state"] == "OPEN"


def test_only_what_was_signed_can_be_accepted_and_only_by_its_price(client, nft):
    r = ask(client)
    offer_id = r.json["metadata"]["offerId"]
    early = assert_error(accept(client, offer_id), 409, "is not signed by its bidder yet")
    assert early["reason"] == "OFFER_NOT_SIGNED"
    sign(client, r)
    body = assert_error(accept(client, offer_id, expectedPrice=51), 409, "is for 50 HBAR, not 51")
    assert body["errors"] == {"json": {"expectedPrice": ["is 50"]}}
    assert accept(client, offer_id).status_code == 200


def test_only_the_bidder_withdraws(client, nft):
    offer_id = make(client)
    assert_error(withdraw(client, offer_id, ALICE), 409, f"was made by {BOB}, not by {ALICE}")


def test_an_uncovered_offer_is_shown_and_not_accepted(client, nft, ledger):
    offer_id = make(client)
    ledger.change_account(BOB, balance=10 * HBAR)
    assert_error(accept(client, offer_id), 409, f"{BOB} has 10 HBAR")
    assert find(client, offer_id).json["covered"] is False
    assert client.get(f"/v1/collection/{TOKEN}").json["bestOffer"] is None
    ledger.change_account(BOB, balance=100 * HBAR)
    assert accept(client, offer_id).status_code == 200
    assert find(client, offer_id).json["covered"] is True


def test_a_listing_may_stand_beside_it(client, listed):
    offer_id = make(client)
    sign(client, accept(client, offer_id), ALICE)
    assert report(client, ALICE, offer_id).json == {"result": "OK"}
    client.post("/v1/comingsoon", json=KEYS)
    assert not shown(client)["isForSale"]
    assert shown(client)["owner"] == {"accountId": BOB}


@both_engines
def test_the_same_request_gives_the_same_offer_while_it_is_not_signed(app, client, nft):
    first = ask(client).json
    again = ask(client).json
    assert again["metadata"]["offerId"] == first["metadata"]["offerId"]
    others = [ask(client, **fields).json for fields in ({"offerPrice": 51}, {"expiresIn": 8})]
    others.append(ask(authorized_client(app, "read", "write")).json)
    offer_ids = {each["metadata"]["offerId"] for each in [first, *others]}
    assert len(offer_ids) == 4
    sign(client, ask(client))
    r = ask(client)
    assert r.status_code == 200, r.text
    assert r.json["metadata"]["offerId"] not in offer_ids  # though within the same second


@pytest.mark.parametrize("days", [1, 60])
def test_it_expires_when_it_should(client, nft, days):
    offer_id = make(client, expiresIn=days)
    record = find(client, offer_id).json
    length = seconds(record, "expiresAt") - seconds(record, "createdAt")
    assert days * 86_400 - 30 < length <= days * 86_400


def test_an_expired_offer(app, client, nft):
    offer_id = make(client)
    write_sql(app, "UPDATE offer SET expires_at = :then", then=times.to_iso(times.now() - 1))
    assert find(client, offer_id).json["state"] == "EXPIRED"
    assert client.get(f"/v1/user/{BOB}/offers").json == []
    assert client.get(f"/v1/collection/{TOKEN}").json["bestOffer"] is None


def test_pages_lead_on_and_skip_nothing(client, complete, nft, ledger):
    ledger.change_account(BOB, balance=10_000 * HBAR)
    prices = [50, 70, 60, 70, 55]
    made = [make(client, offerPrice=price, expiresIn=1 + n) for n, price in enumerate(prices)]
    expected = sorted(made, key=lambda id: (-prices[made.index(id)], id))
    for path in (
        f"/v1/nft/{TOKEN}/7/offers",
        f"/v1/collection/{TOKEN}/offers",
        f"/v1/user/{BOB}/offers",
    ):
        url, found = f"{path}?limit=2", []
        while url:
            r = client.get(url)
            found += ids(r)
            link = r.headers.get("Link")
            url = link and re.fullmatch('<(.*)>; rel="next"', link)[1]
        assert found == expected
        assert "X-Events-Cursor" in client.get(path).headers
    assert client.get(f"/v1/collection/{TOKEN}").json["bestOffer"] == 70


def test_a_report_of_what_the_ledger_refused(client, nft, ledger):
    r = ask(client)
    offer_id = r.json["metadata"]["offerId"]
    assert report(client, BOB, offer_id).status_code == 202
    r_withdrawal = withdraw(client, offer_id)
    sign(client, r_withdrawal)
    assert ledger.submit(ledger.sign(r.json["byteArray"], BOB)).result == "SCHEDULE_ALREADY_DELETED"
    named = {"transactionId": r.json["metadata"]["transactionId"]}
    body = assert_error(report(client, BOB, offer_id, **named), 409, "SCHEDULE_ALREADY_DELETED")
    assert body["errors"] == {"ledger": {"result": ["SCHEDULE_ALREADY_DELETED"]}}


def test_a_report_of_what_was_not_submitted_in_time(app, client, nft):
    offer_id = ask(client).json["metadata"]["offerId"]
    r = report(client, BOB, offer_id)
    assert (r.status_code, r.json["result"]) == (202, "PENDING")
    assert r.headers["Retry-After"]
    expire(app)
    assert_error(report(client, BOB, offer_id), 409, "was not submitted in time")


def test_a_report_by_who_has_no_part_in_it(client, nft):
    offer_id = make(client)
    assert_error(report(client, CHARLIE, offer_id), 409, f"was made by {BOB}, not by {CHARLIE}")


def test_a_sale_that_fails_is_reported(client, nft, ledger):
    offer_id = make(client)
    r = accept(client, offer_id)
    ledger.change_account(BOB, balance=10 * HBAR)
    sign(client, r, ALICE)
    body = assert_error(report(client, ALICE, offer_id), 409)
    assert body["errors"]["ledger"]["result"][0] in (
        "INSUFFICIENT_ACCOUNT_BALANCE",
        "INSUFFICIENT_PAYER_BALANCE",
    )
    assert find(client, offer_id).json["state"] == "FAILED"
    assert shown(client)["owner"] == {"accountId": ALICE}


def test_who_has_changed_keys_cannot_withdraw_alone(client, nft, ledger):
    offer_id = make(client)
    known_key = f"1220{wallet.public_key(CHARLIE).hex()}"
    ledger.change_account(BOB, key=known_key)
    assert_error(withdraw(client, offer_id), 409, "The bidder's key cannot withdraw", "DELETE")
    assert client.delete(f"/v1/offers/{offer_id}").status_code == 200
