"""A database's faults, by the errors of its library."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sqlite_utils.utils import sqlite3

from marketplace.errors import DatabaseBusy, DatabaseUnusable, MarketplaceError, StartRefused

BUSY_TIMEOUT_SECONDS = 5
# SQLite's errors for a full or failing disk, permissions, and a file that was overwritten.
UNUSABLE = re.compile("full|disk I/O|readonly|unable to open|malformed|not a database")

DatabaseError = sqlite3.DatabaseError


class DatabaseUnreadable(StartRefused):
    """A file that is no database, or not one of ours. The message names it, and the way out."""


class DatabaseOutdated(DatabaseUnreadable):
    """A database of an earlier version, to be upgraded."""


class DatabaseInUse(RuntimeError):
    """Another process has the database open."""


class NoFile(RuntimeError):
    """A command that works on a file is run with a database that is none."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} is no file: pg_dump copies it and pg_restore brings it back, and the server's own"
            " archive goes back to any moment. docs/postgresql.md has the commands"
        )


def explain(error: DatabaseError) -> MarketplaceError | None:
    """Tell what is wrong with a database, or its disk; None where the fault is ours."""
    reason = str(error)
    if "locked" in reason:
        return DatabaseBusy()
    return DatabaseUnusable(reason) if UNUSABLE.search(reason) else None


@contextmanager
def explained() -> Iterator[None]:
    """Raise DatabaseBusy or DatabaseUnusable in place of the library's error that they explain."""
    try:
        yield
    except DatabaseError as error:
        if reason := explain(error):
            raise reason from error
        raise
