"""How a PostgreSQL database takes over all that another one holds, and counts that it has it."""

from collections.abc import Callable, Iterable

from marketplace.store.database_errors import DatabaseUnreadable
from marketplace.store.postgresql.servers import Session
from marketplace.store.rows import Connection, count
from marketplace.store.sqlite_files import Contents


def fill(
    session: Session,
    name: str,
    tables: list[str],
    source: Contents,
    report: Callable[[str], None],
) -> None:
    """Copy these tables, in the transaction that is open.

    ``name`` is for sentences; ``report`` is called with what is next. Each table comes after those that it
    refers to. PostgreSQL holds no text with a NUL in it: NULs are left out. Raises
    DatabaseUnreadable for a database that is not empty, or that would then lack a row.
    """
    _require_empty(session, name, tables)
    # Rows that are copied into a table of this transaction are frozen, and index-only scans see them at once.
    session.execute(f"TRUNCATE {', '.join(tables)}")
    for table in tables:
        report(f"Copy {table}: {_count(source.connection, table):,}")
        _copy(session, table, source)
        _require_all(session, name, table, source)
    report("Gather statistics")
    session.execute(f"ANALYZE {', '.join(tables)}")


def _require_empty(session: Session, name: str, tables: list[str]) -> None:
    for table in tables:
        # A start of the service says whose the database is, and no more.
        if table != "property" and session.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone():
            raise DatabaseUnreadable(
                f"{name} is not empty: there are rows in its table {table}. Name an empty database"
            )


def _copy(session: Session, table: str, source: Contents) -> None:
    # All columns but for those that PostgreSQL generates.
    sql = """
        SELECT attname FROM pg_attribute
        WHERE attrelid = to_regclass(:table)
          AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
        ORDER BY attnum
    """
    columns = [row["attname"] for row in session.execute(sql, {"table": table})]
    sql = f"COPY {table} ({', '.join(columns)}) FROM STDIN (FREEZE)"
    with session.cursor() as cursor, cursor.copy(sql) as copy:
        for row in source.connection.execute(f"SELECT {', '.join(columns)} FROM {table}"):
            copy.write_row(_without_nuls(row))


def _without_nuls(row: Iterable[object]) -> tuple[object, ...]:
    """A row as PostgreSQL can hold it. Earlier versions stored NULs; this one does not."""
    return tuple(value.replace("\0", "") if isinstance(value, str) else value for value in row)


def _require_all(session: Session, name: str, table: str, source: Contents) -> None:
    """Raise DatabaseUnreadable where rows are missing."""
    expected, taken = _count(source.connection, table), _count(session, table)
    if taken != expected:
        raise DatabaseUnreadable(
            f"{name} took {taken:,} of {expected:,} rows of {table}: either {source.name} is damaged, or"
            f" {name} has triggers or rules"
        )


def _count(db: Connection, table: str) -> int:
    return count(db, f"SELECT COUNT(*) AS n FROM {table}")
