"""PostgreSQL beside SQLite: the same table in both.

Where BENCH_POSTGRESQL asks for it: 1 for a server of the run's own, or the address of one that runs, with a
role that may create databases (postgresql://user:password@host/postgres).
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
from sqlite_utils.utils import sqlite3

from benchmarks import records, service
from marketplace.services import services
from tests import postgresql

# Of a server of the run's own: it writes as it would for an operator.
DURABLE = {"fsync": "on", "full_page_writes": "on"}
SIZES = {"shared_buffers": "256MB", "max_wal_size": "4GB"}
TABLES = {"nft": records.COLUMNS, "access_token": "hash, name, scopes, created_at, expires_at"}


@contextlib.contextmanager
def copied(database: Path) -> Iterator[str | None]:
    """A copy of a database; yields its address, or None where nobody asked for it.

    A server that begins here has the core of the load.
    """
    url = os.environ.get("BENCH_POSTGRESQL")
    if not url:
        yield None
        return
    with contextlib.ExitStack() as stack:
        if not url.startswith("postgresql://"):
            url = stack.enter_context(postgresql.new_server(**DURABLE, **SIZES)).url("postgres")
        copy = stack.enter_context(postgresql.new_database(url))
        print("Filling PostgreSQL ...", flush=True)
        fill(database, copy)
        yield copy


def fill(database: Path, url: str) -> None:
    """Copy NFTs and access tokens, as they are by now."""
    services(service.create(database, url)).database.close()
    with (
        contextlib.closing(sqlite3.connect(database)) as source,
        contextlib.closing(psycopg.connect(url, autocommit=True)) as target,
    ):
        for table, columns in TABLES.items():
            with target.cursor().copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                for row in source.execute(f"SELECT {columns} FROM {table}"):
                    copy.write_row(row)
        target.execute("VACUUM ANALYZE")  # which the server does by itself, some time later
        with contextlib.suppress(psycopg.errors.InsufficientPrivilege):
            target.execute("CHECKPOINT")
