"""Offers over HTTP: made, accepted, withdrawn, deleted and listed, on the sandbox's ledger."""

import base64
import re
from datetime import datetime

import pytest
from hiero_sdk_python.hapi.services.basic_types_pb2 import Key, KeyList, ThresholdKey
from hiero_sdk_python.hapi.services.schedulable_transaction_body_pb2 import (
    SchedulableTransactionBody,
)

from harness import wallets
from harness.apps import authorized_client, settings, write_sql
from harness.cast import ALICE, BOB, CHARLIE, KEYS, MARKET, TOKEN
from harness.ledger import Ledger
from hiero_sandbox.database import write as write_ledger
from hiero_sandbox.ledger import accounts
from marketplace import create_app
from marketplace.hedera import times, transactions
from marketplace.market import moderation
from marketplace.market.moderation import Ruling, Subject
from marketplace.market.offers.checks import look_at_covers
from marketplace.sandbox import wallet
from marketplace.services import read, services, write
from marketplace.store.rechecks import Recheck, What, enqueue
from tests.actions import expire, shown
from tests.answers import assert_error, handed_out, opened
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
    """Have an account sign and submit what was handed out; returns the transaction's id."""
    assert r.status_code == 200, r.text
    return Ledger(client.application).sign_and_submit(r.json["byteArray"], account_id)


def report_made(client, transaction_id=None, **fields):
    named = {"transactionId": transaction_id} if transaction_id else {}
    keys = {"accountId": BOB, "tokenId": TOKEN, "serialNo": 7}
    return client.post("/v1/comingsoon", json=keys | named | fields)


def make(client, **fields):
    """Make an offer that its bidder signs and reports; returns its id."""
    bidder = fields.get("accountId", BOB)
    transaction_id = sign(client, ask(client, **fields), bidder)
    r = report_made(client, transaction_id, accountId=bidder)
    assert (r.status_code, r.json["result"]) == (200, "OK"), r.text
    return r.json["offerId"]


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
    transaction = handed_out(r, BOB)
    body = transaction.body
    made, memo = (
        body.scheduleCreate,
        f"Offer of 50 HBAR for {TOKEN} and Serial Number 7 on NFT Marketplace",
    )
    assert body.memo == made.memo == made.scheduledTransactionBody.memo == memo
    assert body.transactionID.accountID == made.payerAccountID == transactions.make_account_id(BOB)
    assert not made.wait_for_expiry
    sides = KeyList(keys=[Key(ed25519=wallet.public_key(each)) for each in (BOB, ALICE)])
    assert made.adminKey == Key(thresholdKey=ThresholdKey(threshold=1, keys=sides))
    sale = made.scheduledTransactionBody.cryptoTransfer
    assert {each.accountID.accountNum: each.amount for each in sale.transfers.accountAmounts} == {
        1001: 50 * HBAR,
        1002: -50 * HBAR,
    }
    [moved] = sale.tokenTransfers
    assert (moved.token, moved.nftTransfers[0].serialNumber) == (
        transactions.make_token_id(TOKEN),
        7,
    )
    assert not transaction.pairs
    assert client.get(f"/v1/nft/{TOKEN}/7/offers").json == []
    assert ledger.balance(MARKET) == before[MARKET]
    transaction_id = sign(client, r)
    r = report_made(client, transaction_id)
    offer_id = r.json["offerId"]
    assert r.json == {"result": "OK", "offerId": offer_id}
    assert report_made(client).json == r.json  # the newest that was prepared
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
        "state": "OPEN",
        "acceptedAt": None,
    }
    scheduled = SchedulableTransactionBody.FromString(base64.b64decode(record["transactionBody"]))
    assert scheduled == made.scheduledTransactionBody
    assert record == shown_offer | {
        "transactionId": transaction_id,
        "transactionBody": record["transactionBody"],
    }
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
    assert r.json["metadata"]["offerId"] == offer_id
    assert r.json["metadata"]["sellerReceives"] == str(50 * HBAR)
    sign(client, r, ALICE)
    assert report(client, ALICE, offer_id).json == {"result": "OK"}
    assert find(client, offer_id).json["state"] == "ACCEPTED"
    assert client.get(f"/v1/collection/{TOKEN}").json["bestOffer"] is None
    [ended] = client.get(f"/v1/user/{BOB}/offers").json
    assert ended["state"] == "ACCEPTED"
    after = {account: ledger.balance(account) for account in (ALICE, BOB, MARKET)}
    paid = {account: before[account] - after[account] for account in before}
    assert paid[MARKET] == 0
    assert 50 * HBAR < paid[BOB] < 51 * HBAR
    assert -50 * HBAR < paid[ALICE] < -49 * HBAR


