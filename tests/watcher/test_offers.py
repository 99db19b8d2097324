"""Offers on the ledger are found without a report, and end as the ledger ends them."""

import base64
import json
from threading import Event

import pytest
from hiero_sdk_python.crypto.private_key import PrivateKey
from hiero_sdk_python.hapi.sdk.transaction_list_pb2 import TransactionList
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction

from harness import wallets
from harness.apps import write_sql
from harness.cast import ALICE, BOB, CHARLIE, MARKET, TOKEN
from hiero_sandbox import wallet as signing
from hiero_sandbox.conditions import conditions, now
from hiero_sandbox.ledger import keys
from marketplace.hedera import times, transactions
from marketplace.hedera.ids import NftId
from marketplace.ledger import Deadline
from marketplace.market import moderation, nfts
from marketplace.market.moderation import Ruling, Subject
from marketplace.market.offers.reconciler import reconcile_offers
from marketplace.market.reconciler import reconcile
from marketplace.market.requests import MarketRequest
from marketplace.sandbox import wallet
from marketplace.services import read
from marketplace.store import offers, rechecks
from marketplace.watcher.follow import backfill
from marketplace.watcher.sale_costs import store_sale_costs
from marketplace.watcher.sweep import sync
from tests.actions import shown
from tests.engines import both_engines
from tests.offering import (
    about,
    creation,
    find_created,
    list_open,
    move_clock,
    schedule,
    sign,
    state,
    submit,
    withdraw,
)
from tests.watcher.following import list_rechecks

pytestmark = both_engines

COLLECTOR, TIDES = "0.0.2001", "0.0.5001"
NFT, HBAR, SHOWN_SECONDS = (TOKEN, 7), 100_000_000, times.ALLOWED_LAG // times.SECOND + 1


@pytest.fixture
def offered(app, ledger, nft, watcher, new_events):
    """An open offer of Bob's for Alice's NFT: 300 HBAR."""
    new_events()
    schedule_id = schedule(app, ledger)
    watcher.follow()
    assert new_events() == [("OFFERED", ALICE, BOB, 300, None)]
    return schedule_id


def newest_event(app):
    with app.app_context():
        return read().execute("SELECT * FROM event ORDER BY id DESC LIMIT 1").fetchone()


def test_an_offer_opens_when_its_bidder_has_created_it(offered, app, watcher, new_events):
    assert (state(app, offered), list_open(app)) == ("open", [offered])
    event = newest_event(app)
    with app.app_context():
        offer = offers.get_offer(read(), offered)
    assert (event["offer_id"], event["consensus_at"]) == (offered, offer["created_at"])
    assert event["transaction_id"] == offer["transaction_id"]
    watcher.follow()
    assert new_events() == []


def test_an_offer_by_another_program_for_an_nft_that_is_not_stored(app, ledger, nft, watcher):
    ledger.mint((TOKEN, 8), ALICE, times.now())
    body = creation(ledger, serial_no=8)
    body.scheduleCreate.ClearField("adminKey")
    body.scheduleCreate.ClearField("expiration_time")
    submit(ledger, body, BOB)
    watcher.follow()
    [schedule_id] = list_open(app, (TOKEN, 8))
    assert state(app, schedule_id) == "open"


@pytest.mark.parametrize("part", [0, 3 * HBAR])
def test_an_accepted_one_is_sold_at_the_price_of_its_schedule(
    app, client, ledger, nft, watcher, new_events, part
):
    schedule_id = schedule(app, ledger, part_tinybars=part)
    watcher.follow()
    new_events()
    before = ledger.balance(MARKET)
    sign(ledger, schedule_id, ALICE)
    watcher.follow()
    assert new_events() == [("SOLD", ALICE, BOB, 300, None)]
    event = newest_event(app)
    assert event["offer_id"] == schedule_id
    assert shown(client)["owner"]["accountId"] == BOB
    assert state(app, schedule_id) == "executed"
    assert list_open(app) == []
    assert ledger.balance(MARKET) - before == part
    with app.app_context():
        store_sale_costs()
        [sale] = read().execute("SELECT * FROM sale").fetchall()
    assert (sale["way"], sale["part_tinybars"]) == ("offer", part)
    assert (sale["network_tinybars"], sale["association_tinybars"]) == (0, 0)


