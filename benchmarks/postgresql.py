"""PostgreSQL beside SQLite: the same table in both, and what the service makes of it.

Measured where BENCH_POSTGRESQL asks for it: 1 for a server of the run's own, or the address of one that runs,
with a role that may create databases (postgresql://user:password@host/postgres).
"""

import contextlib
import os
from collections.abc import Iterator
from statistics import median

from sqlite_utils.utils import sqlite3

from benchmarks import contenders, load, records, server, service
from benchmarks.client import Client
from benchmarks.throughput import ORDERBOOK, Bench
from marketplace.services import services

PAIRS = {"kept": ("service", "postgresql"), "host": ("host", "postgresql_host")}
# Of a server of the run's own: it writes as it would for an operator.
SETTINGS = {
    "fsync": "on",
    "full_page_writes": "on",
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
}


def measure(bench: Bench) -> dict | None:
    """Figures of PostgreSQL and of SQLite, taken in turn; None where nobody asked for them."""
    if not os.environ.get("BENCH_POSTGRESQL"):
        return None
    print("Filling PostgreSQL ...", flush=True)
    with _database() as url, contextlib.ExitStack() as stack:
        fill(bench, url)
        servers = {name: bench.servers[name] for name in ("service", "host")}
        for name in contenders.BESIDE:
            started = contenders.start(name, bench.database, DATABASE_URL=url)
            servers[name] = stack.enter_context(started)
        _require_agreement(bench, servers)
        figures = _measure_pages(bench, servers)
        figures["deep_seconds"] = _measure_deep(bench, servers["postgresql"].port)
    return figures


@contextlib.contextmanager
def _database() -> Iterator[str]:
    """A new database; yields its address. A server that begins here has the core of the load."""
    from tests import postgresql  # psycopg is needed for this alone

    with contextlib.ExitStack() as stack:
        url = os.environ["BENCH_POSTGRESQL"]
        if not url.startswith("postgresql://"):
            url = stack.enter_context(postgresql.new_server(**SETTINGS)).url("postgres")
        yield stack.enter_context(postgresql.new_database(url))


def fill(bench: Bench, url: str) -> None:
    """Copy NFTs and access tokens, as they are by now."""
    import psycopg

    services(service.create(bench.database, DATABASE_URL=url)).database.close()
    tables = {"nft": records.COLUMNS, "access_token": "hash, name, scopes, created_at, expires_at"}
    with (
        contextlib.closing(sqlite3.connect(bench.database)) as source,
        contextlib.closing(psycopg.connect(url, autocommit=True)) as target,
    ):
        for table, columns in tables.items():
            with target.cursor().copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                for row in source.execute(f"SELECT {columns} FROM {table}"):
                    copy.write_row(row)
        target.execute("VACUUM ANALYZE")  # which the server does by itself, some time later
        with contextlib.suppress(psycopg.errors.InsufficientPrivilege):
            target.execute("CHECKPOINT")


def _require_agreement(bench: Bench, servers: dict[str, server.Server]) -> None:
    """Raise SystemExit where another engine, or keeping nothing, makes another answer."""
    numbers = range(0, bench.plan.nfts, bench.plan.nfts // 10)
    paths = [f"/v1/orderbook?limit=20&offset={offset}" for offset in bench.plan.offsets]
    paths += ["/v1/nft/{}/{}".format(*records.key(number)) for number in numbers]
    paths += [f"/v1/user/{records.owner(number)}/listed?offset=1" for number in numbers]
    for path in paths:
        answers = set()
        for name in servers:
            with Client(servers[name].port, bench.reader) as client:
                answer = client.get(path)
                answers.add((answer.status, answer.link, answer.body))
        if len(answers) > 1 or answer.status != 200:
            raise SystemExit(f"PostgreSQL and SQLite answer {path} differently")


def _measure_pages(bench: Bench, servers: dict[str, server.Server]) -> dict:
    """Requests per second of the order book's first page."""
    figures = {key: {name: [] for name in pair} for key, pair in PAIRS.items()}
    for turn in range(-1, bench.plan.rounds):
        print(f"PostgreSQL, round {turn + 1} of {bench.plan.rounds} ...", flush=True)
        for key, names in PAIRS.items():
            for name in names[::-1] if turn % 2 else names:
                seconds = bench.plan.seconds if turn >= 0 else 1
                port = servers[name].port
                counted = load.run(port, bench.reader, ORDERBOOK, seconds)
                if turn >= 0:  # before, it warmed up
                    figures[key][name].append(counted["per_second"])
    return figures


def _measure_deep(bench: Bench, port: int) -> float:
    """Median seconds of a far page by offset, each time another one."""
    seconds = []
    with Client(port, bench.reader) as client:
        for turn in range(bench.plan.samples):
            answer = client.get(f"/v1/orderbook?limit=20&offset={bench.plan.deep + turn}")
            if answer.status != 200:
                raise SystemExit(f"A far page on PostgreSQL is answered with {answer.status}")
            seconds.append(answer.seconds)
    return median(seconds)