def test_the_seller_receives_the_price_less_part_and_royalties(app, client, ledger):
    """Tides have a royalty of a twentieth."""
    app.config["SALE_FEE_BASIS_POINTS"] = 200
    tides = {"tokenId": "0.0.5001", "serialNo": 1}
    client.post("/v1/add", json=tides | {"accountId": ALICE})
    r = ask(client, **tides)
    offer_id = report_made(client, sign(client, r), **tides).json["offerId"]
    r = accept(client, offer_id)
    received = 49 * HBAR - 49 * HBAR // 20
    assert r.json["metadata"]["sellerReceives"] == str(received)
    before = ledger.balance(ALICE)
    sign(client, r, ALICE)
    assert received - HBAR < ledger.balance(ALICE) - before < received
    assert report(client, ALICE, offer_id).json == {"result": "OK"}
    [sold] = client.get("/v1/events", query_string={"kind": "SOLD", "order": "desc"}).json
    assert sold["sellerReceived"] == str(received)


@both_engines
@pytest.mark.parametrize("account_id", [ALICE, BOB])
def test_the_bidder_withdraws_alone_and_the_owner_declines_alone(client, nft, account_id):
    offer_id = make(client)
    r = withdraw(client, offer_id, account_id)
    assert opened(r).body.HasField("scheduleDelete")
    assert r.json["metadata"]["accountToSign"] == account_id
    sign(client, r, account_id)
    assert report(client, account_id, offer_id).json == {"result": "OK"}
    assert find(client, offer_id).json["state"] == "WITHDRAWN"
    assert_error(withdraw(client, offer_id), 409, f"The offer {offer_id} was withdrawn")
    assert_error(accept(client, offer_id), 409, "was withdrawn")


def test_an_accepted_offer_cannot_be_withdrawn(client, nft):
    offer_id = make(client)
    sign(client, accept(client, offer_id), ALICE)
    assert_error(withdraw(client, offer_id), 409, "was accepted already")
    assert_error(accept(client, offer_id, BOB), 409, "was accepted already")


def test_asking_changes_nothing_and_may_be_repeated(client, nft):
    first, again = ask(client), ask(client)
    assert first.json["metadata"]["transactionId"] != again.json["metadata"]["transactionId"]
    r = report_made(client)
    assert (r.status_code, r.json["result"]) == (202, "PENDING")
    assert client.get(f"/v1/user/{BOB}/offers").json == []


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
    assert_error(idle_client.delete("/v1/offers/0.0.1"), 405)


def test_it_answers_404_for_a_schedule_that_is_no_offer(client, nft):
    for offer_id in ("0.0.999999", MARKET, "0.0.9223372036854775807"):
        for r in (
            find(client, offer_id), accept(client, offer_id), withdraw(client, offer_id),
            report(client, BOB, offer_id),
        ):  # fmt: skip
            assert_error(r, 404, f"{offer_id} is not an offer of this marketplace")


def test_lists_of_what_is_not_stored(client):
    assert_error(client.get("/v1/nft/0.0.7999/1/offers"), 404, "NFT_NOT_STORED")
    assert_error(client.get("/v1/collection/0.0.7999/offers"), 404, "No NFT of 0.0.7999")
    assert client.get("/v1/user/0.0.7999/offers").json == []
    assert_error(ask(client), 404, "NFT_NOT_STORED")


def test_offers_need_no_key_and_no_node(tmp_path):
    app = create_app(SALE_FEE_BUDGET="0", **settings(tmp_path))
    client = authorized_client(app, "read", "write")
    client.post("/v1/add", json=KEYS)
    assert accept(client, make(client)).status_code == 200