def test_a_listing_that_stands_beside_it_ends_with_the_sale(
    app, client, ledger, listed, watcher, new_events
):
    schedule_id = schedule(app, ledger)
    watcher.follow()
    new_events()
    sign(ledger, schedule_id, ALICE)
    watcher.follow()
    assert new_events() == [("SOLD", ALICE, BOB, 300, 250)]
    assert shown(client)["isForSale"] is False


def test_a_withdrawn_offer_ends(offered, app, ledger, watcher, new_events):
    withdrawn_by = withdraw(ledger, offered)
    watcher.follow()
    assert new_events() == [("OFFER_WITHDRAWN", ALICE, BOB, 300, None)]
    event = newest_event(app)
    assert event["transaction_id"] == withdrawn_by
    assert event["consensus_at"] is not None
    assert (state(app, offered), list_open(app)) == ("withdrawn", [])


def test_the_owner_declines_it(offered, app, ledger, watcher, new_events):
    withdraw(ledger, offered, ALICE)
    watcher.follow()
    assert state(app, offered) == "withdrawn"
    assert new_events() == [("OFFER_WITHDRAWN", ALICE, BOB, 300, None)]


def test_a_failed_acceptance_ends_it_and_sells_nothing(
    offered, app, client, ledger, watcher, new_events
):
    ledger.change_account(BOB, balance=200 * HBAR)
    sign(ledger, offered, ALICE)
    watcher.follow()
    assert new_events() == [("OFFER_FAILED", ALICE, BOB, 300, None)]
    assert (state(app, offered), list_open(app)) == ("failed", [])
    assert shown(client)["owner"]["accountId"] == ALICE


def test_an_nft_that_was_sold_between_ends_its_offers_and_a_return_opens_them(
    offered, app, ledger, watcher
):
    ledger.hand_over(NFT, CHARLIE)
    watcher.follow()
    assert (state(app, offered), list_open(app)) == ("open", [])
    ledger.hand_over(NFT, ALICE)
    watcher.follow()
    assert list_open(app) == [offered]


def test_of_two_that_are_accepted_at_once_one_sells_and_the_other_fails(
    offered, app, ledger, watcher, new_events
):
    other = schedule(app, ledger, bidder=CHARLIE, price=400)
    watcher.follow()
    assert list_open(app) == [other, offered]  # the highest first
    new_events()
    for schedule_id in (offered, other):
        sign(ledger, schedule_id, ALICE)
    watcher.follow()
    assert sorted(new_events()) == [
        ("OFFER_FAILED", ALICE, CHARLIE, 400, None),
        ("SOLD", ALICE, BOB, 300, None),
    ]
    assert (state(app, offered), state(app, other)) == ("executed", "failed")


