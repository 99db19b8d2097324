"""The header of SQLite's wal-index, which every commit changes: https://sqlite.org/walformat.html, 2.1.

It is read from a map: a statement would let other threads run, and the request wait for them.
"""

import mmap
import os
import threading
from pathlib import Path

# Two copies stand at the beginning; a writer changes the second one first.
HEADER_BYTES = 48

_lock = threading.Lock()
_maps: dict[tuple[int, int], tuple[int, mmap.mmap]] = {}  # by device and inode


def _forget_lock() -> None:
    """In the child of a fork: another thread of the parent may hold it."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_lock)


def open_map(database: Path) -> mmap.mmap:
    """The two copies of the header, as they change. A connection to the database has to stay open meanwhile.

    The map is shared by all who ask for it, and not closed: with any descriptor of the file that a process
    closes it loses all locks that its connections have there (fcntl_locking(2)). Raises OSError.
    """
    path = f"{database}-shm"
    with _lock:
        status = os.stat(path)
        file_id = status.st_dev, status.st_ino
        if file_id not in _maps:
            _close_deleted()
            file = os.open(path, os.O_RDONLY)
            _maps[file_id] = file, mmap.mmap(file, 2 * HEADER_BYTES, prot=mmap.PROT_READ)
        return _maps[file_id][1]


def _close_deleted() -> None:
    """Close the maps of files that the last connection of all has deleted: nobody has locks there."""
    for file_id, (file, header) in [*_maps.items()]:
        if os.fstat(file).st_nlink == 0:
            del _maps[file_id]
            header.close()
            os.close(file)


def read_header(header: mmap.mmap) -> bytes | None:
    """The header; None while a writer changes it."""
    copies = header[:]
    first = copies[:HEADER_BYTES]
    return first if first == copies[HEADER_BYTES:] else None
