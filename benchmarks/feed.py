"""What the feed of events costs a writer, and what a feed by time of creation would miss.

    python -m benchmarks.feed

On SQLite, listings one after the other, with and without their event. On PostgreSQL the same with sixteen
writers; then writers that pause before their commit, and readers that follow them: by our ids, and by
``created_at, id`` of a sequence, as most markets' feeds do.
"""

import random
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import psycopg

from benchmarks import service
from marketplace import times
from marketplace.ids import EventKind
from marketplace.market import events, nft_collections
from marketplace.market.events import Event
from marketplace.market.feed import find_feed
from marketplace.services import services
from marketplace.store import nfts
from marketplace.store.database import read, write
from tests.postgresql import DATABASE, new_server

NFTS, LISTINGS, WRITERS, SECONDS, ROUNDS = 5_000, 3_000, 16, 5, 3
PAUSE_SECONDS = 0.02  # between an insert and its commit, at most
RECORD = {
    "name": "An NFT", "file_type": "image/png", "attributes": None, "image": None, "original_image_url": None,
    "ledger_at": times.to_iso(0), "metadata": None, "missing": None, "attempts": 1, "retry_at": None,
}  # fmt: skip
# The service sends both in one message.
PAUSE = f"""
    CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN PERFORM pg_sleep(random() * {PAUSE_SECONDS}); RETURN NULL; END';
    CREATE CONSTRAINT TRIGGER pause AFTER INSERT ON event DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION pause();
"""
NAIVE = "CREATE TABLE naive (id BIGSERIAL PRIMARY KEY, created_at TIMESTAMPTZ DEFAULT clock_timestamp())"


def fill(app) -> None:
    with app.app_context(), write() as db:
        for number in range(50):
            sql = (
                "INSERT INTO collection (token, name, retry_at) VALUES (:token, 'A token', '9999')"
            )
            db.execute(sql, {"token": f"0.0.{7000 + number}"})
        for serial_no in range(1, NFTS + 1):
            keys = {"token": f"0.0.{7000 + serial_no % 50}", "serial_no": serial_no}
            nfts.insert_nft(db, RECORD | keys | {"owner": f"0.0.{1000 + serial_no % 500}"})
    services(app).database.close()


def list_one(dice: random.Random, *, with_event: bool) -> float:
    """List an NFT, or withdraw a listed one, as the reconciler does; returns its transaction's seconds."""
    serial_no = dice.randint(1, NFTS)
    key, now = (f"0.0.{7000 + serial_no % 50}", serial_no), times.to_iso(times.now())
    stored = nfts.get_nft(read(), *key)
    is_listed, price = not stored["is_for_sale"], dice.randint(1, 9_999)
    state = {
        "is_for_sale": int(is_listed),
        "listing_price": price * is_listed,
        "last_listed_at": now,
    }
    state |= {"token": key[0], "serial_no": serial_no, "owner": stored["owner"], "seen_at": now}
    kind = EventKind.LISTED if is_listed else EventKind.WITHDRAWN
    prices = (price, None) if is_listed else (None, price)
    event = Event(kind, stored["owner"], None, *prices, "0.0.1001@1.1", now)
    began = time.perf_counter()
    with write() as db:
        if nfts.mark_reconciled(db, state | {"ledger_at": now}, stored):
            nft_collections.note_listed(db, key[0], 1 if is_listed else -1)
            if with_event:
                events.store(db, {key: [event]})
    return time.perf_counter() - began


def measure_alone(folder: Path) -> None:
    app, dice = service.create(folder / "market.db"), random.Random(1)
    fill(app)
    spent: dict[bool, list[float]] = {True: [], False: []}
    with app.app_context():
        for _ in range(LISTINGS):
            for with_event in spent:
                spent[with_event].append(list_one(dice, with_event=with_event))
    ratio = median(spent[True]) / median(spent[False])
    print(f"SQLite, a listing's commit with its event / without: {ratio:.2f} (at most 1.25)")


