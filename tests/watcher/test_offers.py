"""Offers on the ledger are found without a report, and end as the ledger ends them."""

import json
import re

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
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.ledger import ALLOWED_LAG, Deadline
from marketplace.market import add_nft, moderation, purchase_fees
from marketplace.market.moderation import Ruling, Subject
from marketplace.market.offers.reconciler import reconcile_offers, reconcile_schedules
from marketplace.sandbox import wallet
from marketplace.services import services
from marketplace.store import offers
from marketplace.store.database import read
from marketplace.watcher import chores
from marketplace.watcher.sale_costs import store_sale_costs
from marketplace.watcher.sweep import sync
from tests.actions import shown
from tests.engines import both_engines
from tests.offering import about, list_open, move_clock, schedule, sign, state, withdraw

pytestmark = both_engines

COLLECTOR, TIDES = "0.0.2001", "0.0.5001"
NFT, HBAR, SHOWN_SECONDS = (TOKEN, 7), 100_000_000, ALLOWED_LAG // times.SECOND + 1


@pytest.fixture
def offered(app, ledger, nft, watcher, new_events):
    """An open offer of Bob's for Alice's NFT: 300 HBAR."""
    new_events()
    schedule_id = schedule(app, ledger)
    sign(ledger, schedule_id)
    watcher.follow()
    assert new_events() == [("OFFERED", ALICE, BOB, 300, None)]
    return schedule_id


def newest_event(app):
    with app.app_context():
        return read().execute("SELECT * FROM event ORDER BY id DESC LIMIT 1").fetchone()


def test_an_offer_opens_when_its_bidder_has_signed(app, ledger, nft, watcher, new_events):
    new_events()
    schedule_id = schedule(app, ledger)
    watcher.follow()
    assert state(app, schedule_id) == "unsigned"
    assert list_open(app) == []
    assert new_events() == []
    signed_by = sign(ledger, schedule_id)
    watcher.follow()
    assert list_open(app) == [schedule_id]
    assert new_events() == [("OFFERED", ALICE, BOB, 300, None)]
    event = newest_event(app)
    assert (event["offer_id"], event["transaction_id"]) == (schedule_id, signed_by)
    watcher.follow()
    assert new_events() == []


def test_an_offer_that_was_created_and_signed_before_one_look_opens(offered, app):
    assert list_open(app) == [offered]


@pytest.mark.parametrize("part", [0, 3 * HBAR])
def test_an_accepted_one_is_sold_at_the_price_of_its_schedule(
    app, client, ledger, nft, watcher, new_events, part
):
    before = ledger.balance(MARKET)
    schedule_id = schedule(app, ledger, part_tinybars=part)
    created = before - ledger.balance(MARKET)
    sign(ledger, schedule_id)
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
    assert (sale["network_tinybars"], sale["association_tinybars"]) == (created, 0)


def test_a_listing_that_stands_beside_it_ends_with_the_sale(
    app, client, ledger, listed, watcher, new_events
):
    schedule_id = schedule(app, ledger)
    sign(ledger, schedule_id)
    watcher.follow()
    new_events()
    sign(ledger, schedule_id, ALICE)
    watcher.follow()
    assert new_events() == [("SOLD", ALICE, BOB, 300, 250)]
    assert shown(client)["isForSale"] is False


def test_a_withdrawn_one_ends(offered, app, ledger, watcher, new_events):
    withdrawn_by = withdraw(ledger, offered)
    watcher.follow()
    assert new_events() == [("OFFER_WITHDRAWN", ALICE, BOB, 300, None)]
    event = newest_event(app)
    assert event["transaction_id"] == withdrawn_by
    assert event["consensus_at"] is not None
    assert (state(app, offered), list_open(app)) == ("withdrawn", [])


def test_the_marketplace_may_delete_it_too(offered, app, ledger, watcher):
    withdraw(ledger, offered, MARKET)
    watcher.follow()
    assert state(app, offered) == "withdrawn"


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
    assert (state(app, offered), list_open(app)) == ("signed", [])
    ledger.hand_over(NFT, ALICE)
    watcher.follow()
    assert list_open(app) == [offered]


def test_of_two_that_are_accepted_at_once_one_sells_and_the_other_fails(
    offered, app, ledger, watcher, new_events
):
    other = schedule(app, ledger, bidder=CHARLIE, price=400)
    sign(ledger, other, CHARLIE)
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
        add_nft.add(ALICE, [NftId(*nft)])
    schedule_id = schedule(
        app, ledger, token=TIDES, serial_no=1, bidder=bidder, part_tinybars=3 * HBAR
    )
    sign(ledger, schedule_id, bidder)
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


