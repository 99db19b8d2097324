"""What happens to an NFT is recorded once, in order, in the transaction that changes it."""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import wallets
from harness.cast import ALICE, BOB, CHARLIE, KEYS
from harness.engines import connect
from harness.postgresql import until
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.ledger import Deadline
from marketplace.market import reconciler
from marketplace.services import services, write
from tests.actions import SALE, buy_unseen, insert_sales, shown
from tests.engines import both_engines
from tests.watcher.conftest import list_after, newest


def withdraw(client, ledger, account_id=ALICE):
    asked = client.post("/v1/delist/extwallet", json=KEYS | {"accountId": account_id})
    transaction_id = ledger.sign_and_submit(asked.json["byteArray"], account_id)
    report = KEYS | {"accountId": account_id, "transactionId": transaction_id}
    assert client.post("/v1/comingsoon", json=report).json["result"] == "OK"
    return transaction_id


def test_each_kind_of_event_is_recorded(
    app, client, nft, ledger, lister, buy, watcher, new_events, complete
):
    assert new_events() == [("ADDED", None, ALICE, None, None), ("METADATA_CHANGED", *[None] * 4)]
    listed_by = lister(nft, 250, add=False)
    assert new_events() == [("LISTED", ALICE, None, 250, None)]
    assert newest(app)["transaction_id"] == listed_by
    lister(nft, 300, add=False)
    assert new_events() == [("PRICE_CHANGED", ALICE, None, 300, 250)]
    lister(nft, 300, add=False)
    assert new_events() == [("LISTED", ALICE, None, 300, 300)]
    withdrawn_by = withdraw(client, ledger)
    assert new_events() == [("WITHDRAWN", ALICE, None, None, 300)]
    assert newest(app)["transaction_id"] == withdrawn_by
    lister(nft, 400, add=False)
    sold_by = buy_unseen(client, buy())
    watcher.follow()
    assert new_events() == [("LISTED", ALICE, None, 400, None), ("SOLD", ALICE, BOB, 400, 400)]
    assert newest(app)["transaction_id"] == sold_by
    ledger.hand_over(nft, CHARLIE)
    watcher.follow()
    assert new_events() == [("TRANSFERRED", BOB, CHARLIE, None, None)]
    deleted_by = ledger.delete_token().transaction_id
    watcher.follow()
    assert new_events() == [("BURNED", CHARLIE, None, None, None)]
    assert newest(app)["transaction_id"] == deleted_by
    watcher.recheck(3600)
    complete()
    assert new_events() == []


@pytest.fixture
def listed(nft, lister, new_events):
    """The NFT, listed for 250 HBAR; its events so far are read."""
    lister(nft, 250, add=False)
    new_events()
    return nft


def test_a_gift_ends_a_listing(listed, ledger, watcher, new_events):
    ledger.hand_over(listed, BOB)
    watcher.follow()
    assert new_events() == [("TRANSFERRED", ALICE, BOB, None, 250)]


def test_all_that_happened_between_two_looks_is_recorded(
    client, listed, ledger, buy, watcher, new_events
):
    buy_unseen(client, buy())
    ledger.hand_over(listed, CHARLIE)
    ledger.hand_over(listed, ALICE)
    watcher.follow()
    assert new_events() == [
        ("SOLD", ALICE, BOB, 250, 250),
        ("TRANSFERRED", BOB, CHARLIE, None, None),
        ("TRANSFERRED", CHARLIE, ALICE, None, None),
    ]


def test_a_sale_that_is_half_shown_is_not_called_a_gift(
    client, listed, buy, watcher, mirror, new_events
):
    buy_unseen(client, buy())
    mirror.alter("/nfts/7/transactions", lambda document: document["transactions"].pop(0))
    watcher.follow()
    assert new_events() == []
    assert client.get("/v1/orderbook").json != []
    mirror.heal()
    watcher.recheck(60)
    assert new_events() == [("SOLD", ALICE, BOB, 250, 250)]
    assert client.get("/v1/orderbook").json == []


@both_engines
def test_a_history_that_is_newer_than_the_row_tells_nothing_twice(
    client, listed, ledger, buy, watcher, mirror, new_events
):
    buy_unseen(client, buy())
    lagging = mirror.replica()
    ledger.hand_over(listed, CHARLIE)
    mirror.answer("/nfts/7$", lagging)
    watcher.follow()
    assert new_events() == [("SOLD", ALICE, BOB, 250, 250)]
    assert shown(client)["owner"] == {"accountId": BOB}
    mirror.heal()
    watcher.recheck(60)
    assert new_events() == [("TRANSFERRED", BOB, CHARLIE, None, None)]