def keep_listing(url: str, folder: Path, seed: int, with_event: bool, start, done) -> None:
    app, dice, listed = service.create(folder / "none", url), random.Random(seed), 0
    with app.app_context():
        read().execute("SELECT 1 AS n")
        start.wait()
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            list_one(dice, with_event=with_event)
            listed += 1
    done.put(listed)


def measure_together(url: str, folder: Path) -> None:
    fill(service.create(folder / "none", url))
    context, listed = get_context("spawn"), {True: 0, False: 0}
    for number in range(ROUNDS):
        for with_event in listed:
            start, done = context.Barrier(WRITERS), context.Queue()
            writers = [
                context.Process(
                    target=keep_listing, args=(url, folder, seed, with_event, start, done)
                )
                for seed in range(number * WRITERS, (number + 1) * WRITERS)
            ]
            for writer in writers:
                writer.start()
            listed[with_event] += sum(done.get() for _ in writers)
            for writer in writers:
                writer.join()
    ratio = listed[True] / listed[False]
    print(f"PostgreSQL, {WRITERS} writers, with events / without: {ratio:.2f} (at least 0.5)")


def race(insert: Callable[[float], None], list_after: Callable[[Any], list[Any]]) -> str:
    """Let eight writers write, and a reader follow; tell how many events it missed."""
    over = threading.Event()

    def keep_writing(seed: int) -> int:
        dice, written = random.Random(seed), 0
        while not over.is_set():
            insert(dice.random() * PAUSE_SECONDS)
            written += 1
        return written

    with ThreadPoolExecutor(8) as pool:
        writing = [pool.submit(keep_writing, seed) for seed in range(8)]
        after, seen, written, end = None, 0, None, time.monotonic() + SECONDS
        while written is None:
            if time.monotonic() > end:
                over.set()
                written = sum(each.result() for each in writing)
            while rows := list_after(after):
                seen += len(rows)
                after = rows[-1]
    return f"{written:,} events, {written - seen:,} missed"


def race_ours(url: str, folder: Path) -> None:
    app = service.create(folder / "none", url)
    added = {("0.0.7000", 1): [Event(EventKind.METADATA_CHANGED)]}

    with psycopg.connect(url) as administrator:
        administrator.execute(PAUSE)

    def insert(_: float) -> None:
        with app.app_context(), write() as db:
            events.store(db, added)

    def list_after(row: Any) -> list[Any]:
        with app.app_context():
            after = row["id"] if row else begin
            sql = "SELECT * FROM event WHERE id > :after ORDER BY id LIMIT 1000"
            return read().execute(sql, {"after": after}).fetchall()

    with app.app_context():
        begin = find_feed(read())["newest"]
    print(f"PostgreSQL, followed by our ids: {race(insert, list_after)}")


def race_naive(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as reader:
        reader.execute(NAIVE)

        def insert(pause: float) -> None:
            with psycopg.connect(url) as writer:
                writer.execute("INSERT INTO naive DEFAULT VALUES")
                time.sleep(pause)

        def list_after(row: Any) -> list[Any]:
            last = row or ("-infinity", 0)
            sql = """
                SELECT created_at, id FROM naive WHERE (created_at, id) > (%s, %s)
                ORDER BY created_at, id LIMIT 1000
            """
            return reader.execute(sql, last).fetchall()

        print(f"PostgreSQL, followed by created_at, id: {race(insert, list_after)}")


def main() -> None:
    with tempfile.TemporaryDirectory() as name, new_server() as server:
        folder = Path(name)
        server.execute(f"CREATE DATABASE feed OWNER market {DATABASE}")
        measure_alone(folder)
        measure_together(server.url("feed"), folder)
        race_ours(server.url("feed"), folder)
        race_naive(server.url("feed"))


if __name__ == "__main__":
    main()
