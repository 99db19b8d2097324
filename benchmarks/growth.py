"""Measures the constants of the model: real rounds of the watcher, and real reads, at three sizes."""

import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from werkzeug.test import EnvironBuilder, run_wsgi_app

from benchmarks import ledger, machine, records, service
from benchmarks.model import World
from marketplace import create_app, times
from marketplace.market.shares import Share
from marketplace.operator import rounds
from marketplace.store import access_tokens, queries
from marketplace.store.database import read, write

# The first two tell a request's cost from a listing's; the others check what the model makes of them.
ROUNDS = ((1_000, 10), (1_000, 90), (10_000, 10), (100_000, 10))  # sellers, listings of each
UNPACED = 10_000  # requests a second, as many as MIRROR_NODE_RATE may say
PACED = (
    World(1_000, 1_000, rate=100, latency=0.0, sales_a_day=0),
    World(1_000, 1_000, rate=UNPACED, latency=0.1, sales_a_day=0),
    World(1_000, 1_000, rate=UNPACED, latency=0.1, sales_a_day=0, watchers=2),
)
TIMES = 1_000  # that each read is repeated
SEEN_AT = times.to_iso(times.from_consensus(ledger.MODIFIED))


def measure() -> dict:
    about = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "processor": machine.processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
    }
    rounds, reads, paced = [], [], []
    for sellers, each in ROUNDS:
        with market(sellers, sellers * each) as (app, mirror):
            rounds.append(_round(app, mirror, sellers, sellers * each))
            if each == ROUNDS[0][1]:
                reads.append(_reads(app, sellers * each))
    for world in PACED:
        with market(world.sellers, world.listings, world.rate, world.latency) as (app, _):
            paced.append({"world": world._asdict(), "seconds": _sync(app, world.watchers)})
            print(f"{paced[-1]['seconds']:.1f} s: {world}", flush=True)
    return {"about": about, "rounds": rounds, "paced": paced, "reads": reads}


@contextmanager
def market(sellers: int, listings: int, rate: int = UNPACED, latency: float = 0) -> Iterator[tuple]:
    """The service with so many sellers and listings, and a mirror node that says the same of them."""
    with (
        ledger.mirror(listings, sellers, latency) as mirror,
        tempfile.TemporaryDirectory() as folder,
    ):
        settings = service.settings(Path(folder) / "market.db")
        app = create_app(
            **settings | {"MIRROR_NODE_URL": mirror.url, "MIRROR_NODE_RATE": str(rate)}
        )
        print(f"{sellers:,} sellers of {listings:,} listings ...", flush=True)
        with app.app_context(), write() as db:
            for record in make(sellers, listings):
                queries.insert_nft(db, record)
                queries.mark_in_line(db, record)
        yield app, mirror
        app.extensions["database"].close()


def make(sellers: int, listings: int) -> Iterator[dict]:
    """The records of the other benchmarks, all of them listed, as those of the mirror node's NFTs."""
    columns = [name.strip() for name in records.COLUMNS.split(",")]
    for serial_no, row in enumerate(records.make(listings, listings), 1):
        yield dict(zip(columns, row, strict=True)) | {
            "token": ledger.TOKEN,
            "serial_no": serial_no,
            "owner": ledger.owner(serial_no, sellers),
            "ledger_at": SEEN_AT,
            "seen_at": SEEN_AT,
            "missing": None,
            "retry_at": None,
        }


def _round(app, mirror, sellers: int, listings: int) -> dict:
    before, cpu = mirror.asked(), time.process_time()
    seconds = _sync(app)
    cpu, after = time.process_time() - cpu, mirror.asked()
    print(f"  {seconds:.1f} s, of which {cpu:.1f} s of a core", flush=True)
    return {
        "sellers": sellers,
        "listings": listings,
        "requests": after["requests"] - before["requests"],
        "bytes": after["bytes"] - before["bytes"],
        "seconds": seconds,
        "cpu_seconds": cpu,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _sync(app, watchers: int = 1) -> float:
    """A round of each watcher, all at once; the seconds that the last of them took."""

    def sync(number: int) -> None:
        with app.app_context():
            counts = rounds.sync(share=Share(number, watchers))
        if counts.keys() != {rounds.Done.SELLERS}:
            raise SystemExit(f"Nothing was to be found: {rounds.summary(counts)}")

    started = time.monotonic()
    with ThreadPoolExecutor(watchers) as pool:
        list(pool.map(sync, range(1, watchers + 1)))
    return time.monotonic() - started


def _reads(app, nfts: int) -> dict:
    """What stamps, pages, answers and commits cost; each is the mean of many."""
    database = app.extensions["database"]
    with app.app_context():
        token = access_tokens.create("reader", ("read",), 86_400)
        environ = EnvironBuilder(
            path="/v1/orderbook",
            headers={"Authorization": f"Bearer {token}", "Accept-Encoding": "gzip"},
        ).get_environ()
        record = next(make(1, 1))

        def get() -> bytes:
            body, status, _ = run_wsgi_app(app.wsgi_app, environ.copy())
            assert status.startswith("200"), status
            return b"".join(body)

        def commit() -> None:
            with write() as db:
                queries.mark_in_line(db, record)

        size = len(get())
        return {
            "nfts": nfts,
            "database_bytes": _size(app),
            "answer_bytes": size,
            "stamp_seconds": _mean(database.stamp),
            "page_seconds": _mean(lambda: queries.list_orderbook(read(), 21)),
            "kept_seconds": _mean(get),
            "made_seconds": _mean(get, before=commit),
            "commit_seconds": _mean(commit, clock=time.perf_counter),
        }


def _mean(
    work: Callable, before: Callable = lambda: None, clock: Callable = time.thread_time
) -> float:
    spent = 0
    for _ in range(TIMES):
        before()
        started = clock()
        work()
        spent += clock() - started
    return spent / TIMES


def _size(app) -> int:
    """Bytes of the database's file, once all is in it."""
    app.extensions["database"].close()
    return Path(app.config["DATABASE_URL"]).stat().st_size
