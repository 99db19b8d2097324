"""Copies all rows of an SQLite file into a PostgreSQL database, or out of it into a file, and counts them."""

from collections.abc import Callable, Iterable
from typing import Any

from psycopg import Connection as Session
from psycopg.rows import DictRow, tuple_row

from marketplace.store.connection import Connection, DatabaseUnreadable, count
from marketplace.store.schema import Schema
from marketplace.store.sqlite_files import Contents

ROWS_AT_ONCE = 2000


def fill(
    session: Session[DictRow],
    name: str,
    tables: list[str],
    source: Contents,
    report: Callable[[str], None],
) -> None:
    """Copy these tables in the open transaction. Each table comes after the tables that it refers to.

    ``name`` is the database's name in messages. Calls ``report`` before each step. Removes NULs from texts,
    which PostgreSQL cannot store. Raises DatabaseUnreadable if a row is missing after the copy.
    """
    # After a TRUNCATE in this transaction, COPY can freeze rows: VACUUM has little to do then.
    session.execute(f"TRUNCATE {', '.join(tables)}")
    for table in tables:
        report(f"Copy {table}: {_count(source.connection, table):,}")
        _copy(session, table, source)
        _require_all(session, name, table, source)


def require_empty(session: Session[DictRow], name: str, tables: list[str]) -> None:
    """Raise DatabaseUnreadable if there are rows."""
    for table in tables:
        # A start of the service writes only properties.
        if table != "property" and session.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone():
            raise DatabaseUnreadable(
                f"{name} is not empty: there are rows in its table {table}. Name an empty database"
            )


def _copy(session: Session[DictRow], table: str, source: Contents) -> None:
    # All columns except those that PostgreSQL generates.
    sql = """
        SELECT attname FROM pg_attribute
        WHERE attrelid = to_regclass(:table)
          AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
        ORDER BY attnum
    """
    columns = [row["attname"] for row in session.execute(sql, {"table": table})]
    sql = f"COPY {table} ({', '.join(columns)}) FROM STDIN (FREEZE)"
    with session.cursor() as cursor, cursor.copy(sql) as copy:
        for row in source.rows(table, columns):
            copy.write_row(_without_nuls(row.values()))


def _without_nuls(row: Iterable[object]) -> tuple[object, ...]:
    """Remove NULs, which PostgreSQL cannot store, from a row. Only earlier versions stored them."""
    return tuple(value.replace("\0", "") if isinstance(value, str) else value for value in row)


def _require_all(session: Session[DictRow], name: str, table: str, source: Contents) -> None:
    """Raise DatabaseUnreadable if rows are missing."""
    expected, taken = _count(source.connection, table), _count(session, table)
    if taken != expected:
        raise DatabaseUnreadable(
            f"{name} took {taken:,} of {expected:,} rows of {table}: either {source.name} is damaged, or"
            f" {name} has triggers or rules"
        )


def drain(session: Session[DictRow], schema: Schema, file: Any) -> None:
    """Copy all rows, as they are at one moment, into a new SQLite file of this version."""
    file.executescript(f"BEGIN; {schema.sql}")
    with session.transaction():
        session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        for table in schema.in_order:
            _drain(session, table, file)
    # Of a server. A restore makes a new epoch.
    file.execute("DELETE FROM property WHERE name = 'events_home'")
    schema.record(file, schema.version)
    file.execute("COMMIT")


def _drain(session: Session[DictRow], table: str, file: Any) -> None:
    # All columns except those that SQLite generates, which it hides.
    rows = file.execute(f"PRAGMA table_xinfo({table})")
    columns = [row["name"] for row in rows if not row["hidden"]]
    places = ", ".join("?" * len(columns))
    with session.cursor(name="all", row_factory=tuple_row) as cursor:
        cursor.itersize = ROWS_AT_ONCE
        cursor.execute(f"SELECT {', '.join(columns)} FROM {table}")
        sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})"
        file.executemany(sql, cursor)


def _count(db: Connection, table: str) -> int:
    return count(db, f"SELECT COUNT(*) AS n FROM {table}")