def test_a_stranger_who_reads_it_can_sign_nothing_for_the_bidder(
    app, ledger, nft, watcher, new_events
):
    """The owner signs, with a false signature under the bidder's key beside the own one."""
    schedule_id = schedule(app, ledger)
    watcher.follow()
    body = about(schedule_id, "scheduleSign", ALICE)
    content = ledger.sign_bytes(wallets.seal(body), ALICE)
    transactions = TransactionList.FromString(content)
    [transaction] = transactions.transaction_list
    signed = SignedTransaction.FromString(transaction.signedTransactionBytes)
    signed.sigMap.sigPair.add(pubKeyPrefix=wallet.public_key(BOB), ed25519=bytes(64))
    transaction.signedTransactionBytes = signed.SerializeToString()
    assert ledger.submit(transactions.SerializeToString()).result == "SUCCESS"
    watcher.follow()
    assert state(app, schedule_id) == "unsigned"
    assert list_open(app) == []
    sign(ledger, schedule_id, BOB)  # now both have
    watcher.follow()
    assert state(app, schedule_id) == "executed"


def test_a_schedule_of_another_form_or_account_is_no_offer(app, ledger, nft, watcher):
    for fields in ({"memo": "hello"}, {"creator": CHARLIE}):
        schedule_id = schedule(app, ledger, **fields)
        sign(ledger, schedule_id)
        watcher.follow()
        assert state(app, schedule_id) is None
        with app.app_context():
            assert reconcile_offers([schedule_id], Deadline(5)) == {schedule_id: None}


def change_key(ledger, account, key):
    body = wallets.new_body(account, "")
    body.cryptoUpdateAccount.accountIDToUpdate.CopyFrom(wallets.account(account))
    body.cryptoUpdateAccount.key.CopyFrom(keys.of_bytes(key.public_key().to_bytes_raw()))
    content = signing.add_signature(key, ledger.sign_bytes(wallets.seal(body), account))
    assert ledger.submit(content).result == "SUCCESS"


def test_a_key_that_was_changed_ends_it_until_the_new_one_has_signed(
    offered, app, ledger, watcher, new_events, monkeypatch
):
    new = PrivateKey.generate_ecdsa()
    change_key(ledger, BOB, new)
    watcher.follow()
    assert (state(app, offered), new_events()) == (
        "signed",
        [],
    )  # a replica might show an older key
    move_clock(ledger, monkeypatch, 2 * SHOWN_SECONDS)
    watcher.recheck()
    assert new_events() == [("OFFER_WITHDRAWN", ALICE, BOB, 300, None)]
    assert (state(app, offered), list_open(app)) == ("unsigned", [])
    content = signing.add_signature(new, wallets.seal(about(offered, "scheduleSign", BOB)))
    assert ledger.submit(content).result == "SUCCESS"
    watcher.follow()
    assert new_events() == [("OFFERED", ALICE, BOB, 300, None)]
    assert list_open(app) == [offered]


def test_a_key_that_was_changed_unseen_is_seen_when_somebody_asks(
    offered, app, ledger, monkeypatch
):
    """As after a watcher that was stopped for days: before an acceptance, for one."""
    change_key(ledger, BOB, PrivateKey.generate_ecdsa())
    move_clock(ledger, monkeypatch, 2 * SHOWN_SECONDS)
    with app.app_context():
        [row] = reconcile_offers([offered], Deadline(5)).values()
    assert row["state"] == "unsigned"


def test_an_uncovered_one_opens_as_uncovered(app, ledger, nft, watcher):
    ledger.change_account(BOB, balance=100 * HBAR)
    schedule_id = schedule(app, ledger)
    sign(ledger, schedule_id)
    watcher.follow()
    with app.app_context():
        assert offers.get_offer(read(), schedule_id)["is_covered"] == 0


def test_a_sweep_finds_what_following_missed(app, ledger, nft, new_events):
    """As in a database that was restored from before the offers: the NFT of one is not even stored."""
    other = TOKEN, 8
    ledger.mint(other, ALICE, times.now())
    opened, withdrawn, accepted = (schedule(app, ledger, price=price) for price in (300, 310, 320))
    stranger = schedule(app, ledger, serial_no=8)
    for schedule_id in (opened, withdrawn, accepted, stranger):
        sign(ledger, schedule_id)
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
    sign(ledger, other)
    watcher.follow()
    assert ("OFFERED", other) not in events()


def test_an_older_replica_changes_nothing(offered, app, ledger, watcher, mirror, new_events):
    """The first answers are of a replica that has not seen the withdrawal."""
    mirror.answer("/schedules/", mirror.replica())
    withdraw(ledger, offered)
    watcher.follow()
    assert (state(app, offered), new_events()) == ("signed", [])
    mirror.heal()
    watcher.recheck(seconds=SHOWN_SECONDS)
    assert new_events() == [("OFFER_WITHDRAWN", ALICE, BOB, 300, None)]


