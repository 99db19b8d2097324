"""The errors of a database, and what they mean for a client or the operator."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sqlite_utils.utils import sqlite3

from marketplace.errors import DatabaseBusy, DatabaseUnusable, MarketplaceError, StartRefused

BUSY_TIMEOUT_SECONDS = 5
# SQLite's messages for a full or failing disk, missing permissions, and an overwritten file.
UNUSABLE = re.compile("full|disk I/O|readonly|unable to open|malformed|not a database")

DatabaseError = sqlite3.DatabaseError


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
