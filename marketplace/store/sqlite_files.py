"""SQLite files that are looked at, checked, copied or upgraded from outside, one connection at a time."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlite_utils.utils import sqlite3

from marketplace.store import database_errors
from marketplace.store.database_errors import DatabaseUnreadable, explain
from marketplace.store.engine import find_version, mark
from marketplace.store.schema import Schema


def read_version(
    connection: sqlite3.Connection, path: Path, schema: Schema, owners: Mapping[str, str]
) -> int:
    """Find the version of the database of a path. ``owners``: whose index it is to be, by property.

    Raises DatabaseUnreadable for one of another kind, of a newer version, or of another network or account;
    sqlite3.DatabaseError for what is no database.
    """
    tables = _tables(connection)
    return find_version(connection, str(path), tables, schema, owners, schema.unnumbered)


def is_empty(path: Path) -> bool:
    """Tell whether a file that is there holds nothing yet."""
    with closing(open_file(path, "ro")) as connection:
        return not _tables(connection)


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT name FROM sqlite_schema")}


def check(path: Path, schema: Schema, owners: Mapping[str, str]) -> None:
    """Look at a database that must be sound, too. Raises DatabaseUnreadable for any other file."""
    try:
        with closing(open_file(path, "ro")) as connection:
            problem = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if problem == "ok":
                read_version(connection, path, schema, owners)
    except sqlite3.OperationalError as error:
        raise DatabaseUnreadable(f"{path} can not be read: {error}") from error
    except sqlite3.Error as error:
        problem = str(error)
    if problem != "ok":
        reason = " ".join(problem.split())
        raise DatabaseUnreadable(f"{path} is damaged, or no database: {reason}")


def upgrade(
    connection: sqlite3.Connection,
    path: Path,
    schema: Schema,
    owners: Mapping[str, str],
    report: Callable[[str], None] = lambda what: None,
) -> None:
    """Bring the database of a path up, each step in one transaction; ``report`` is called with what is next.

    Raises OSError where there is no room: then the step is undone.
    """
    for step in schema.steps_from(read_version(connection, path, schema, owners)):
        try:
            connection.execute("BEGIN EXCLUSIVE")
            step.take(connection, report)
            mark(connection, step.version, owners)
            connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if explain(error) is None:
                raise
            raise OSError(f"the database can not be written: {error}") from error
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


class Contents:
    """The contents of a file, read over a connection beside which nobody writes."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.name = str(path)
        self._connection = connection

    def count(self, table: str) -> int:
        [(count,)] = self._execute(f"SELECT COUNT(*) FROM {table}")
        return int(count)

    def rows(self, table: str, columns: list[str]) -> Iterator[tuple[Any, ...]]:
        return self._execute(f"SELECT {', '.join(columns)} FROM {table}")

    def _execute(self, sql: str) -> Iterator[tuple[Any, ...]]:
        """Raises DatabaseUnreadable where the file is damaged."""
        cursor = self._connection.cursor()
        cursor.row_factory = None
        try:
            for row in cursor.execute(sql):  # noqa: UP028 - a cursor that is left is not closed by us
                yield row
        except sqlite3.DatabaseError as error:
            raise DatabaseUnreadable(f"{self.name} can not be read: {error}") from error


def open_file(
    path: Path, mode: str, timeout: float | None = None, **options: Any
) -> sqlite3.Connection:
    """Open a file to read (ro), to write (rw), or to make it where there is none (rwc)."""
    seconds = database_errors.BUSY_TIMEOUT_SECONDS if timeout is None else timeout
    address = f"{path.absolute().as_uri()}?mode={mode}"
    connection: sqlite3.Connection = sqlite3.connect(address, uri=True, timeout=seconds, **options)
    connection.row_factory = sqlite3.Row
    return connection


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """Write a file of one's own; none is left where that fails."""
    path.touch(mode=0o600)  # for its owner only: it holds access tokens' hashes
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.row_factory = sqlite3.Row
            yield connection
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, sqlite3.OperationalError):
            raise OSError(f"{path} can not be written: {error}") from error
        raise
