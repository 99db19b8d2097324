"""What both database engines share, SQLite and PostgreSQL."""

import os
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from marketplace.command_line import command
from marketplace.store import properties
from marketplace.store.connection import Connection, DatabaseOutdated, DatabaseUnreadable
from marketplace.store.schema import PROPERTY, VERSION, Schema


def ignore(what: str) -> None:
    """Report nothing."""


class Leadership(Protocol):
    """A role that one process holds at a time, until it ends."""

    def take(self) -> bool:
        """Take the role, or keep it. Returns whether this process holds it."""

    def close(self) -> None: ...


class Engine(ABC):
    """One database, used by all threads of a process. Callers use only what is named here."""

    is_shared = False  # whether several machines can use it
    # SQL for the epoch of the feed of events, which changes if the database goes back in time.
    epoch = "(SELECT CAST(value AS TEXT) FROM property WHERE name = 'events_epoch')"

    def __init__(self, name: str, schema: Schema, owners: Mapping[str, str] | None) -> None:
        """``owners``: the network and the account to which the database belongs."""
        self.name = name  # for messages: without a password
        self.schema = schema
        self._owners = owners or {}
        self.version: int  # of the database's schema

    @property
    def is_outdated(self) -> bool:
        return self.version < self.schema.version

    def require_current(self) -> None:
        """Raise DatabaseOutdated if the database is of an earlier version."""
        if self.is_outdated:
            raise DatabaseOutdated(
                f"{self.name} is of an earlier version (its schema is {self.version}, this"
                f" version's is {self.schema.version}): stop the service and the watcher, and run"
                f" {command('upgrade')}"
            )

    @abstractmethod
    def read_version(self) -> None:
        """Read the schema's version, and check the owners, again. Raises DatabaseUnreadable."""

    @abstractmethod
    def startup_lock(self) -> AbstractContextManager[object]:
        """Hold a lock for any time, so that processes that start at the same time take turns."""

    @abstractmethod
    def upgrade(self, report: Callable[[str], None] = ignore) -> Path | None:
        """Upgrade to this version. Returns the path of a backup, if the engine makes one."""

    @property
    @abstractmethod
    def connection(self) -> Connection:
        """The calling thread's connection, in autocommit mode."""

    @abstractmethod
    def write(self) -> AbstractContextManager[Connection]:
        """One write transaction: committed at the end, durably, or rolled back whole."""

    @abstractmethod
    def stream(self, sql: str, parameters: Mapping[str, object]) -> Iterator[dict[str, Any]]:
        """Read one moment's rows one by one, over a separate connection. Number and time have no limit."""

    @abstractmethod
    def data_version(self) -> object | None:
        """A value that changes with each commit of any process. None if it cannot be read now."""

    @abstractmethod
    def lock_events(self, db: Connection) -> None:
        """Keep others from writing events until this transaction is visible, so that none gets a lower id."""

    @abstractmethod
    def lock_nfts(self, db: Connection) -> None:
        """Wait for all transactions that write NFTs, and block new ones until this one ends."""

    @abstractmethod
    def size(self) -> int:
        """The size of the database in bytes."""

    @abstractmethod
    def copy(self, target: Path) -> None:
        """Copy the state of one moment to an SQLite file. Writers do not wait meanwhile."""

    @abstractmethod
    def leadership(self, name: str) -> Leadership: ...

    @abstractmethod
    def close(self) -> None:
        """Close the calling thread's connections. They are opened again on demand."""

    @abstractmethod
    def after_fork(self) -> None:
        """Make a child's engine independent of its parent's."""

    @abstractmethod
    def list_tables(self, db: Connection) -> set[str]:
        """The names of a database's tables."""

    def mark(self, db: Connection, version: int) -> None:
        """Store the schema's version and the owners, in the transaction that made or upgraded the tables."""
        properties.mark_property(db, PROPERTY, str(version).encode())
        for name, value in self._owners.items():
            properties.insert_property(db, name, value.encode())
        properties.insert_epoch(db)

    def find_version(self, db: Connection, name: str) -> int:
        """Find the schema's version of this database or a copy, and check its owners.

        Raises DatabaseUnreadable for another program's database, for a version that is newer or too old, or
        for another network or account.
        """
        tables = self.list_tables(db)
        if not tables >= self.schema.tables:
            raise DatabaseUnreadable(
                f"{name} is not a database of this service: name another database"
            )
        asked = [PROPERTY, *self._owners] if "property" in tables else []
        stored = {name: value for name in asked if (value := properties.get_property(db, name))}
        number = stored.pop(PROPERTY, None)
        if number is None:
            raise _too_old(name)
        if not VERSION.fullmatch(number):
            raise DatabaseUnreadable(
                f"{name} cannot be used: the version of its schema is {number!r}, which is not a number."
                " Restore a backup"
            )
        version = int(number)
        if version < self.schema.oldest:
            raise _too_old(name)
        if version > self.schema.version:
            raise DatabaseUnreadable(
                f"{name} is of a newer version (its schema is {version}, this version's is"
                f" {self.schema.version}): install that version, or name another database"
            )
        for owner, value in stored.items():
            if value.decode() != self._owners[owner]:
                raise DatabaseUnreadable(
                    f"{name} belongs to {value.decode()}, but MARKETPLACE_{owner.upper()} is"
                    f" {self._owners[owner]}: correct that, or name another database. A new one that holds"
                    " nothing yet may be deleted"
                )
        return version


def _too_old(name: str) -> DatabaseUnreadable:
    return DatabaseUnreadable(
        f"{name} is of a version before 0.4.0 and can't be upgraded: name a new database, and read the"
        f" collections from the ledger with {command('rebuild TOKEN_ID ...')}"
    )


_engines: "weakref.WeakSet[Engine]" = weakref.WeakSet()


def close_at_fork(engine: Engine) -> None:
    """Close the forking thread's connections to this engine before each fork: a child must not use them."""
    _engines.add(engine)


def _before_fork() -> None:
    for engine in list(_engines):
        engine.close()


def _after_fork() -> None:
    for engine in list(_engines):
        engine.after_fork()


os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
