"""PostgreSQL beside SQLite: the same table in both.

BENCH_POSTGRESQL is 1 for a server of the run's own, 0 for none, or the address of one that runs, with a role
that may create databases (postgresql://user:password@host/postgres).
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import psycopg

from benchmarks import service
from harness import postgresql
from harness.engines import execute
from harness.serving import run_flask

# For a server of the run's own: it writes as durably as an operator's server.
DURABLE = {"fsync": "on", "full_page_writes": "on"}
SIZES = {"shared_buffers": "256MB", "max_wal_size": "4GB"}


@contextlib.contextmanager
def copied(database: Path) -> Iterator[str | None]:
    """Copy a database; yields the copy's address, or None if BENCH_POSTGRESQL is 0.

    A server that is started here uses the core of the load.
    """
    url = os.environ.get("BENCH_POSTGRESQL") or "1"
    if url == "0":
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
    """Copy everything in a database, as an operator moves a service."""
    moved = run_flask(database.parent, "move", url, **service.settings(database))
    assert moved.exit_code == 0, moved.output
    execute(url, "VACUUM ANALYZE")  # the server would do it by itself later
    with contextlib.suppress(psycopg.errors.InsufficientPrivilege):
        execute(url, "CHECKPOINT")