def test_a_sale_before_a_burn_is_recorded(client, listed, ledger, buy, watcher, new_events):
    buy_unseen(client, buy())
    with ledger.sandbox.app_context():
        assert wallets.wipe_nft(listed, BOB, times.now()).result == "SUCCESS"
    watcher.follow()
    assert new_events() == [("SOLD", ALICE, BOB, 250, 250), ("BURNED", BOB, None, None, None)]
    assert shown(client)["owner"] == {"accountId": BOB}


def test_the_last_owner_is_recorded_though_the_history_lacks_the_last_move(
    client, listed, ledger, buy, watcher, mirror, new_events, monkeypatch
):
    buy_unseen(client, buy())
    ledger.hand_over(listed, CHARLIE)
    mirror.alter("/nfts/7/transactions", lambda document: document["transactions"].pop(0))
    monkeypatch.setattr(times, "ALLOWED_LAG", -times.MINUTE)  # it was long ago
    watcher.follow()
    assert new_events() == [
        ("SOLD", ALICE, BOB, 250, 250),
        ("TRANSFERRED", BOB, CHARLIE, None, None),
    ]


def test_a_move_without_an_entry_is_recorded_with_the_date_of_the_row(
    app, listed, ledger, watcher, mirror, new_events, monkeypatch
):
    ledger.hand_over(listed, BOB)
    mirror.alter("/nfts/7/transactions", lambda document: document["transactions"].pop(0))
    monkeypatch.setattr(times, "ALLOWED_LAG", -times.MINUTE)  # it was long ago
    watcher.follow()
    assert new_events() == [("TRANSFERRED", ALICE, BOB, None, 250)]
    assert newest(app)["transaction_id"] is None
    assert newest(app)["consensus_at"] is not None


@both_engines
def test_many_who_see_the_same_change_tell_of_it_once(app, client, nft, ledger, new_events):
    prepared = client.post("/v1/list/extwallet", json=KEYS | {"listingPrice": 250})
    ledger.sign_and_submit(prepared.json["byteArray"])
    new_events()

    def refresh(_):
        with app.app_context():
            assert reconciler.reconcile([NftId(*nft)], Deadline(60))[nft].is_decided
            services(app).database.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(refresh, range(16)))
    assert new_events() == [("LISTED", ALICE, None, 250, None)]


class Interrupted(Exception):
    """A writer ends before its commit."""


# PostgreSQL is sent both in one message.
PAUSE_BEFORE_COMMIT = """
    CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN PERFORM pg_sleep(random() / 200); RETURN NULL; END';
    CREATE CONSTRAINT TRIGGER pause AFTER INSERT ON event DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION pause();
"""


@both_engines
def test_a_reader_misses_nothing_that_writers_commit(app):
    """Writers pause between the insert and the commit, and some never commit."""
    url = app.config["DATABASE_URL"]
    if url.startswith("postgresql:"):
        with connect(url) as db:
            db.execute(PAUSE_BEFORE_COMMIT)
    over, committed, seen, dice = threading.Event(), [], [], random.Random(1)

    def keep_writing(writer):
        number = 0
        while not over.is_set():
            number += 1
            key = f"0.0.{writer}", number
            try:
                with app.app_context(), write() as db:
                    change = {"kind": "LISTED", "token": key[0], "serial_no": key[1]}
                    insert_sales(db, [SALE | change])
                    time.sleep(dice.random() / 200)
                    if dice.random() < 0.3:
                        raise Interrupted
            except Interrupted:
                continue
            committed.append(key)

    def poll():
        after, rows, is_over = 0, [], False
        while rows or not is_over:
            is_over = all(writer.done() for writer in writers)  # before it reads
            with app.app_context():
                rows = list_after(after)
            for row in rows:
                assert row["id"] == after + 1
                after = row["id"]
                seen.append((row["token"], row["serial_no"]))

    with ThreadPoolExecutor(7) as pool:
        writers = [pool.submit(keep_writing, number) for number in range(6)]
        reader = pool.submit(poll)
        until(lambda: len(seen) > 50, "nothing is read")
        over.set()
        for each in (*writers, reader):
            each.result()
    assert sorted(seen) == sorted(committed)