def test_the_owner_and_the_marketplace_cannot_offer(client, nft):
    assert_error(ask(client, accountId=ALICE), 409, "BUYER_IS_OWNER", ALICE)
    assert_error(ask(client, accountId=MARKET), 409, "ACCOUNT_IS_MARKETPLACE")


def test_an_account_without_a_key_is_refused_before_it_pays(app, client, nft, ledger, monkeypatch):
    """The network would charge it: UNRESOLVABLE_REQUIRED_SIGNERS."""
    monkeypatch.setattr(services(app), "sandbox", None)
    for account_id in (BOB, ALICE):
        body = assert_error(ask(client), 409, f"{account_id} is hollow")
        assert body["errors"] == {"ledger": {"result": ["UNRESOLVABLE_REQUIRED_SIGNERS"]}}
        ledger.change_account(account_id, key=f"1220{wallet.public_key(account_id).hex()}")
    assert ask(client).status_code == 200


def test_a_deleted_collector_or_a_marketplace_that_must_sign(app, client, nft, mirror):
    fee = {
        "amount": {"numerator": 1, "denominator": 20}, "collector_account_id": "0.0.2002",
        "fallback_fee": None, "all_collectors_are_exempt": False,
    }  # fmt: skip
    mirror.alter(f"/tokens/{TOKEN}$", lambda token: token["custom_fees"].update(royalty_fees=[fee]))
    mirror.alter("/accounts/0.0.2002$", lambda account: account.update(deleted=True))
    assert_error(ask(client), 409, "0.0.2002", "was deleted", "ACCOUNT_DELETED")
    mirror.heal()
    mirror.alter(f"/accounts/{MARKET}$", lambda account: account.update(receiver_sig_required=True))
    assert ask(client).status_code == 200  # it receives nothing
    app.config["SALE_FEE_BASIS_POINTS"] = 100
    assert_error(ask(client), 409, f"{MARKET} must sign for each payment")


def test_the_bidder_must_cover_price_and_fees(client, nft, ledger):
    ledger.change_account(BOB, balance=50 * HBAR)
    assert_error(
        ask(client),
        409,
        "BUYER_BALANCE_TOO_LOW",
        f"{BOB} has 50 HBAR",
        "price and fees can be 51 HBAR",
    )
    ledger.change_account(BOB, balance=49 * HBAR)
    assert_error(ask(client), 409, "BUYER_BALANCE_TOO_LOW")
    ledger.change_account(BOB, balance=51 * HBAR)
    assert ask(client).status_code == 200


def test_the_bidder_must_be_able_to_receive_it(client, nft, ledger):
    ledger.change_account(BOB, automatic_associations=0)
    assert_error(
        ask(client), 409, "BUYER_NOT_ASSOCIATED", "is not associated", "associate it first"
    )
    with ledger.sandbox.app_context(), write_ledger() as db:
        accounts.associate(db, BOB, TOKEN, times.now())
    assert ask(client).status_code == 200


def test_it_refuses_a_collection_whose_issuer_prevents_the_sale(client, nft, mirror):
    mirror.alter(f"/tokens/{TOKEN}$", lambda document: document.update(pause_status="PAUSED"))
    assert_error(ask(client), 409, "TOKEN_IS_PAUSED")
    mirror.heal()
    fee = {"amount": 5, "collector_account_id": "0.0.2002", "denominating_token_id": "0.0.5"}
    mirror.alter(f"/tokens/{TOKEN}$", lambda token: token["custom_fees"].update(fixed_fees=[fee]))
    assert_error(ask(client), 409, "FEES_IN_TOKENS")
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
    assert client.get(f"/v1/user/{BOB}/offers").json[0]["state"] == "CLOSED"
    assert client.get(f"/v1/user/{ALICE}/offers?side=received").json == []
    assert_error(ask(client, offerPrice=60), 403, "ACCOUNT_BLOCKED", BOB)
    assert_error(accept(client, offer_id), 403, "ACCOUNT_BLOCKED", BOB)
    with app.app_context():
        moderation.unblock(BOB)
        moderation.block(ALICE, Ruling("stolen"))
    assert_error(ask(client, offerPrice=60), 403, "ACCOUNT_BLOCKED", ALICE)
    assert_error(accept(client, offer_id), 403, "ACCOUNT_BLOCKED", ALICE)
    with app.app_context():
        moderation.unblock(ALICE)
        moderation.hide(Subject(*nft), Ruling("stolen"))
    assert_error(ask(client, offerPrice=60), 451, "HIDDEN")
    assert_error(accept(client, offer_id), 451)
    assert_error(find(client, offer_id), 451)
    assert_error(client.get(f"/v1/nft/{TOKEN}/7/offers"), 451)
    assert client.get(f"/v1/collection/{TOKEN}/offers").json == []
    assert client.get(f"/v1/user/{BOB}/offers").json == []
    sign(client, withdraw(client, offer_id))  # which nobody is kept from
    assert report(client, BOB, offer_id).json == {"result": "OK"}


