"""Where the ledger is kept: one SQLite file, or memory. Threads and processes of this machine share a file.

There are no upgrades. A file of another version is set aside, and a new one is made.
"""

import fcntl
import itertools
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from hiero_sandbox import versions
from hiero_sandbox.errors import LedgerRefused, LedgerUnusable, explained
from hiero_sandbox.world import World


class Connection(sqlite3.Connection):
    """A connection, with what exists besides its rows."""

    world: World


SCHEMA = Path(__file__).with_name("schema.sql")
VERSION = 23  # of schema.sql: count it up with each change
TABLES = {"account", "nft", "nft_transaction"}  # every version has these
BUSY_SECONDS = 5
_memories = itertools.count()
_opened: "weakref.WeakSet[Database]" = weakref.WeakSet()


class Database:
    """One ledger. Each thread keeps a connection of its own."""

    def __init__(self, path: Path | None = None, world: World | None = None) -> None:
        """Open a file, or make it; without a path, make a database in memory, for this process alone.

        Raises LedgerRefused for a file of something else: nothing is written into it.
        """
        self.world = world or World()
        self.path, self.set_aside = path, None if path is None else self._prepare(path)
        self._uri = f"file:/sandbox-{next(_memories)}?vfs=memdb"
        if path:
            self._uri = f"{path.absolute().as_uri()}?mode=rw"
            self._file = self._find_file()
        self._local = threading.local()
        if path is None:
            self._kept = self._connect()  # memory lasts as long as somebody has it open
            self._kept.executescript(SCHEMA.read_text())
            versions.create(self._kept)
            # A file that is replaced by this one's content is of this version.
            self._kept.execute(f"PRAGMA user_version = {VERSION}")
        _opened.add(self)

    def _prepare(self, path: Path) -> Path | None:
        """Make the file if there is none of this version. Returns where one of another version is now."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(f"{path}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # processes that start at the same time take turns
            try:
                version, tables, damage = _look(path)
                aside = None
                if tables and not tables >= TABLES:
                    raise LedgerRefused(f"{path} is not a ledger of the sandbox: name another file")
                if tables and damage:
                    raise LedgerRefused(
                        f"{path} is damaged: remove it, or name another file. SQLite: {damage}"
                    )
                if tables and version != VERSION:
                    aside = path.rename(f"{path}.before-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}")
                if not tables or aside:
                    with closing(sqlite3.connect(path)) as made:
                        made.executescript(f"BEGIN EXCLUSIVE; {SCHEMA.read_text()}")
                        versions.create(made)
                        made.execute(f"PRAGMA user_version = {VERSION}")
                        made.commit()
            except (OSError, sqlite3.Error) as error:
                raise LedgerRefused(f"{path} can't be the sandbox's ledger: {error}") from error
        return aside

    def _connect(self) -> Connection:
        connection = sqlite3.connect(
            self._uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, factory=Connection
        )
        connection.row_factory, connection.world = sqlite3.Row, self.world
        # A process may be killed at any time. What the machine itself loses with its power is worth nothing.
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA journal_mode = TRUNCATE")
        return connection

    def _find_file(self) -> tuple[int, int] | None:
        try:
            status = os.stat(str(self.path))
        except OSError:
            return None
        return status.st_dev, status.st_ino

    @property
    def connection(self) -> Connection:
        """The calling thread's connection, in autocommit mode. Raises LedgerUnusable if the file is gone."""
        if self.path and self._find_file() != self._file:
            raise LedgerUnusable("its file has vanished, or was replaced: put it back")
        if getattr(self._local, "connection", None) is None:
            with explained():
                self._local.connection = self._connect()
        connection: Connection = self._local.connection
        return connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One write transaction: all of it, or nothing. Raises LedgerBusy or LedgerUnusable."""
        db = self.connection
        with explained():
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")

    def look_back(self, moment: int) -> Connection:
        """A connection to the ledger as it was at a time in nanoseconds."""
        with explained():
            connection = self._connect()
            versions.look_back(connection, moment)
        return connection

    def copy(self) -> Connection:
        """A copy of the whole ledger in memory, for any thread."""
        made = sqlite3.connect(":memory:", check_same_thread=False, factory=Connection)
        made.row_factory, made.world = sqlite3.Row, self.world
        with explained():
            self.connection.backup(made)
        return made

    def replace(self, content: Connection) -> None:
        """Replace the whole ledger by a copy."""
        with explained():
            content.backup(self.connection, sleep=0.001)

    def close(self) -> None:
        """Close the calling thread's connection. It is opened again on demand."""
        connection, self._local.connection = getattr(self._local, "connection", None), None
        if connection:
            connection.close()


def _look(path: Path) -> tuple[int, set[str], str]:
    """The version, the tables and the first damage of a file; no tables if there is no file."""
    if not path.exists():
        return 0, set(), ""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as db:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_schema")}
        [damage] = db.execute("PRAGMA quick_check(1)").fetchone()
        return version, tables, "" if damage == "ok" else damage.splitlines()[-1]


def _before_fork() -> None:
    """Close the forking thread's connections: the child must not use them."""
    for each in list(_opened):
        each.close()


os.register_at_fork(before=_before_fork)
