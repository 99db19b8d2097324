"""Opens, names and writes SQLite files."""

import errno
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

from sqlite_utils import Database
from sqlite_utils.utils import sqlite3

# The space that SQLite needs to open a database: its -shm file.
SMALL_FILE_BYTES = 64 * 1024
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
BUSY_TIMEOUT_SECONDS = 5


class Contents(NamedTuple):
    """A database file, with a connection beside which no other can write."""

    name: str
    connection: sqlite3.Connection

    def rows(self, table: str, columns: list[str]) -> Iterator[dict[str, Any]]:
        """All rows of a table, with these columns in this order."""
        return iter(wrap(self.connection)[table].rows_where(select=", ".join(columns)))


def wrap(connection: sqlite3.Connection) -> Database:
    """sqlite-utils' view of a connection, which changes nothing of how it works."""
    return Database(connection, execute_plugins=False, recursive_triggers=False)


def name_copy(path: Path) -> Path:
    """Name the backup of a database that is about to be upgraded or replaced. LEFT matches all such names."""
    return path.with_name(f"{path.name}.before-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}")


def open_file(
    path: Path, mode: str, timeout: float | None = None, **options: Any
) -> sqlite3.Connection:
    """Open a file: ``mode`` is ro (read), rw (write), or rwc (write, and make it if it does not exist)."""
    seconds = BUSY_TIMEOUT_SECONDS if timeout is None else timeout
    address = f"{path.absolute().as_uri()}?mode={mode}"
    connection: sqlite3.Connection = sqlite3.connect(address, uri=True, timeout=seconds, **options)
    connection.row_factory = sqlite3.Row
    return connection


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """Make and write a new file. If that fails, it and the files that SQLite made beside it are removed."""
    path.touch(mode=0o600)  # only for its owner: it has the hashes of access tokens
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.row_factory = sqlite3.Row
            yield connection
    except BaseException as error:
        for suffix in ("", "-journal", "-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        if isinstance(error, sqlite3.OperationalError):
            raise OSError(f"{path} cannot be written: {error}") from error
        raise


def find_lack_of_room(folder: Path) -> str | None:
    """Why a folder has no room for a small file; None if it has room, or cannot be written anyway."""
    try:
        with TemporaryFile(dir=folder, buffering=0) as file:
            left = SMALL_FILE_BYTES
            while left:
                left -= file.write(bytes(left)) or 0
    except OSError as error:
        return error.strerror if error.errno in NO_ROOM else None
    return None