@pytest.mark.parametrize("bidder", [BOB, COLLECTOR])
def test_royalties_change_neither_the_price_nor_what_it_cost(app, ledger, watcher, bidder):
    """Tides have a royalty of a twentieth. Its collector pays less in the end."""
    nft = TIDES, 1
    with app.app_context():
        nfts.add(MarketRequest(ALICE, [NftId(*nft)]))
    schedule_id = schedule(
        app, ledger, token=TIDES, serial_no=1, bidder=bidder, part_tinybars=3 * HBAR
    )
    watcher.follow()
    sign(ledger, schedule_id, ALICE)
    watcher.follow()
    event = newest_event(app)
    assert (event["kind"], event["to_account"], event["price"]) == ("SOLD", bidder, 300)
    with app.app_context():
        store_sale_costs()
        [sale] = read().execute("SELECT * FROM sale").fetchall()
    assert (sale["way"], sale["part_tinybars"]) == ("offer", 3 * HBAR)
    assert json.loads(sale["royalties"]) == [{"collector": COLLECTOR, "tinybars": 297 * HBAR // 20}]


def test_a_schedule_of_another_form_or_account_is_no_offer(app, ledger, nft, watcher):
    for fields in ({"memo": "hello"}, {"creator": CHARLIE}, {"creator": MARKET, "price": 301}):
        schedule_id = schedule(app, ledger, **fields)
        watcher.follow()
        assert state(app, schedule_id) is None
        with app.app_context():
            assert reconcile_offers([schedule_id], Deadline(5))[schedule_id].offer is None


# No free option for the bidder


def change_key(ledger, account, new, old=None):
    """Give an account another key. ``old``: its key, if it is not the demo wallet's."""
    body = wallets.new_body(account, "")
    body.cryptoUpdateAccount.accountIDToUpdate.CopyFrom(wallets.account(account))
    body.cryptoUpdateAccount.key.CopyFrom(keys.of_bytes(new.public_key().to_bytes_raw()))
    content = wallets.seal(body)
    content = signing.add_signature(old, content) if old else ledger.sign_bytes(content, account)
    receipt = ledger.submit(signing.add_signature(new, content))
    assert receipt.result == "SUCCESS"
    return receipt.transaction_id


def add_key(ledger, account, new):
    """Let another key of an account be enough, beside the demo wallet's."""
    body = wallets.new_body(account, "")
    body.cryptoUpdateAccount.accountIDToUpdate.CopyFrom(wallets.account(account))
    either = body.cryptoUpdateAccount.key.thresholdKey
    either.threshold = 1
    for key in (wallet.public_key(account), new.public_key().to_bytes_raw()):
        either.keys.keys.append(keys.of_bytes(key))
    submit(ledger, body, account)


def sign_for_bidder(ledger, schedule_id, key):
    """Sign an offer with a key of Bob's. Charlie pays for it."""
    content = wallets.seal(about(schedule_id, "scheduleSign", CHARLIE))
    content = signing.add_signature(key, ledger.sign_bytes(content, CHARLIE))
    assert ledger.submit(content).result == "SUCCESS"


def list_offer_events(app):
    with app.app_context():
        rows = read().execute("SELECT * FROM event WHERE kind LIKE 'OFFER%' ORDER BY id").fetchall()
    dates = [row["consensus_at"] or row["seen_at"] for row in rows]
    assert dates == sorted(dates)
    return [row["kind"] for row in rows]


def test_another_key_closes_an_offer_at_once(offered, app, ledger, watcher, new_events):
    changed_by = change_key(ledger, BOB, PrivateKey.generate_ecdsa())
    watcher.follow()
    assert new_events() == [("OFFER_WITHDRAWN", ALICE, BOB, 300, None)]
    assert newest_event(app)["transaction_id"] == changed_by
    assert (state(app, offered), list_open(app)) == ("closed", [])


def test_a_new_keys_signature_opens_nothing(offered, app, ledger, watcher, monkeypatch):
    new = PrivateKey.generate_ecdsa()
    change_key(ledger, BOB, new)
    content = signing.add_signature(new, wallets.seal(about(offered, "scheduleSign", BOB)))
    assert ledger.submit(content).result == "SUCCESS"
    move_clock(ledger, monkeypatch, SHOWN_SECONDS)
    watcher.follow()
    assert (state(app, offered), list_open(app)) == ("closed", [])


def test_the_first_key_again_opens_it_once_no_replica_may_show_a_newer_change(
    offered, app, ledger, watcher, monkeypatch
):
    new = PrivateKey.generate_ed25519()
    change_key(ledger, BOB, new)
    watcher.follow()
    assert state(app, offered) == "closed"
    body = wallets.new_body(BOB, "")
    body.cryptoUpdateAccount.accountIDToUpdate.CopyFrom(wallets.account(BOB))
    body.cryptoUpdateAccount.key.CopyFrom(keys.of_bytes(wallet.public_key(BOB)))
    content = signing.add_signature(new, ledger.sign_bytes(wallets.seal(body), BOB))
    assert ledger.submit(content).result == "SUCCESS"
    watcher.follow()
    assert state(app, offered) == "closed"
    move_clock(ledger, monkeypatch, SHOWN_SECONDS)
    watcher.recheck()
    assert (state(app, offered), list_open(app)) == ("open", [offered])
    assert list_offer_events(app) == ["OFFERED", "OFFER_WITHDRAWN", "OFFERED"]


def test_a_change_is_decided_within_90_seconds(offered, app, ledger, watcher, monkeypatch):
    """Growing pauses let it take up to 131 s."""
    new = PrivateKey.generate_ed25519()
    change_key(ledger, BOB, new)
    watcher.follow()
    with app.app_context():
        for _ in range(9):
            row = rechecks.get_recheck(read(), "offer", offered, 0)
            if row is None:
                break
            moment = times.to_nanoseconds(row["due_at"])
            assert (
                moment
                <= times.to_nanoseconds(row["changed_at"]) + times.ALLOWED_LAG + 2 * times.SECOND
            )
            move_clock(ledger, monkeypatch, max(1, (moment - times.now()) // times.SECOND + 1))
            watcher.recheck()
    assert row is None


def test_a_key_that_changes_every_80_seconds_keeps_nothing_open(
    offered, app, ledger, watcher, monkeypatch
):
    old = None
    for _ in range(3):
        new = PrivateKey.generate_ed25519()
        change_key(ledger, BOB, new, old)
        watcher.follow()
        assert list_open(app) == []
        move_clock(ledger, monkeypatch, 80)
        watcher.recheck()
        old = new
    assert state(app, offered) == "closed"


def test_a_false_signature_of_a_later_key_opens_nothing(app, ledger, nft, watcher, new_events):
    """Anybody may put one beside the signatures that the network verifies; the mirror node shows it."""
    new = PrivateKey.generate_ed25519()
    content = ledger.sign_bytes(wallets.seal(creation(ledger)), BOB)
    transactions = TransactionList.FromString(content)
    [transaction] = transactions.transaction_list
    signed = SignedTransaction.FromString(transaction.signedTransactionBytes)
    signed.sigMap.sigPair.add(pubKeyPrefix=new.public_key().to_bytes_raw(), ed25519=bytes(64))
    transaction.signedTransactionBytes = signed.SerializeToString()
    receipt = ledger.submit(transactions.SerializeToString())
    assert receipt.result == "SUCCESS"
    schedule_id = find_created(app, receipt.transaction_id)
    watcher.follow()
    assert state(app, schedule_id) == "open"
    change_key(ledger, BOB, new)
    watcher.follow()
    assert (state(app, schedule_id), list_open(app)) == ("closed", [])


def test_a_short_key_prefix_hinders_nothing(app, ledger, nft, watcher):
    first = schedule(app, ledger, price=400)  # now the ledger knows the key
    content = ledger.sign_bytes(wallets.seal(creation(ledger)), BOB)
    transactions = TransactionList.FromString(content)
    [transaction] = transactions.transaction_list
    signed = SignedTransaction.FromString(transaction.signedTransactionBytes)
    [pair] = signed.sigMap.sigPair
    pair.pubKeyPrefix = pair.pubKeyPrefix[:6]
    transaction.signedTransactionBytes = signed.SerializeToString()
    receipt = ledger.submit(transactions.SerializeToString())
    assert receipt.result == "SUCCESS"
    watcher.follow()
    assert list_open(app) == [first, find_created(app, receipt.transaction_id)]


def test_a_key_that_was_changed_unseen_is_seen_when_somebody_asks(
    offered, app, ledger, monkeypatch
):
    """As after a watcher that was stopped for days: before an acceptance, for one."""
    change_key(ledger, BOB, PrivateKey.generate_ecdsa())
    move_clock(ledger, monkeypatch, 2 * SHOWN_SECONDS)
    with app.app_context():
        [made] = reconcile_offers([offered], Deadline(5)).values()
    assert made.offer["state"] == "closed"


def test_an_acceptance_that_executes_nothing_is_reported_until_it_ends(
    offered, app, client, ledger, watcher, new_events, monkeypatch
):
    new = PrivateKey.generate_ecdsa()
    change_key(ledger, BOB, new)
    accepted_by = sign(ledger, offered, ALICE)
    watcher.follow()
    assert [event[0] for event in new_events()] == ["OFFER_WITHDRAWN", "OFFER_NOT_EXECUTED"]
    assert newest_event(app)["transaction_id"] == accepted_by
    offer = client.get(f"/v1/offers/{offered}").json
    assert (offer["state"], bool(offer["acceptedAt"])) == ("CLOSED", True)
    report = {"accountId": ALICE, "offerId": offered}
    assert client.post("/v1/comingsoon", json=report).status_code == 202
    move_clock(ledger, monkeypatch, 61)
    r = client.post("/v1/comingsoon", json=report)
    assert (r.status_code, r.json["reason"]) == (409, "OFFER_NOT_EXECUTED")
    assert offer["expiresAt"][:19] in r.json["message"]
    withdrawal = r.json["errors"]["withdrawal"]
    assert withdrawal["metadata"]["accountToSign"] == ALICE
    body = wallets.body_of(base64.b64decode(withdrawal["byteArray"]))
    assert body.scheduleDelete.scheduleID == transactions.make_schedule_id(offered)
    withdraw(ledger, offered, ALICE)
    watcher.follow()
    assert state(app, offered) == "withdrawn"
    assert client.post("/v1/comingsoon", json=report).json == {"result": "OK"}
    content = signing.add_signature(new, wallets.seal(about(offered, "scheduleSign", BOB)))
    assert ledger.submit(content).result != "SUCCESS"
    assert shown(client)["owner"]["accountId"] == ALICE


def test_others_signatures_hide_no_acceptance_that_executes_nothing(offered, app, ledger, watcher):
    """Five of new keys of the bidder did, and the owner did not get to know of it."""
    old = None
    for _ in range(6):
        new = PrivateKey.generate_ed25519()
        change_key(ledger, BOB, new, old)
        sign_for_bidder(ledger, offered, new)
        old = new
    change_key(ledger, BOB, PrivateKey.generate_ecdsa(), old)
    watcher.follow()
    sign(ledger, offered, ALICE)
    watcher.follow()
    assert list_offer_events(app) == ["OFFERED", "OFFER_WITHDRAWN", "OFFER_NOT_EXECUTED"]
    with app.app_context():
        reconcile_offers([offered], Deadline(5))
        assert offers.get_offer(read(), offered)["accepted_at"]


def test_others_signatures_queue_nothing(app, client, ledger, nft, watcher, mirror):
    """On a replica that did not show one yet, it kept an owner from accepting."""
    new = PrivateKey.generate_ed25519()
    add_key(ledger, BOB, new)
    schedule_id = schedule(app, ledger)
    watcher.follow()
    watcher.recheck(seconds=SHOWN_SECONDS)
    replica = mirror.replica()
    sign_for_bidder(ledger, schedule_id, new)
    watcher.read()
    assert list_rechecks(app) == []
    mirror.answer("/schedules/", replica)
    accepting = {"accountId": ALICE, "offerId": schedule_id}
    assert client.post("/v1/acceptoffer/extwallet", json=accepting).status_code == 200


def test_another_signature_hides_no_change_of_the_key(
    offered, app, client, ledger, watcher, mirror
):
    """The account's answer is of a replica that has not seen the change."""
    mirror.answer(f"/accounts/{BOB}", mirror.replica())
    new = PrivateKey.generate_ecdsa()
    change_key(ledger, BOB, new)
    sign_for_bidder(ledger, offered, new)
    change_key(ledger, BOB, PrivateKey.generate_ecdsa(), new)
    watcher.follow()
    accepting = {"accountId": ALICE, "offerId": offered}
    assert client.post("/v1/acceptoffer/extwallet", json=accepting).status_code == 503
    mirror.heal()
    watcher.recheck(seconds=SHOWN_SECONDS)
    assert state(app, offered) == "closed"


def test_an_offer_whose_sale_is_stored_already_does_not_open(
    app, ledger, nft, watcher, mirror, new_events
):
    """A replica that lags shows the schedule as it was before."""
    schedule_id = schedule(app, ledger)
    replica = mirror.replica()
    sign(ledger, schedule_id, ALICE)
    with app.app_context():
        reconcile([NftId(*NFT)], Deadline(5))
    mirror.answer("/schedules/", replica)
    watcher.follow()
    assert state(app, schedule_id) is None
    mirror.heal()
    watcher.recheck(seconds=SHOWN_SECONDS)
    assert state(app, schedule_id) == "executed"
    assert "OFFERED" not in [event[0] for event in new_events()]


def test_a_sale_that_fails_ends_its_offer_whoever_signed_last(
    offered, app, ledger, watcher, new_events
):
    ledger.change_account(BOB, balance=200 * HBAR)
    body = about(offered, "scheduleSign", CHARLIE)
    submit(ledger, body, CHARLIE, ALICE)
    watcher.follow()
    assert new_events() == [("OFFER_FAILED", ALICE, BOB, 300, None)]
    assert state(app, offered) == "failed"


def test_an_offer_that_two_processes_write_is_read_again(app, ledger, nft, mirror):
    """One of them read a replica that lags, and was the first to write."""
    schedule_id, replica = schedule(app, ledger), mirror.replica()
    ledger.change_account(BOB, balance=200 * HBAR)
    sign(ledger, schedule_id, ALICE)

    def look():
        with app.app_context():
            return reconcile_offers([schedule_id], Deadline(5))[schedule_id]

    def look_as_another(environ):
        mirror.heal()
        mirror.answer("/", replica)
        look()
        mirror.heal()

    mirror.before("/schedules/", look_as_another)
    seen = look()
    assert seen.offer["state"] == "open" and seen.undecided
    assert look().offer["state"] == "failed"


def test_a_sale_that_fails_before_its_offer_is_stored_ends_it(app, ledger, nft, watcher, mirror):
    """The offer is stored as a replica that lags shows it."""
    schedule_id, replica = schedule(app, ledger), mirror.replica()
    ledger.change_account(BOB, balance=200 * HBAR)
    sign(ledger, schedule_id, ALICE)
    mirror.answer("/schedules/", replica)
    watcher.follow()
    mirror.heal()
    watcher.recheck(seconds=SHOWN_SECONDS)
    assert state(app, schedule_id) == "failed"


def test_an_acceptance_that_the_bidder_completes_later_is_a_sale(
    offered, app, client, ledger, watcher, new_events
):
    new = PrivateKey.generate_ecdsa()
    change_key(ledger, BOB, new)
    sign(ledger, offered, ALICE)
    watcher.follow()
    new_events()
    content = signing.add_signature(new, wallets.seal(about(offered, "scheduleSign", BOB)))
    assert ledger.submit(content).result == "SUCCESS"
    watcher.follow()
    assert new_events() == [("SOLD", ALICE, BOB, 300, None)]
    assert state(app, offered) == "executed"


def test_a_larger_part_for_the_marketplace_closes_it(offered, app):
    app.config["SALE_FEE_BASIS_POINTS"] = 100
    with app.app_context():
        assert reconcile_offers([offered], Deadline(5))[offered].offer["state"] == "closed"
    app.config["SALE_FEE_BASIS_POINTS"] = 0
    with app.app_context():
        assert reconcile_offers([offered], Deadline(5))[offered].offer["state"] == "open"


def test_an_uncovered_one_opens_as_uncovered(app, ledger, nft, watcher):
    ledger.change_account(BOB, balance=100 * HBAR)
    schedule_id = schedule(app, ledger)
    watcher.follow()
    with app.app_context():
        assert offers.get_offer(read(), schedule_id)["is_covered"] == 0


def test_a_sweep_finds_what_following_missed(app, ledger, nft, new_events):
    """As in a database that was restored from before the offers: the NFT of one is not even stored."""
    other = TOKEN, 8
    ledger.mint(other, ALICE, times.now())
    opened, withdrawn, accepted = (schedule(app, ledger, price=price) for price in (300, 310, 320))
    stranger = schedule(app, ledger, serial_no=8)
    withdraw(ledger, withdrawn)
    with app.app_context():
        sync()
    assert list_open(app) == [accepted, opened]
    assert list_open(app, other) == [stranger]
    assert state(app, withdrawn) == "withdrawn"
    sign(ledger, accepted, ALICE)
    with app.app_context():
        sync()
    assert [event[0] for event in new_events()][-1] == "SOLD"
    assert state(app, accepted) == "executed"
    with app.app_context():
        sync()
    assert new_events() == []


def test_a_sale_whose_offer_is_not_stored_has_its_price(offered, app, ledger, watcher, new_events):
    """The database was restored from before the offer, and the NFT is looked at first."""
    sign(ledger, offered, ALICE)
    write_sql(app, "DELETE FROM offer")
    watcher.follow()
    assert new_events() == [("SOLD", ALICE, BOB, 300, None)]
    assert newest_event(app)["offer_id"] == offered


def test_a_hidden_nft_and_a_blocked_party_have_no_open_offers(
    offered, app, ledger, watcher, client
):
    def events():
        return [
            (event["kind"], event["offerId"]) for event in client.get("/v1/events?order=desc").json
        ]

    assert events()[0] == ("OFFERED", offered)
    with app.app_context():
        for account in (ALICE, BOB):
            moderation.block(account, Ruling("no"))
            assert list_open(app) == []
            moderation.unblock(account)
            assert list_open(app) == [offered]
        moderation.hide(Subject(*NFT), Ruling("no"))
        assert list_open(app) == []
        moderation.unhide(Subject(*NFT))
        assert list_open(app) == [offered]
        moderation.block(BOB, Ruling("no"))
    other = schedule(app, ledger, price=400)
    watcher.follow()
    assert ("OFFERED", other) not in events()


def test_an_older_replica_changes_nothing(offered, app, ledger, watcher, mirror, new_events):
    """The first answers are of a replica that has not seen the withdrawal."""
    mirror.answer("/schedules/", mirror.replica())
    withdraw(ledger, offered)
    watcher.follow()
    assert (state(app, offered), new_events()) == ("open", [])
    mirror.heal()
    watcher.recheck(seconds=SHOWN_SECONDS)
    assert new_events() == [("OFFER_WITHDRAWN", ALICE, BOB, 300, None)]


def test_a_mirror_node_that_lags_shows_it_all_a_little_later(
    app, ledger, nft, watcher, new_events, monkeypatch
):
    schedule_id = schedule(app, ledger)
    watcher.follow()
    new_events()
    with ledger.sandbox.app_context():
        conditions().set_lag(60 * times.SECOND, now())
    sign(ledger, schedule_id, ALICE)
    watcher.follow()
    assert (state(app, schedule_id), new_events()) == ("open", [])
    move_clock(ledger, monkeypatch, 61)
    watcher.follow()
    assert new_events() == [("SOLD", ALICE, BOB, 300, None)]
    assert state(app, schedule_id) == "executed"


def test_of_two_processes_that_see_it_open_one_says_so(
    app, ledger, nft, watcher, mirror, new_events
):
    """The second one reads and writes it while the first one reads the schedule."""
    schedule_id = schedule(app, ledger)
    new_events()
    others = [1]

    def look_too(environ):
        if others:
            others.pop()
            with app.app_context():
                reconcile_offers([schedule_id], Deadline(5))

    mirror.before(f"/accounts/{BOB}$", look_too)
    with app.app_context():
        row = reconcile_offers([schedule_id], Deadline(5))[schedule_id].offer
    assert (row["state"], others) == ("open", [])
    assert new_events() == [("OFFERED", ALICE, BOB, 300, None)]


def test_a_database_that_was_lost_finds_offers_of_62_days(
    app, ledger, offered, watcher, monkeypatch
):
    """A first start of a watcher reads past creations."""
    move_clock(ledger, monkeypatch, 2 * SHOWN_SECONDS)
    write_sql(app, "DELETE FROM offer")
    write_sql(app, "DELETE FROM follow")
    watcher.follow()
    assert list_open(app) == []
    with app.app_context():
        backfill(Event())
    watcher.recheck()
    assert list_open(app) == [offered]


def test_a_schedule_that_pays_the_marketplace_too_little_is_a_transfer(
    app, ledger, nft, watcher, new_events
):
    app.config["SALE_FEE_BASIS_POINTS"] = 100
    schedule_id = schedule(app, ledger)
    watcher.follow()
    new_events()
    sign(ledger, schedule_id, ALICE)
    watcher.follow()
    assert state(app, schedule_id) is None
    assert new_events() == [("TRANSFERRED", ALICE, BOB, None, None)]


def test_others_schedules_are_not_asked_for(app, ledger, nft, watcher, mirror):
    schedule(app, ledger, memo="hello")
    before = mirror.count("/schedules/")
    watcher.follow()
    assert mirror.count("/schedules/") == before
