"""machine.db in DATA_DIR: what the processes of a machine cannot count each for itself.

The mirror node's rate limit applies to the machine, whichever process asks. An answer shows what is left of
the client's limit, whichever process answers. With a share for each process, a client would be refused too
early, or see another number with each answer.
All this is small and may be lost: no write waits for the disk, so a crash may damage the file. It is then
made again.
"""

import logging
import os
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from sqlite_utils.utils import sqlite3

from marketplace.errors import StartRefused

# Raised if the file cannot be used, or stays locked.
ERRORS = (OSError, sqlite3.Error)

# When twenty clients wrote at once to a busy machine, some waited more than 0.3 s.
TIMEOUT_SECONDS = 1

# SQL for the Unix time, with milliseconds.
NOW = "(julianday('now') - 2440587.5) * 86400"

# begins_at and ends_at are in Unix time. Turns at the mirror node that are over are deleted.
_OPEN = f"""
    PRAGMA journal_mode = MEMORY;
    PRAGMA synchronous = OFF;
    BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS rate_limit (key TEXT PRIMARY KEY, ends_at REAL, count INTEGER);
    CREATE INDEX IF NOT EXISTS rate_limit_by_end ON rate_limit (ends_at);
    CREATE TABLE IF NOT EXISTS mirror_queue (
        id INTEGER PRIMARY KEY, caller TEXT, begins_at REAL, ends_at REAL
    );
    CREATE TRIGGER IF NOT EXISTS mirror_queue_over AFTER INSERT ON mirror_queue BEGIN
        DELETE FROM mirror_queue WHERE ends_at < {NOW};
    END;
    COMMIT;
"""

_lock = Lock()  # held while a thread of this process uses its connection


class MachineFile:
    """The file, for one part of the service. If it was removed, it is made again."""

    def __init__(self, folder: str, failing: str) -> None:
        """``failing``: what the log says about the consequence while the file cannot be used."""
        self._path = Path(folder, "machine.db")
        self._failing = failing
        self._failed: str | None = None  # the statement that failed: on a full disk others may work

    def check(self) -> None:
        """Raise StartRefused if the file cannot be written, or is not such a file."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._run("SELECT 1", {})
        except (OSError, sqlite3.OperationalError) as error:
            raise StartRefused(f"{self._path} cannot be written: {error}") from error
        except sqlite3.DatabaseError as error:
            raise StartRefused(f"{self._path} is not a file of this service: remove it") from error

    def execute(self, sql: str, **parameters: object) -> list[Any]:
        """Run a statement in a transaction of its own, and return its rows.

        Raises one of ERRORS if the file cannot be used. The log says so once.
        """
        log = logging.getLogger("marketplace")
        try:
            rows = self._run_or_make_again(sql, parameters)
        except ERRORS as error:
            if not self._failed:
                self._failed = sql
                log.error("%s cannot be used (%s): %s", self._path, error, self._failing)
            raise
        if self._failed == sql:
            self._failed = None
            log.warning("%s can be used again", self._path)
        return rows

    def _run_or_make_again(self, sql: str, parameters: dict[str, object]) -> list[Any]:
        try:
            return self._run(sql, parameters)
        except sqlite3.DatabaseError as error:
            if not _is_damaged(error):
                raise
            self._path.unlink(missing_ok=True)
            return self._run(sql, parameters)

    def _run(self, sql: str, parameters: dict[str, object]) -> list[Any]:
        if not _lock.acquire(timeout=TIMEOUT_SECONDS):
            raise TimeoutError("another thread holds it")
        try:
            self._path.touch(mode=0o600)
            connection = _open(self._path, self._path.stat().st_ino)
            return connection.execute(sql, parameters).fetchall()
        finally:
            _lock.release()


def _is_damaged(error: sqlite3.DatabaseError) -> bool:
    """Whether the contents are not ours. A file that is emptied while it is open has no tables."""
    is_operational = isinstance(error, sqlite3.OperationalError)
    return not is_operational or str(error).startswith("no such table")


@lru_cache
def _open(path: Path, inode: int) -> sqlite3.Connection:
    """The connection of this process to the file that now has this path."""
    connection = sqlite3.connect(
        path, timeout=TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False
    )
    connection.executescript(_OPEN)
    return connection


def _before_fork() -> None:
    """Close all connections: a child would believe that it holds their locks."""
    _lock.acquire()
    _open.cache_clear()


os.register_at_fork(
    before=_before_fork, after_in_parent=_lock.release, after_in_child=_lock.release
)