def test_a_replica_before_the_signature_takes_nothing_back(
    app, ledger, nft, watcher, mirror, new_events
):
    schedule_id = schedule(app, ledger)
    watcher.follow()
    before = mirror.replica()
    sign(ledger, schedule_id)
    watcher.follow()
    new_events()
    mirror.answer("/schedules/", before)
    with app.app_context():
        made = reconcile_schedules([schedule_id], Deadline(5))[schedule_id]
    assert "older" in made.undecided
    assert (state(app, schedule_id), new_events()) == ("signed", [])


def test_a_mirror_node_that_lags_shows_it_all_a_little_later(
    app, ledger, nft, watcher, new_events, monkeypatch
):
    new_events()
    schedule_id = schedule(app, ledger)
    watcher.follow()
    with ledger.sandbox.app_context():
        conditions().set_lag(60 * times.SECOND, now())
    sign(ledger, schedule_id)
    sign(ledger, schedule_id, ALICE)
    watcher.follow()
    assert (state(app, schedule_id), new_events()) == ("unsigned", [])
    move_clock(ledger, monkeypatch, 61)
    watcher.follow()
    assert new_events() == [("SOLD", ALICE, BOB, 300, None)]
    assert state(app, schedule_id) == "executed"


def test_the_marketplace_is_charged_for_the_creation_and_not_for_the_sale(
    app, ledger, nft, watcher
):
    """The row of the sale has the same transaction id, and the fee that its bidder paid."""
    before = ledger.balance(MARKET)
    schedule_id = schedule(app, ledger)
    created = before - ledger.balance(MARKET)
    with app.app_context():
        transaction_id = str(
            services()
            .mirror_node.find_transaction(
                services().mirror_node.find_schedule(schedule_id, Deadline(5)).created_at,
                Deadline(5),
            )
            .transaction_id
        )
    columns = {
        "transaction_id": transaction_id, "account_id": BOB, "memo": "", "wallet": "x", "caller": "x",
        "prepared_at": times.to_iso(0), "expires_at": times.to_iso(times.now()), "end_user": "x",
        "kind": "offer", "fee_tinybars": 5 * HBAR, "is_settled": 0,
    }  # fmt: skip
    names = ", ".join(columns)
    places = ", ".join(f":{name}" for name in columns)
    write_sql(app, f"INSERT INTO prepared_transaction ({names}) VALUES ({places})", **columns)
    sign(ledger, schedule_id)
    sign(ledger, schedule_id, ALICE)
    watcher.follow()

    def charged():
        with app.app_context():
            [row] = read().execute("SELECT * FROM prepared_transaction").fetchall()
        return row["fee_tinybars"], row["is_settled"]

    assert charged() == (created, 1)
    write_sql(
        app, "UPDATE prepared_transaction SET is_settled = 0, fee_tinybars = 5, charged_to = NULL"
    )
    with app.app_context():
        purchase_fees.look_up_unsettled()
    assert charged() == (created, 1)


def test_an_operator_sees_it(offered, app):
    result = app.test_cli_runner().invoke(args=["explain", f"{TOKEN}:7"])
    assert re.search(rf"Offer {offered} +300 HBAR by {BOB}, covered, until 20", result.output)
    assert re.search(r"Open offers +1\n", result.output)


def test_of_two_processes_that_see_it_open_one_says_so(
    app, ledger, nft, watcher, mirror, new_events
):
    """The second one reads and writes it while the first one reads the schedule."""
    schedule_id = schedule(app, ledger)
    watcher.follow()
    sign(ledger, schedule_id)
    new_events()
    others = [1]

    def look_too(environ):
        if others:
            others.pop()
            with app.app_context():
                reconcile_schedules([schedule_id], Deadline(5))

    mirror.before(f"/accounts/{BOB}$", look_too)
    with app.app_context():
        row = reconcile_offers([schedule_id], Deadline(5))[schedule_id]
    assert (row["state"], others) == ("signed", [])
    assert new_events() == [("OFFERED", ALICE, BOB, 300, None)]


def test_nothing_is_asked_for_while_offers_are_off(app, ledger, nft, watcher, mirror):
    app.config["OFFERS"] = False
    schedule_id = schedule(app, ledger)
    sign(ledger, schedule_id)
    asked = []
    mirror.before("/", lambda environ: asked.append(environ["PATH_INFO"] + environ["QUERY_STRING"]))
    watcher.follow()
    with app.app_context():
        chores.cover_offers()
        sync()
    assert state(app, schedule_id) is None
    assert len(asked) > 1
    assert [url for url in asked if "SCHEDULECREATE" in url or "/schedules" in url] == []
