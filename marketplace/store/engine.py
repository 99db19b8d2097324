"""The base of the engines: the methods that callers use, and those that are the same for all engines."""

import os
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from marketplace.errors import command
from marketplace.store import events, properties
from marketplace.store.database_errors import DatabaseOutdated, DatabaseUnreadable
from marketplace.store.rows import Connection
from marketplace.store.schema import PROPERTY, VERSION, Schema

_engines: "weakref.WeakSet[Engine]" = weakref.WeakSet()


class Leadership(Protocol):
    """A role that one process has at a time."""

    def take(self) -> bool:
        """Have it, from now on or still."""

    def close(self) -> None: ...


class Engine(ABC):
    """One database, read and written by all threads of a process."""

    name: str  # for sentences: without a password
    is_shared = False  # by several machines
    # SQL: the epoch of the feed of events. Another one where the database goes back in time.
    epoch = "(SELECT CAST(value AS TEXT) FROM property WHERE name = 'events_epoch')"

    def __init__(self, name: str, schema: Schema, owners: Mapping[str, str] | None) -> None:
        """``owners`` says whose index it is: network and account."""
        self.name = name
        self.schema = schema
        self._owners = owners or {}
        self.version: int  # of the schema that the database has

    @property
    @abstractmethod
    def connection(self) -> Connection:
        """The calling thread's own connection, for reads."""

    @abstractmethod
    def write(self) -> AbstractContextManager[Connection]:
        """One write transaction: committed at the end, durably, or rolled back whole."""

    @abstractmethod
    def data_version(self) -> Hashable | None:
        """Another value after each commit, by whatever process; None while it can not be read."""

    @abstractmethod
    def close(self) -> None:
        """Close the calling thread's own connection; it is opened again when it is needed."""

    @abstractmethod
    def size(self) -> int:
        """How many bytes it takes."""

    @abstractmethod
    def startup_lock(self) -> AbstractContextManager[object]:
        """Hold a lock: processes that start at once take turns, however long one takes."""

    @abstractmethod
    def read_version(self) -> None:
        """Read again of which version it is, and whose. Raises DatabaseUnreadable."""

    @abstractmethod
    def upgrade(self, report: Callable[[str], None] = ...) -> Path | None:
        """Bring it up to this version. Returns the file that holds what an SQLite file held before."""

    @abstractmethod
    def leadership(self, name: str) -> Leadership: ...

    @abstractmethod
    def insert_events(self, rows: Iterable[Mapping[str, object]]) -> None:
        """Insert events, at the end of the calling thread's transaction.

        No other transaction draws an event's id until this one has become visible.
        """

    @abstractmethod
    def after_fork(self) -> None:
        """In the child: no other thread of it holds a lock."""

    @property
    def is_outdated(self) -> bool:
        return self.version < self.schema.version

    def require_current(self) -> None:
        """Raise DatabaseOutdated where the database is of an earlier version."""
        if self.is_outdated:
            raise DatabaseOutdated(
                f"{self.name} is of an earlier version (its schema is {self.version}, this"
                f" version's is {self.schema.version}): stop the service and the watcher, and run"
                f" {command('upgrade')}"
            )


def mark(db: Connection, version: int, owners: Mapping[str, str]) -> None:
    """Write down of which version a database is, and whose, in the transaction that made it so."""
    properties.mark_property(db, PROPERTY, str(version).encode())
    for name, value in owners.items():
        properties.insert_property(db, name, value.encode())
    events.insert_epoch(db)


def find_version(
    db: Connection,
    name: str,
    tables: set[str],
    schema: Schema,
    owners: Mapping[str, str],
    unnumbered: bytes | None = None,
) -> int:
    """Find of which version a database is, and see whose. ``owners``: whose index it is to be, by property;
    ``unnumbered``: the version of one that does not say it.

    Raises DatabaseUnreadable for one of another kind, of a newer version, or of another network or account.
    """
    if not tables >= schema.tables:
        raise DatabaseUnreadable(f"{name} is not a database of this service: name another database")
    asked = [PROPERTY, *owners] if "property" in tables else []
    rows = [row for each in asked if (row := properties.get_property(db, each))]
    stored = {row["name"]: row["value"] for row in rows}
    told = stored.pop(PROPERTY, unnumbered)
    if told is None or not VERSION.fullmatch(told):
        raise DatabaseUnreadable(
            f"{name} can not be used: the version of its schema is {told!r}, which is no number."
            " Restore a backup"
        )
    version = int(told)
    if version > schema.version:
        raise DatabaseUnreadable(
            f"{name} is of a newer version (its schema is {version}, this version's is"
            f" {schema.version}): install that version, or name another database"
        )
    for owner, value in stored.items():
        if value.decode() != owners[owner]:
            raise DatabaseUnreadable(
                f"{name} is an index of {value.decode()}, and MARKETPLACE_{owner.upper()} is"
                f" {owners[owner]}: name another database"
            )
    return version


def close_at_fork(engine: Engine) -> None:
    """Close the forking thread's connections before each fork: a child must use none of its parent's."""
    _engines.add(engine)


def _before_fork() -> None:
    for engine in list(_engines):
        engine.close()


def _after_fork() -> None:
    for engine in list(_engines):
        engine.after_fork()


os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