def test_only_the_present_owner_accepts(client, nft, ledger):
    offer_id = make(client)
    assert_error(accept(client, offer_id, CHARLIE), 409, "NOT_THE_OWNER", ALICE)
    assert_error(accept(client, offer_id, BOB), 409, "NOT_THE_OWNER", ALICE)
    ledger.hand_over(nft, CHARLIE)
    assert_error(accept(client, offer_id), 409, "NOT_THE_OWNER", CHARLIE)
    assert_error(accept(client, offer_id, CHARLIE), 409, f"was made to {ALICE}")
    assert find(client, offer_id).json["state"] == "CLOSED"
    assert client.get(f"/v1/user/{BOB}/offers").json[0]["state"] == "CLOSED"
    ledger.hand_over(nft, ALICE)  # it comes back, and so does the offer
    assert accept(client, offer_id).status_code == 200
    assert find(client, offer_id).json["state"] == "OPEN"


def test_it_is_accepted_only_by_its_price(client, nft):
    offer_id = make(client)
    body = assert_error(accept(client, offer_id, expectedPrice=51), 409, "is for 50 HBAR, not 51")
    assert body["errors"] == {"json": {"expectedPrice": ["is 50"]}}
    assert accept(client, offer_id).status_code == 200


def test_only_its_bidder_and_the_owner_end_it(client, nft):
    offer_id = make(client)
    assert_error(withdraw(client, offer_id, CHARLIE), 409, "NEITHER_BIDDER_NOR_OWNER", BOB, ALICE)


@both_engines
def test_an_uncovered_offer_is_shown_to_its_bidder_alone(client, nft, ledger):
    offer_id = make(client)
    ledger.change_account(BOB, balance=10 * HBAR)
    assert_error(accept(client, offer_id), 409, f"{BOB} has 10 HBAR")
    assert find(client, offer_id).json["covered"] is False
    for path in (f"nft/{TOKEN}/7", f"collection/{TOKEN}"):
        assert client.get(f"/v1/{path}/offers").json == []
    assert client.get(f"/v1/user/{ALICE}/offers?side=received").json == []
    [own] = client.get(f"/v1/user/{BOB}/offers").json
    assert (own["state"], own["covered"]) == ("OPEN", False)
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


def test_bids_that_nobody_can_pay_close_no_bidding(client, nft, ledger):
    """Fifty offers of 5,000 kept an honest one out, for 60 days."""
    ledger.change_account(CHARLIE, balance=100_000 * HBAR)
    for days in range(1, 51):
        sign(client, ask(client, accountId=CHARLIE, offerPrice=5000, expiresIn=days), CHARLIE)
        report_made(client, accountId=CHARLIE)
    ledger.change_account(CHARLIE, balance=1)
    with client.application.app_context():
        rows = read().execute("SELECT * FROM offer").fetchall()
        look_at_covers(rows)
    honest = make(client, offerPrice=40)
    assert ids(client.get(f"/v1/nft/{TOKEN}/7/offers")) == [honest]
    assert client.get(f"/v1/collection/{TOKEN}").json["bestOffer"] == 40


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
    assert client.get(f"/v1/user/{BOB}/offers").json[0]["state"] == "EXPIRED"
    assert client.get(f"/v1/nft/{TOKEN}/7/offers").json == []
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
    """Two equal schedules with the same expiry are one for the network."""
    offer_id = make(client)
    r = accept(client, offer_id)
    sign(client, withdraw(client, offer_id))
    assert (
        ledger.submit(ledger.sign(r.json["byteArray"], ALICE)).result == "SCHEDULE_ALREADY_DELETED"
    )
    named = {"transactionId": r.json["metadata"]["transactionId"]}
    body = assert_error(report(client, ALICE, offer_id, **named), 409, "SCHEDULE_ALREADY_DELETED")
    assert body["errors"] == {"ledger": {"result": ["SCHEDULE_ALREADY_DELETED"]}}


