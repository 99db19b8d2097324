"""Storage of rate limits: all processes of a machine count in one SQLite file.

``limits`` has no such storage: its in-memory one counts for one process.
"""

import os
import time
from functools import lru_cache
from pathlib import Path
from threading import get_ident
from typing import Any

from limits.storage import Storage
from sqlite_utils.utils import sqlite3

from marketplace.errors import StartRefused

# Of twenty clients that wrote at once to a busy machine, some waited more than 0.3 s.
TIMEOUT_SECONDS = 1

# ends_at: when the window ends, in Unix time. No write waits for the disk: a damaged file is made again.
_OPEN = """
    PRAGMA journal_mode = MEMORY;
    PRAGMA synchronous = OFF;
    BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS rate_limit (key TEXT PRIMARY KEY, ends_at REAL, count INTEGER);
    CREATE INDEX IF NOT EXISTS rate_limit_by_end ON rate_limit (ends_at);
    COMMIT;
"""
# What is over; and a window that ends too far ahead, which is of a clock that was set back.
# SQLite reads the clock under the lock: no other thread has begun a window after this moment.
_DELETE = """
    DELETE FROM rate_limit
    WHERE ends_at <= unixepoch('subsec') OR key = :key AND ends_at > unixepoch('subsec') + :expiry
"""
_COUNT = """
    INSERT INTO rate_limit (key, ends_at, count)
    VALUES (:key, unixepoch('subsec') + :expiry, :amount)
    ON CONFLICT (key) DO UPDATE SET count = count + :amount
    RETURNING count
"""
_FIND = "SELECT count, ends_at FROM rate_limit WHERE key = :key AND ends_at > :now"


class RateLimitFile(Storage):
    """A file that is made again where it was removed."""

    base_exceptions = (OSError, sqlite3.Error)

    def __init__(self, path: Path) -> None:
        """Raises StartRefused for a file that can not be written, or is another one."""
        super().__init__()
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.check()
        except (OSError, sqlite3.OperationalError) as error:
            raise StartRefused(f"{path} can not be written: {error}") from error
        except sqlite3.DatabaseError as error:
            raise StartRefused(f"{path} is a file of something else: remove it") from error

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Count, and return how often it happened in this window, which lasts ``expiry`` seconds.

        Raises OSError or sqlite3.Error where the file can not be written, or stays locked: it is not
        counted then.
        """
        try:
            self._execute(_DELETE, key=key, expiry=expiry)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            # The file is damaged.
            self._path.unlink(missing_ok=True)
        [(count,)] = self._execute(_COUNT, key=key, expiry=expiry, amount=amount)
        return int(count)

    def get(self, key: str) -> int:
        return self._find(key)[0]

    def get_expiry(self, key: str) -> float:
        """When the window ends, in Unix time; now, where nothing happened in one."""
        return self._find(key)[1]

    def check(self) -> bool:
        return not self.get("")

    def reset(self) -> None:
        self._execute("DELETE FROM rate_limit")

    def clear(self, key: str) -> None:
        self._execute("DELETE FROM rate_limit WHERE key = :key", key=key)

    def _find(self, key: str) -> tuple[int, float]:
        now = time.time()
        [(count, ends_at)] = self._execute(_FIND, key=key, now=now) or [(0, now)]
        return count, ends_at

    def _execute(self, sql: str, **parameters: object) -> list[Any]:
        self._path.touch(mode=0o600)
        with _open(self._path, self._path.stat().st_ino, get_ident()) as connection:
            return list(connection.execute(sql, parameters))


@lru_cache
def _open(path: Path, inode: int, thread: int) -> sqlite3.Connection:
    """The connection of a thread to the file that is there now."""
    connection = sqlite3.connect(
        path, TIMEOUT_SECONDS, isolation_level="IMMEDIATE", check_same_thread=False
    )
    connection.executescript(_OPEN)
    return connection


os.register_at_fork(before=_open.cache_clear)
