"""SQLite files that are looked at, checked, copied or upgraded from outside, one connection at a time."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlite_utils.utils import sqlite3

from marketplace.store import queries
from marketplace.store.faults import DatabaseUnreadable, explain
from marketplace.store.schema import Schema, VersionUnknown, mark_version

OWNERS = ("network", "account_id")  # properties: whose index a database is


def check_kind(path: Path, schema: Schema) -> int:
    """Return the version of a database's schema.

    Raises DatabaseUnreadable unless it is of this kind, and not of a newer version; sqlite3.DatabaseError
    for what is no database.
    """
    if not schema.is_of(tables_of(path)):
        raise DatabaseUnreadable(f"{path} is not a database of this service: name another file")
    try:
        with closing(open_to_read(path)) as connection:
            version = schema.find_version(connection)
    except VersionUnknown as error:
        raise DatabaseUnreadable(f"{path} can not be used: {error}. Restore a backup") from error
    if version > schema.version:
        raise DatabaseUnreadable(
            f"{path} is of a newer version (its schema is {version}, this version's is"
            f" {schema.version}): install that version, or name another file"
        )
    return version


def check(path: Path, schema: Schema) -> int:
    """Return the version of a sound database. Raises DatabaseUnreadable for any other file."""
    try:
        with closing(open_to_read(path)) as connection:
            problem = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        problem = str(error)
    if problem != "ok":
        reason = " ".join(problem.split())
        raise DatabaseUnreadable(f"{path} is damaged, or no database: {reason}")
    return check_kind(path, schema)


def tables_of(path: Path) -> set[str]:
    with closing(open_to_read(path)) as connection:
        return {row[0] for row in connection.execute("SELECT name FROM sqlite_schema")}


def owners_of(path: Path) -> dict[str, str]:
    """Whose index a database is, as far as it says so: versions before 0.1.0 did not."""
    if "property" not in tables_of(path):
        return {}
    with closing(open_to_read(path)) as connection:
        rows = [queries.get_property(connection, name) for name in OWNERS]
    return {row[0]: row[1].decode() for row in rows if row}


def upgrade(connection: sqlite3.Connection, schema: Schema, version: int) -> Iterator[str]:
    for step in schema.steps_from(version):
        try:
            connection.execute("BEGIN EXCLUSIVE")
            said = None
            for what, statement in step.statements:
                if what != said:
                    yield what
                said = what
                connection.execute(statement)
            mark_version(connection, step.version)
            connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if explain(error) is None:
                raise
            raise OSError(f"the database can not be written: {error}") from error
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def upgraded_copy(source: Path, target: Path, schema: Schema, version: int) -> Path:
    with closing(open_to_read(source)) as old, writing(target) as copy:
        old.backup(copy)
        for _ in upgrade(copy, schema, version):
            pass
    return target


def open_to_read(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    path.touch(mode=0o600)  # for its owner only: it holds access tokens' hashes
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            yield connection
    except sqlite3.OperationalError as error:
        raise OSError(f"{path} can not be written: {error}") from error
