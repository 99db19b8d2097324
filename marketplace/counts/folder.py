"""The folder where the processes of a machine count, each in a file of its own.

A process holds a lock on its file, which the kernel releases when the process exits. The next process goes on
in a file without a lock: no count is lost, and no files pile up.
"""

import fcntl
import json
import mmap
import os
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from marketplace.counts.table import METRICS

SIZE = 256 * 1024  # of a file: room for two thousand requests' routes and statuses
NUMBER = struct.calcsize("d")
USED = struct.Struct("q")  # at the beginning: how many bytes hold something
HEAD = struct.Struct("ii")  # of each record: the length of its key, and how many numbers follow

Key = tuple[str, ...]  # a metric's name, and the values of its labels
Numbers = dict[Key, list[float]]


class Tally:
    """The numbers of one process, in memory that is mapped from its file, or in memory alone."""

    def __init__(self, memory: mmap.mmap, is_filed: bool) -> None:
        self.is_filed = is_filed
        self.lock = threading.Lock()
        self._memory = memory
        self._places: dict[Key, int] = {}
        self._used = USED.size
        self._beyond = (SIZE // NUMBER) - max(metric.length for metric in METRICS.values())
        self.numbers = memoryview(memory).cast("d")
        for key, place, length in _records(memory[:]):
            self._used = place + length * NUMBER
            if _is_known(key, length):
                self._places[key] = place // NUMBER
                if METRICS[key[0]].kind == "gauge":  # of the process that has ended
                    self.numbers[place // NUMBER] = 0

    def find(self, key: Key) -> int:
        """Return the place of a key's numbers. Call it while the lock is held."""
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = self._make_room(key)
        return place

    def _make_room(self, key: Key) -> int:
        """Write a new record. Once the file is full, all further keys share its end."""
        name = json.dumps(key).encode()
        name += b" " * (-len(name) % NUMBER)
        length = METRICS[key[0]].length
        place = self._used + HEAD.size + len(name)
        end = place + length * NUMBER
        if end > self._beyond * NUMBER:
            return self._beyond
        self._memory[self._used : place] = HEAD.pack(len(name), length) + name
        self._memory[: USED.size] = USED.pack(end)  # last: a reader finds whole records
        self._used = end
        return place // NUMBER

    def read(self) -> Numbers:
        return _parse(self._memory[:])


class Folder:
    def __init__(self, path: Path) -> None:
        self._path = path

    def begin(self) -> Tally:
        """Take over the file of a process that has ended, or make another one. Raises OSError."""
        self._path.mkdir(parents=True, exist_ok=True)
        for path in self._files():
            with suppress(OSError):  # another process has it, or another user
                return Tally(_map(path), is_filed=True)
        path = self._path / f"{os.getpid()}-{time.time_ns()}.counts"
        return Tally(_map(path), is_filed=True)

    def read(self) -> tuple[Numbers, int]:
        """Add up what all processes counted, and say how many of them live."""
        total: Numbers = {}
        living = 0
        for path in self._files():
            if os.access(path, os.R_OK):
                is_living = not _is_ended(path)
                living += is_living
                add(total, _parse(path.read_bytes(), with_gauges=is_living))
        return total, living

    def _files(self) -> list[Path]:
        return sorted(self._path.glob("*.counts"))


def _map(path: Path) -> mmap.mmap:
    """Map a file that no other process has. Raises OSError."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # All of it now: a page for which the disk had no room later would end the process.
        os.posix_fallocate(file, 0, SIZE)
        # It has a descriptor of its own, which keeps the lock for as long as it is mapped.
        return mmap.mmap(file, SIZE)
    finally:
        os.close(file)


def add(total: Numbers, numbers: Numbers) -> None:
    for key, values in numbers.items():
        before = total.get(key, [0.0] * len(values))
        total[key] = [a + b for a, b in zip(before, values, strict=True)]


def _is_ended(path: Path) -> bool:
    """Tell whether no process holds a file. One of another user, which can not be opened, is left alone."""
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    except OSError:
        return False


def _parse(content: bytes, with_gauges: bool = True) -> Numbers:
    """The numbers of a file, without those that this version does not count."""
    return {
        key: list(struct.unpack_from(f"{length}d", content, place))
        for key, place, length in _records(content)
        if _is_known(key, length) and (with_gauges or METRICS[key[0]].kind != "gauge")
    }


def _records(content: bytes) -> Iterator[tuple[Key, int, int]]:
    """Each key, the place of its numbers, and how many they are: up to where the file is damaged."""
    # The errors of json and struct, and of a key of another shape.
    with suppress(ValueError, TypeError, struct.error):
        end = min(USED.unpack_from(content)[0], len(content))
        offset = USED.size
        while offset < end:
            size, length = HEAD.unpack_from(content, offset)
            place = offset + HEAD.size + size
            offset = place + length * NUMBER
            if size <= 0 or size % NUMBER or length <= 0 or offset > end:
                return
            key = json.loads(content[place - size : place])
            yield tuple(map(str, key)), place, length


def _is_known(key: Key, length: int) -> bool:
    metric = METRICS.get(key[0]) if key else None
    return metric is not None and (len(key) - 1, length) == (len(metric.labels), metric.length)
