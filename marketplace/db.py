"""The only door to an SQLite file: how it is created, read, written, copied and replaced."""

import fcntl
import os
import re
import threading
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from flask import Flask, current_app
from sqlite_utils.utils import (
    sqlite3,
)  # the one import of the SQLite library (two would break its locks)

from marketplace import queries
from marketplace.errors import DatabaseBusy, DatabaseUnusable, answer_marketplace_error

# Before this version two processes that write and checkpoint at once may corrupt the file.
# https://sqlite.org/wal.html#walresetbug
SAFE_VERSION = (3, 51, 3)
BUSY_TIMEOUT_SECONDS = 5
# What SQLite says of a full or failing disk, of permissions, and of a file that was overwritten.
UNUSABLE = re.compile("full|disk I/O|readonly|unable to open|malformed|not a database")


_databases: "weakref.WeakSet[Database]" = weakref.WeakSet()


class DatabaseUnreadable(RuntimeError):
    """A file that is no database, or not one of ours. The message names it, and the way out."""


class DatabaseInUse(RuntimeError):
    """Another process has the database open."""


class Database:
    """One SQLite file, with one kept connection per thread and process.

    Opening and closing a connection per request would checkpoint the WAL each time, so each thread opens
    its own and keeps it. None may be open at a fork: the child would believe that it holds the parent's
    locks. The forking thread's are closed before it, and opened again when they are needed. So a host that
    forks does it before other threads of it have used the database.
    """

    def __init__(self, path: str, schema: Path) -> None:
        if sqlite3.sqlite_version_info < SAFE_VERSION:
            raise RuntimeError(
                f"SQLite {sqlite3.sqlite_version} may corrupt a database that several processes write;"
                f" {'.'.join(map(str, SAFE_VERSION))} is needed: pip install pysqlite3"
            )
        self.path = Path(path)
        self._local = threading.local()
        self._observer: sqlite3.Cursor | None = None
        self._observers = 0  # opened until now: each counts commits anew
        self._observing = threading.Lock()
        self._create(schema)
        _databases.add(self)

    def _create(self, schema: Path) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Switching to WAL does not wait for a lock by itself.
            with self.turn(), closing(self._connect()) as connection:
                connection.executescript(schema.read_text())
        except OSError as error:
            raise DatabaseUnreadable(f"{self.path} can't be used as a database: {error}") from error
        except sqlite3.DatabaseError as error:
            raise DatabaseUnreadable(
                f"{self.path} can not be opened: {error}. If it is damaged, move it and its -wal and"
                " -shm files away, and restore a backup: flask --app wsgi restore FILE"
            ) from error

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Let those who start at once take turns, however long one takes."""
        with open(f"{self.path}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _connect(self, **options) -> sqlite3.Connection:
        options = {"timeout": BUSY_TIMEOUT_SECONDS} | options
        connection = sqlite3.connect(self.path, isolation_level=None, **options)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA journal_size_limit = 67108864")
        return connection

    @property
    def connection(self) -> sqlite3.Connection:
        """The calling thread's own connection, in autocommit mode."""
        if getattr(self._local, "connection", None) is None:
            self._local.connection = self._connect()
        return self._local.connection

    def settle(self, name: str, value: bytes) -> bytes:
        """What holds for the whole database under a name: what is settled already, or else this value."""
        with closing(self._connect()) as connection:
            if queries.get_property(connection, name) is None:
                queries.insert_property(connection, name, value)
            return queries.get_property(connection, name)["value"]

    def version(self) -> tuple[int, int] | None:
        """Another value after each commit, by whatever thread or process; None while it can not be read.

        SQLite counts for a connection the commits of all others; so one that never writes sees them all.
        """
        try:
            with self._observing:
                if self._observer is None:
                    # Any thread may ask it, and nobody waits for it.
                    self._observer = self._connect(timeout=0, check_same_thread=False).cursor()
                    self._observers += 1
                return self._observers, self._observer.execute("PRAGMA data_version").fetchone()[0]
        except sqlite3.Error:
            return None

    def close(self) -> None:
        """Close the calling thread's own connection and the observer; they are opened again when needed."""
        connection, self._local.connection = getattr(self._local, "connection", None), None
        if connection:
            connection.close()
        with self._observing:
            observer, self._observer = self._observer, None
            if observer:
                observer.connection.close()

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

    def copy(self, target: Path) -> None:
        """Copy all of it, as it is at one moment, to another file. Writers do not wait meanwhile.

        Raises OSError where the target can't be written.
        """
        with closing(self._connect()) as source, _writing(target) as copy:
            # All at once: in steps, it would start again after every write of another process.
            source.backup(copy)
            # Whole by itself, without a -wal beside it.
            copy.execute("PRAGMA journal_mode = DELETE")

    def replace(self, source: Path, aside: Path) -> None:
        """Take over all of another file, in one transaction, and keep the old content in ``aside``.

        Raises DatabaseInUse while another process has the database open, DatabaseUnreadable for a source
        that check() refuses, or of another network, OSError where there is no room. Then nothing was changed.
        """
        check(source)
        theirs, ours = _network_of(source), _network_of(self.path)
        if theirs != ours:
            raise DatabaseUnreadable(f"{source} is an index of {theirs}, {self.path} one of {ours}")
        connection = sqlite3.connect(self.path, timeout=1, isolation_level=None)
        with closing(connection), closing(_open_to_read(source)) as new:
            # Nobody else may have it open, not even to read; from the first statement to the last.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            try:
                connection.execute("BEGIN EXCLUSIVE")
                connection.execute("COMMIT")
            except sqlite3.OperationalError as error:
                raise DatabaseInUse(f"{self.path} is in use: {error}") from error
            with _writing(aside) as old:
                connection.backup(old)
            try:
                new.backup(connection)
            except sqlite3.OperationalError as error:
                raise OSError(f"{self.path} can not be written: {error}") from error


