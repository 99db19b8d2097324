"""Values computed from rows, revalidated when the database changes.

Each value keeps its source rows, and the data version that was read before them. While the version stays the
same, the value is valid. When the version has changed, the rows are read again. If they are unchanged, the
value is still valid, and gets the new version.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from sys import getsizeof
from typing import Any, NamedTuple

from cachetools import FIFOCache

from marketplace.hedera import times
from marketplace.store.engine import Engine

OVERHEAD_BYTES = 2000  # of an entry: a generous estimate


class CachedQuery(NamedTuple):
    """A query function of store/, its arguments, and the row that it returned."""

    query: Callable[..., Any]
    arguments: tuple[object, ...]
    row: Any

    def is_unchanged(self, db: Any) -> bool:
        return bool(self.query(db, *self.arguments) == self.row)

    @property
    def size(self) -> int:
        """A generous estimate in bytes, with the names of the columns."""
        values = self.row.values() if isinstance(self.row, dict) else self.row or ()
        return 4000 + sum(map(getsizeof, values))


@dataclass(slots=True)
class _Entry:
    value: Any
    data_version: object
    queries: Sequence[CachedQuery]  # none: it is true only for its version
    until: int | None  # Unix time in nanoseconds
    size: int

    def is_true(self, data_version: object, database: Engine) -> bool:
        """Whether the value is valid for the database's current data version."""
        if self.until is not None and self.until <= times.now():
            return False
        if self.data_version == data_version:
            return True
        if not self.queries:
            return False
        db = database.connection
        if not all(query.is_unchanged(db) for query in self.queries):
            return False
        # Several threads may write their versions here. Each version is correct.
        self.data_version = data_version
        return True


class VersionedCache:
    """The cache of a process. When it is full, the oldest entries go first."""

    def __init__(self, database: Engine, max_bytes: int) -> None:
        self._database = database
        self._entries: FIFOCache[Hashable, _Entry] = FIFOCache(max_bytes, lambda entry: entry.size)
        self._storing = threading.Lock()

    def find(self, key: Hashable, data_version: object) -> Any:
        """Find a value that is valid for the database's current data version, or None.

        While the data version cannot be read (None), nothing is found or stored.
        """
        try:
            entry = self._entries[key]
        except KeyError:
            return None
        if data_version is None:
            return None
        try:
            return entry.value if entry.is_true(data_version, self._database) else None
        except Exception:
            return None  # computing the value again meets the same error, and reports it

    def store(
        self,
        key: Sequence[str],
        value: Any,
        data_version: object,
        queries: Sequence[CachedQuery],
        until: int | None = None,
        size: int = 0,
    ) -> None:
        """Store a value of ``size`` bytes. ``data_version`` was read before the rows of ``queries``."""
        if data_version is None:
            return
        size += sum(map(len, key)) + sum(query.size for query in queries) + OVERHEAD_BYTES
        with self._storing:
            if size <= self._entries.maxsize:
                self._entries[key] = _Entry(value, data_version, queries, until, size)
