"""The only door to an SQLite file: how it is created, read and written."""

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flask import Flask, current_app
from sqlite_utils.utils import (
    sqlite3,
)  # the one import of the SQLite library (two would break its locks)

from marketplace.errors import DatabaseBusy

# Before this version two processes that write and checkpoint at once may corrupt the file.
# https://sqlite.org/wal.html#walresetbug
SAFE_VERSION = (3, 51, 3)
BUSY_TIMEOUT_SECONDS = 5


class Database:
    """One SQLite file, with one kept connection per thread and process.

    Opening and closing a connection per request would checkpoint the WAL each time; a connection that
    crosses a fork corrupts the file. So each thread of each process opens its own and keeps it.
    """

    def __init__(self, path: str, schema: Path) -> None:
        if sqlite3.sqlite_version_info < SAFE_VERSION:
            raise RuntimeError(
                f"SQLite {sqlite3.sqlite_version} may corrupt a database that several processes write;"
                f" {'.'.join(map(str, SAFE_VERSION))} is needed: pip install pysqlite3"
            )
        self.path = Path(path)
        self._local = threading.local()
        self._create(schema)

    def _create(self, schema: Path) -> None:
        try:
            self._apply(schema)
        except (OSError, sqlite3.Error) as error:
            raise RuntimeError(f"{self.path} can't be used as a database: {error}") from error

    def _apply(self, schema: Path) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Workers that start at once take turns: switching to WAL does not wait for a lock by itself.
        with open(f"{self.path}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            connection = self._connect()
            try:
                connection.executescript(schema.read_text())
            finally:
                connection.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA journal_size_limit = 67108864")
        return connection

    @property
    def connection(self) -> sqlite3.Connection:
        """The calling thread's own connection, in autocommit mode."""
        kept = getattr(self._local, "kept", None)
        if kept is None or kept[0] != os.getpid():
            # The parent's connection stays referenced: to close it here would drop the parent's locks.
            self._local.kept = (os.getpid(), self._connect(), kept)
        return self._local.kept[1]

    def close(self) -> None:
        """Close the calling thread's own connection; it opens another one when it needs to."""
        kept, self._local.kept = getattr(self._local, "kept", None), None
        if kept and kept[0] == os.getpid():
            kept[1].close()

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One write transaction: committed at the end, durably, or rolled back whole."""
        connection = self.connection
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            raise DatabaseBusy(BUSY_TIMEOUT_SECONDS) from error
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def init_app(app: Flask) -> None:
    schema = Path(__file__).parent.parent / "schema.sql"
    app.extensions["database"] = Database(app.config["DATABASE_URL"], schema)


def read() -> sqlite3.Connection:
    """Return the connection for reads; each statement sees all that was committed before it."""
    return current_app.extensions["database"].connection


def write():
    """Open a write transaction: ``with write() as db:``. Short: no network and no SDK inside."""
    return current_app.extensions["database"].write()
