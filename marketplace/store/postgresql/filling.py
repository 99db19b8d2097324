"""How a PostgreSQL database takes over all that another one holds, row by row, and sees that it has it."""

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any, NamedTuple, Protocol

from psycopg.rows import tuple_row

from marketplace.store.database_errors import DatabaseUnreadable
from marketplace.store.engine import Contents
from marketplace.store.postgresql.servers import Session

Row = tuple[Any, ...]
AT_ONCE = 5_000  # rows of the other side that are held in memory


class Progress(Protocol):
    """Reports progress: begin() names the next step, through() passes rows on and counts them."""

    def begin(self, what: str) -> None: ...

    def through(self, what: str, rows: Iterable[Row], count: int) -> Iterator[Row]: ...


class Table(NamedTuple):
    name: str
    columns: list[str]  # but for those that PostgreSQL generates
    types: list[str]
    key: list[str]

    def identify(self, row: Row) -> str:
        """Tell which row it is, for a sentence."""
        return " ".join([self.name, *(str(row[self.columns.index(name)]) for name in self.key)])


def fill(
    session: Session, name: str, tables: list[str], source: Contents, progress: Progress
) -> list[str]:
    """Copy these tables, in the transaction that is open, and compare all of it; ``name`` is for sentences.

    Each table comes after those that it refers to. Returns the rows that had to be altered: PostgreSQL holds
    no text with a NUL in it. Raises DatabaseUnreadable for a database that is not empty, or that would then
    hold something else than the source.
    """
    _require_empty(session, name, tables)
    # Rows that are copied into a table of this transaction are frozen, and index-only scans see them at once.
    session.execute(f"TRUNCATE {', '.join(tables)}")
    described = [_describe(session, table) for table in tables]
    altered: list[str] = []
    for table in described:
        altered += _copy(session, table, source, progress)
    progress.begin("Gather statistics")
    session.execute(f"ANALYZE {', '.join(tables)}")
    for table in described:
        _compare(session, name, table, source, progress)
    return altered


def _require_empty(session: Session, name: str, tables: list[str]) -> None:
    for table in tables:
        # A start of the service says whose the database is, and no more.
        if table != "property" and session.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone():
            raise DatabaseUnreadable(
                f"{name} is not empty: there are rows in its table {table}. Name an empty database"
            )


def _describe(session: Session, table: str) -> Table:
    sql = """
        SELECT attname AS name, format_type(atttypid, NULL) AS type, attnum = ANY(indkey) AS is_key
        FROM pg_attribute JOIN pg_index ON indrelid = attrelid AND indisprimary
        WHERE attrelid = to_regclass(:table)
          AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
        ORDER BY attnum
    """
    rows = session.execute(sql, {"table": table}).fetchall()
    return Table(
        table,
        [row["name"] for row in rows],
        [row["type"] for row in rows],
        [row["name"] for row in rows if row["is_key"]],
    )


def _copy(session: Session, table: Table, source: Contents, progress: Progress) -> Iterator[str]:
    count = source.count(table.name)
    rows = source.rows(table.name, table.columns, table.key)
    sql = f"COPY {table.name} ({', '.join(table.columns)}) FROM STDIN (FORMAT BINARY, FREEZE)"
    with session.cursor() as cursor, cursor.copy(sql) as copy:
        copy.set_types(table.types)
        for row in progress.through(f"Copy {table.name}: {count:,}", rows, count):
            if any("\0" in value for value in row if value.__class__ is str):
                copy.write_row(_without_nuls(row))
                yield table.identify(row)
            else:
                copy.write_row(row)


def _without_nuls(row: Row) -> Row:
    """A row as PostgreSQL can hold it. What is added today has no NULs: earlier versions let them in."""
    return tuple(value.replace("\0", "") if isinstance(value, str) else value for value in row)


def _compare(
    session: Session, name: str, table: Table, source: Contents, progress: Progress
) -> None:
    """Read it again on both sides. Raises DatabaseUnreadable where one row, or one value, is another."""
    columns, order = ", ".join(table.columns), ", ".join(table.key)
    count = source.count(table.name)
    ours = source.rows(table.name, table.columns, table.key)
    with session.cursor("compared", binary=True, row_factory=tuple_row) as theirs:
        theirs.itersize = AT_ONCE
        theirs.execute(f"SELECT {columns} FROM {table.name} ORDER BY {order}")
        what = f"Compare {table.name}: {count:,}"
        compared = 0
        for row, copy in progress.through(what, zip_longest(ours, theirs), count):
            if row != copy and (row is None or _without_nuls(row) != copy):
                raise DatabaseUnreadable(
                    f"{name} made something else of {table.identify(row or copy)}: see to its triggers"
                    " and rules"
                )
            compared += 1
    if compared != count:
        raise DatabaseUnreadable(
            f"{source.name} is damaged: its table {table.name} has {count:,} rows, of which {compared:,}"
            " can be read"
        )
