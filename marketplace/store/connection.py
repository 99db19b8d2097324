"""A connection that runs statements, of either engine, and what every table's statements need."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol


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