def test_a_report_of_an_offer_that_the_ledger_refused(client, nft, ledger):
    r = ask(client)
    ledger.change_account(BOB, balance=1)
    receipt = ledger.submit(ledger.sign(r.json["byteArray"], BOB))
    assert receipt.result == "INSUFFICIENT_PAYER_BALANCE"
    assert report_made(client).status_code == 202  # it is not on the ledger


def test_a_report_of_what_was_not_submitted_in_time(app, client, nft):
    ask(client)
    r = report_made(client)
    assert (r.status_code, r.json["result"]) == (202, "PENDING")
    assert r.headers["Retry-After"]
    expire(app)
    assert_error(report_made(client), 409, "was not submitted in time")


def test_a_wallet_may_have_replaced_the_id(client, nft, ledger):
    r = ask(client)
    body = wallets.body_of(base64.b64decode(r.json["byteArray"]))
    wallets.give_new_id(body, BOB)
    receipt = ledger.submit(ledger.sign_bytes(wallets.seal(body), BOB))
    assert receipt.result == "SUCCESS"
    r = report_made(client, receipt.transaction_id)
    assert (r.status_code, r.json["result"]) == (200, "OK"), r.text
    assert find(client, r.json["offerId"]).json["transactionId"] == receipt.transaction_id


def test_a_report_of_an_impossible_id(client, nft):
    """The mirror node would answer 503, however often it is asked."""
    offer_id, start = make(client), "999999999999999999.000000000"
    assert_error(report_made(client, f"{BOB}@{start}"), 404, "NOT_PREPARED")
    r = report(client, ALICE, offer_id, transactionId=f"{ALICE}@{start}")
    assert_error(r, 404, "NOT_PREPARED")


def test_a_report_by_who_has_no_part_in_it(client, nft):
    offer_id = make(client)
    assert_error(report(client, CHARLIE, offer_id), 409, BOB, ALICE)


def test_a_report_of_an_acceptance_ends_when_the_offer_does(client, nft, ledger):
    offer_id = make(client)
    r = accept(client, offer_id)
    assert report(client, ALICE, offer_id).status_code == 202
    sign(client, withdraw(client, offer_id))
    assert_error(report(client, ALICE, offer_id), 409, "was withdrawn")
    assert r.status_code == 200


@both_engines
def test_a_change_within_the_last_90_seconds_is_waited_for(app, client, nft):
    """It may be one of the bidder's key, which the mirror node does not show yet."""
    offer_id = make(client)
    with app.app_context(), write() as db:
        enqueue(db, Recheck.of(What("offer", offer_id), times.now()), times.now())
    assert_error(accept(client, offer_id), 503, "TRY_AGAIN", "within the last 90 seconds")
    write_sql(
        app,
        "UPDATE recheck SET changed_at = :then",
        then=times.to_iso(times.now() - times.ALLOWED_LAG),
    )
    assert accept(client, offer_id).status_code == 200


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


def test_it_refuses_a_withdrawal_after_a_change_of_key(client, nft, ledger):
    offer_id = make(client)
    ledger.change_account(BOB, key=f"1220{wallet.public_key(CHARLIE).hex()}")
    assert_error(withdraw(client, offer_id), 409, "OFFER_NOT_DELETABLE", f"The key of {BOB}")
    assert withdraw(client, offer_id, ALICE).status_code == 200
