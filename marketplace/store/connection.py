"""A connection of either engine: what runs statements, and the errors of the database behind it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from sqlite_utils.utils import sqlite3

from marketplace.errors import DatabaseBusy, DatabaseUnusable, MarketplaceError, StartRefused

# SQLite's messages for a full or failing disk, missing permissions, and an overwritten file.
UNUSABLE = re.compile("full|disk I/O|readonly|unable to open|malformed|not a database")

DatabaseError = sqlite3.DatabaseError


class Rows(Protocol):
    """The result of a statement. Each row can be read once."""

    @property
    def rowcount(self) -> int: ...

    def __iter__(self) -> Iterator[Any]: ...

    def fetchone(self) -> Any | None: ...

    def fetchall(self) -> list[Any]: ...


class Connection(Protocol):
    """A connection of either engine."""

    def execute(self, sql: str, parameters: Mapping[str, object] = ..., /) -> Rows: ...


NOTHING: Mapping[str, object] = {}


def only(db: Connection, sql: str, parameters: Mapping[str, object] = NOTHING) -> Any:
    """Run a statement that always returns one row, and return this row."""
    [row] = db.execute(sql, parameters).fetchall()
    return row


def count(db: Connection, sql: str, parameters: Mapping[str, object] = NOTHING) -> int:
    """Run a statement that counts, and return its column ``n``."""
    return int(only(db, sql, parameters)["n"])


def merge(parts: Sequence[str], order: str) -> str:
    """Join statements that each return rows in this order to one that returns the first ``:limit`` rows."""
    if len(parts) == 1:
        return parts[0]
    union = " UNION ALL ".join(f"SELECT * FROM ({part}) AS part" for part in parts)
    return f"{union} ORDER BY {order} LIMIT :limit + 0"


class DatabaseUnreadable(StartRefused):
    """The database cannot be used by this service. The message names it, and says what to do."""


class DatabaseOutdated(DatabaseUnreadable):
    """The database is of an earlier version, and must be upgraded."""


class DatabaseMissing(DatabaseUnreadable):
    """A command found no database at the configured place."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no database here: {name}. Set MARKETPLACE_DATA_DIR or MARKETPLACE_DATABASE_URL to the"
            " service's. The service's first start creates a database; restore brings back a backup"
        )


class DatabaseInUse(RuntimeError):
    """Another process has the database open."""


class NoFile(RuntimeError):
    """``flask move`` was run with a PostgreSQL database."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not an SQLite file: it is on PostgreSQL already")


def explain(error: DatabaseError) -> MarketplaceError | None:
    """The error that a client receives for a problem of the database or its disk. None: a bug."""
    reason = str(error)
    if "locked" in reason:
        return DatabaseBusy()
    return DatabaseUnusable(reason) if UNUSABLE.search(reason) else None


@contextmanager
def explained() -> Iterator[None]:
    """Replace errors of the library by DatabaseBusy or DatabaseUnusable, if explain() knows them."""
    try:
        yield
    except DatabaseError as error:
        if reason := explain(error):
            raise reason from error
        raise
