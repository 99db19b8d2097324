"""The engine for SQLite: makes, reads, writes, upgrades, copies and replaces one file."""

import fcntl
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlite_utils.utils import sqlite3

from marketplace.command_line import command
from marketplace.errors import DatabaseBusy, DatabaseUnusable, StartRefused
from marketplace.store import properties, sqlite_files
from marketplace.store.connection import (
    Connection,
    DatabaseInUse,
    DatabaseMissing,
    DatabaseUnreadable,
    explain,
    explained,
)
from marketplace.store.engine import Engine, close_at_fork, ignore
from marketplace.store.schema import Schema, Step
from marketplace.store.sqlite_files import (
    find_lack_of_room,
    open_file,
    writing,
)

OLDEST_VERSION = (3, 40)  # of SQLite, that the tests were run with
# Reads check that the file still exists, but not more often. Writes always check. A check lets another
# thread run.
FILE_CHECK_SECONDS = 0.1
# More than the service's statements, apart from trait filters. If pysqlite3's cache is full, all other
# statements are prepared each time.
STATEMENTS_KEPT = 400
LOCK_PAUSE_SECONDS = 0.001


class SQLiteDatabase(Engine):
    """One SQLite file. Each thread of each process keeps one connection.

    Opening and closing a connection for each request would checkpoint the WAL each time. No connection may be
    open at a fork: the child would assume that it holds the parent's locks. The forking thread closes its own
    connections before the fork; they are opened again on demand. So a host must fork before its other threads
    use the database.
    """

    def __init__(
        self,
        path: str,
        schema: Schema,
        owners: Mapping[str, str] | None = None,
        makes: bool = True,
    ) -> None:
        """Open the file, or create it. ``owners``: the network and the account to which it belongs.

        Raises DatabaseUnreadable for another program's file, another network or account, or a newer version.
        Then nothing is written into it. Raises DatabaseMissing if there is no file and none may be created.
        """
        if sqlite3.sqlite_version_info < OLDEST_VERSION:
            raise StartRefused(
                f"SQLite {sqlite3.sqlite_version} is too old: {'.'.join(map(str, OLDEST_VERSION))} is needed."
                " Install pysqlite3, or a Python with a newer SQLite"
            )
        super().__init__(str(path), schema, owners)
        self.path = Path(path)
        self._lock_path = f"{path}.lock"
        self._local = threading.local()
        self._observer: sqlite3.Connection | None = None
        self._observers = 0  # how many were opened
        self._wal_id: tuple[int, int] | None = (
            None  # while the observer keeps it from being removed
        )
        self._observing = threading.Lock()
        try:
            if not makes and self._is_missing():
                raise DatabaseMissing(self.name)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.startup_lock():
                if self._is_missing():
                    self._make()
                self.read_version()
            self._file_id = self._find_file_id()
            self._check_file_at = 0.0  # on the monotonic clock
        except OSError as error:
            raise DatabaseUnreadable(f"{self.path} can't be used as a database: {error}") from error
        except sqlite3.DatabaseError as error:
            if isinstance(explain(error), DatabaseBusy):
                raise DatabaseUnreadable(
                    f"{self.path} is locked by another process: try again"
                ) from error
            if reason := find_lack_of_room(self.path.parent):
                raise DatabaseUnreadable(
                    f"{self.path} cannot be opened, because its disk has no room ({reason}). It is not"
                    " damaged: make room, and start again"
                ) from error
            raise DatabaseUnreadable(
                f"{self.path} cannot be opened: {error}. If it is damaged, move it and its -wal and"
                f" -shm files away, and restore a backup: {command('restore FOLDER')}"
            ) from error
        close_at_fork(self)

    def _is_missing(self) -> bool:
        """Whether there is no database yet. Raises DatabaseUnreadable if its file has vanished."""
        if self.path.exists() and self.path.stat().st_size:
            # An upgrade without room, or killed, leaves a -journal: SQLite undoes it, but only for a writer.
            mode = "rw" if Path(f"{self.path}-journal").exists() else "ro"
            # A start that was killed before its first commit leaves a file without tables.
            with closing(open_file(self.path, mode)) as connection:
                return not self.list_tables(connection)
        rest = Path(f"{self.path}-wal")
        if rest.exists() and rest.stat().st_size:
            raise DatabaseUnreadable(
                f"{self.path} has vanished, and {rest} holds its last writes: put {self.path} back,"
                f" or move {rest} away"
            )
        return True

    def _make(self) -> None:
        with closing(self._open("rwc")) as connection:
            connection.executescript(f"BEGIN IMMEDIATE; {self.schema.sql}")
            self.mark(connection, self.schema.version)
            self.schema.record(connection, self.schema.version)
            connection.execute("COMMIT")

    @contextmanager
    def startup_lock(self) -> Iterator[None]:
        """Hold a lock for any time, so that processes that start at the same time take turns."""
        lock = take_lock(self._lock_path)
        try:
            yield
        finally:
            release_lock(lock)

    @contextmanager
    def _write_lock(self) -> Iterator[None]:
        """Hold the lock for writes and checkpoints. Raises DatabaseBusy or DatabaseUnusable.

        Before SQLite 3.51.3, the database may be corrupted if another connection restarts the WAL between two
        steps of a checkpoint: https://sqlite.org/wal.html#walresetbug. Only a write restarts the WAL. Only a
        write's commit checkpoints, or the last connection when it closes, while SQLite lets nobody else open
        the file. So a write must hold this lock until its commit has returned.
        """
        try:
            lock = take_lock(self._lock_path, sqlite_files.BUSY_TIMEOUT_SECONDS)
        except TimeoutError as error:
            raise DatabaseBusy from error
        except OSError as error:
            raise DatabaseUnusable(str(error)) from error
        try:
            yield
        finally:
            release_lock(lock)

    def _connect(self, timeout: float | None = None, **options: Any) -> sqlite3.Connection:
        """Open the file, after checking that file, version and owners are the same as at the start."""
        self._require_same_file()
        self.read_version(timeout)
        self.require_current()
        return self._open("rw", timeout, **options)

    def _open(self, mode: str, timeout: float | None = None, **options: Any) -> sqlite3.Connection:
        options |= {"isolation_level": None, "cached_statements": STATEMENTS_KEPT}
        connection = open_file(self.path, mode, timeout, **options)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA journal_size_limit = 67108864")
        return connection

    def _find_file_id(self, suffix: str = "") -> tuple[int, int]:
        status = os.stat(f"{self.name}{suffix}")
        return status.st_dev, status.st_ino

    def _require_same_file(self) -> None:
        """Raise DatabaseUnusable if the file was moved or removed: new writes would be lost."""
        now = time.monotonic()
        with suppress(OSError):
            if self._find_file_id() == self._file_id:
                self._require_same_wal()
                self._check_file_at = now + FILE_CHECK_SECONDS
                return
        raise DatabaseUnusable(
            "its file has vanished, or was replaced, while the service was running. Put it back, or"
            " restore a backup, and start the service again"
        )

    def _require_same_wal(self) -> None:
        """Raise DatabaseUnusable if the -wal was removed. SQLite would keep writing into the removed file.

        Only that file has the last writes, so they are moved into the database first.
        """
        wal_id = self._wal_id
        with suppress(FileNotFoundError):
            if wal_id is None or wal_id == self._find_file_id("-wal"):
                return
        # Another thread may close the observer.
        with (
            suppress(AttributeError, sqlite3.Error, DatabaseBusy, DatabaseUnusable),
            self._write_lock(),
        ):
            self._observer.execute("PRAGMA wal_checkpoint").fetchall()  # type: ignore[union-attr]
        raise DatabaseUnusable(
            "its -wal has vanished while the service was running. All that was answered is in the database:"
            " start the service again"
        )

    @property
    def connection(self) -> sqlite3.Connection:
        """The calling thread's own connection, in autocommit mode.

        Raises DatabaseUnusable or DatabaseUnreadable if the file is not the same as at the start,
        DatabaseOutdated before an upgrade.
        """
        if getattr(self._local, "connection", None) is None:
            self._local.connection = self._connect()
            with suppress(sqlite3.Error, DatabaseUnusable, DatabaseUnreadable), self._observing:
                self._open_observer()
        connection: sqlite3.Connection = self._local.connection
        # A write has checked it.
        if not connection.in_transaction and time.monotonic() >= self._check_file_at:
            self._require_same_file()
        return connection

    def read_version(self, timeout: float | None = None) -> None:
        """Read the schema's version, and check the owners, again. Raises DatabaseUnreadable."""
        with closing(open_file(self.path, "ro", timeout)) as connection:
            self.version = self.find_version(connection, self.name)

    def list_tables(self, db: Connection) -> set[str]:
        return {row["name"] for row in db.execute("SELECT name FROM sqlite_schema")}

    def data_version(self) -> tuple[int, int] | None:
        """A value that changes with each commit of any thread or process. None if it cannot be read now."""
        try:
            if time.monotonic() >= self._check_file_at:
                self._require_same_file()
            with self._observing:
                observer = self._observer or self._open_observer()
                return self._observers, observer.execute("PRAGMA data_version").fetchone()[0]
        except (OSError, sqlite3.Error, DatabaseUnusable, DatabaseUnreadable):
            return None

    def _open_observer(self) -> sqlite3.Connection:
        """The connection that never writes: its data_version changes with each commit of all others."""
        if self._observer is None:
            # Any thread may close it. It waits for no lock.
            self._observer = self._connect(timeout=0, check_same_thread=False)
            self._observers += 1
            with suppress(FileNotFoundError):
                self._wal_id = self._find_file_id("-wal")
        return self._observer

    def close(self) -> None:
        """Close the calling thread's own connection and the observer. They are opened again on demand."""
        connection, self._local.connection = getattr(self._local, "connection", None), None
        if connection:
            connection.close()
        with self._observing:
            observer, self._observer, self._wal_id = self._observer, None, None
            if observer:
                observer.close()

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One write transaction: committed at the end, durably, or rolled back whole.

        Raises DatabaseBusy or DatabaseUnusable.
        """
        connection = self.connection
        self._require_same_file()
        with explained(), self._write_lock():
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def stream(self, sql: str, parameters: Mapping[str, object]) -> Iterator[dict[str, Any]]:
        """Read any number of rows of one moment, one by one, over a connection of their own."""
        with closing(self._connect()) as connection:
            yield from sqlite_files.wrap(connection).query(sql, {**parameters})

    def size(self) -> int:
        """The size of the file and its -wal, in bytes. Raises DatabaseUnusable."""
        self._require_same_file()
        size = 0
        for name in (self.name, f"{self.name}-wal"):
            with suppress(FileNotFoundError):
                size += os.stat(name).st_size
        return size

    def copy(self, target: Path) -> None:
        """Copy the state of one moment to another file. Writers do not wait meanwhile.

        Raises OSError if the target can't be written.
        """
        self._require_same_file()
        with closing(open_file(self.path, "ro")) as source, writing(target) as copy:
            # Copy in one step: with several, each write of another process would restart the copy.
            source.backup(copy)
            # The copy must be complete without a -wal beside it.
            copy.execute("PRAGMA journal_mode = DELETE")

    @contextmanager
    def contents(self) -> Iterator[sqlite_files.Contents]:
        """Read everything, while no other process can open the file.

        Raises DatabaseInUse while another process has it open, DatabaseUnreadable if it is damaged.
        """
        self.require_current()
        self._require_same_file()
        with closing(self._open_exclusive()) as connection:
            try:
                yield sqlite_files.Contents(self.name, connection)
            except sqlite3.DatabaseError as error:
                raise DatabaseUnreadable(f"{self.path} cannot be read: {error}") from error

    def check(self, copy: Path) -> None:
        """Check another file. Raises DatabaseUnreadable if it is damaged, or not of this service."""
        try:
            with closing(open_file(copy, "ro")) as connection:
                problem = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
                if problem == "ok":
                    self.find_version(connection, str(copy))
        except sqlite3.OperationalError as error:
            raise DatabaseUnreadable(f"{copy} cannot be read: {error}") from error
        except sqlite3.Error as error:
            problem = str(error)
        if problem != "ok":
            reason = " ".join(problem.split())
            raise DatabaseUnreadable(f"{copy} is damaged, or not a database: {reason}")

    def upgrade(self, report: Callable[[str], None] = ignore) -> Path:
        """Upgrade to this version, each step in one transaction. Calls ``report`` with what is next.

        Returns the path of a backup of the old content. Raises DatabaseInUse while another process has the
        file open, OSError if the disk is full: then the step is undone, and the next try continues with it.
        """
        with closing(self._open_exclusive()) as connection:
            backup = self._back_up(connection, report)
            self._take_steps(connection, self.path, report)
        self.read_version()
        return backup

    def _back_up(self, connection: sqlite3.Connection, report: Callable[[str], None]) -> Path:
        """Copy the database to a file beside it."""
        backup = sqlite_files.name_copy(self.path)
        report(f"Back it up to {backup}")
        with writing(backup) as old:
            connection.backup(old)
        return backup

    def _take_steps(
        self, connection: sqlite3.Connection, path: Path, report: Callable[[str], None]
    ) -> None:
        """Upgrade this database or a copy. Raises OSError if the disk is full."""

        def take(db: sqlite3.Connection, step: Step) -> None:
            step.take(db, report)
            self.mark(db, step.version)

        try:
            version = self.find_version(connection, str(path))
            self.schema.upgrade(connection, version, take)
        except sqlite3.OperationalError as error:
            if explain(error) is None:
                raise
            raise OSError(f"the database cannot be written: {error}") from error

    def replace(self, source: Path) -> Path:
        """Take over the content of another file, in one transaction. Returns a backup of the old content.

        If the source is of an earlier version, a copy of it is upgraded. Raises DatabaseInUse while another
        process has the database open, DatabaseUnreadable for a source that check() refuses, OSError if the
        disk is full. Then nothing was changed.
        """
        self.check(source)
        with (
            closing(self._open_exclusive()) as connection,
            TemporaryDirectory(dir=self.path.parent, prefix=".restoring-") as folder,
        ):
            ready = Path(folder) / "copy.db"
            with closing(open_file(source, "ro")) as theirs, writing(ready) as copy:
                theirs.backup(copy)
                self._take_steps(copy, source, ignore)
                properties.mark_epoch(copy)
            backup = self._back_up(connection, ignore)
            try:
                with closing(open_file(ready, "ro")) as new:
                    new.backup(connection)
            except sqlite3.OperationalError as error:
                raise OSError(f"{self.path} cannot be written: {error}") from error
        self.read_version()
        return backup

    def lock_events(self, db: Connection) -> None:
        """Do nothing: no other transaction can write meanwhile."""

    def lock_nfts(self, db: Connection) -> None:
        """Do nothing: no other transaction can write meanwhile."""

    def after_fork(self) -> None:
        """Make a new lock in the child: a thread of the parent may hold the old one."""
        self._observing = threading.Lock()

    def leadership(self, name: str) -> "FileLeadership":
        return FileLeadership(f"{self.path}.{name}")

    def _open_exclusive(self) -> sqlite3.Connection:
        """Open a connection. Until it is closed, no other process can open the database, not even to read."""
        self.close()
        connection = open_file(self.path, "rw", timeout=1, isolation_level=None)
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            connection.close()
            if "locked" in str(error):
                raise DatabaseInUse(f"{self.path} is in use: {error}") from error
            raise OSError(f"{self.path} cannot be written: {error}") from error
        return connection


class FileLeadership:
    """A role that one process of this machine holds at a time, until it ends."""

    def __init__(self, path: str) -> None:
        self._lock = open(path, "w")  # noqa: SIM115

    def take(self) -> bool:
        """Take the role, or keep it. Returns whether this process holds it."""
        with suppress(BlockingIOError):
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False

    def close(self) -> None:
        self._lock.close()


def take_lock(path: str, seconds: float = math.inf) -> int:
    """Take the lock of a file, for release_lock(). One thread of one process holds it, until it ends.

    The file is made if it does not exist. Raises TimeoutError if it stays locked, OSError if it cannot be
    opened.
    """
    until = time.monotonic() + seconds
    file = os.open(path, os.O_RDONLY | os.O_CREAT, 0o666)
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            if time.monotonic() >= until:
                os.close(file)
                raise TimeoutError(f"{path} is locked") from None
            time.sleep(LOCK_PAUSE_SECONDS)


def release_lock(file: int) -> None:
    fcntl.flock(file, fcntl.LOCK_UN)  # a child that was forked meanwhile has the file open, too
    os.close(file)