def _close_all() -> None:
    for database in list(_databases):
        database.close()


os.register_at_fork(before=_close_all)


def check(path: Path) -> None:
    """Raise DatabaseUnreadable unless a file is a sound database of this service."""
    try:
        with closing(_open_to_read(path)) as connection:
            problem = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
            tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema")}
    except sqlite3.Error as error:
        problem = str(error)
    if problem != "ok":
        reason = " ".join(problem.split())
        raise DatabaseUnreadable(f"{path} is damaged, or no database: {reason}")
    if not tables >= {"nft", "access_token", "property"}:
        raise DatabaseUnreadable(f"{path} is not a database of this service")


def _network_of(path: Path) -> str:
    with closing(_open_to_read(path)) as connection:
        row = queries.get_property(connection, "network")
    return row[1].decode() if row else "no network"


def _open_to_read(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


@contextmanager
def _writing(path: Path) -> Iterator[sqlite3.Connection]:
    path.touch(mode=0o600)  # for its owner only: it holds access tokens' hashes
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            yield connection
    except sqlite3.OperationalError as error:
        raise OSError(f"{path} can not be written: {error}") from error


def init_app(app: Flask) -> None:
    schema = Path(__file__).parent.parent / "schema.sql"
    app.extensions["database"] = database = Database(app.config["DATABASE_URL"], schema)
    # What is listed was approved for this account: for another one, a sync would take all of it off.
    for setting in ("NETWORK", "ACCOUNT_ID"):
        settled = database.settle(setting.lower(), app.config[setting].encode()).decode()
        if settled != app.config[setting]:
            raise DatabaseUnreadable(
                f"{database.path} is an index of {settled}, and MARKETPLACE_{setting} is"
                f" {app.config[setting]}: name another MARKETPLACE_DATABASE_URL"
            )
    with database.turn():
        if queries.get_property(database.connection, "rule") is None:
            # What an earlier version listed, it listed by other rules.
            with database.write() as connection:
                queries.mark_all_to_be_looked_at(connection)
                queries.insert_property(connection, "rule", b"1")
    database.close()  # a command may replace the file, for which nobody may have it open
    app.register_error_handler(sqlite3.DatabaseError, answer_database_error)


def answer_database_error(error: sqlite3.DatabaseError):
    """Tell a caller that the file can not be used just now; any other error is a fault of ours."""
    reason = str(error)
    if "locked" in reason:
        return answer_marketplace_error(DatabaseBusy(BUSY_TIMEOUT_SECONDS))
    if not UNUSABLE.search(reason):
        raise error
    current_app.logger.error("The database can not be used: %s", reason)
    return answer_marketplace_error(DatabaseUnusable(reason))


def read() -> sqlite3.Connection:
    """Return the connection for reads; each statement sees all that was committed before it."""
    return current_app.extensions["database"].connection


def write():
    """Open a write transaction: ``with write() as db:``. Short: no network and no SDK inside."""
    return current_app.extensions["database"].write()
