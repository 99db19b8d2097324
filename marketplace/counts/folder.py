"""The folder where the processes of a machine count: a file for each, and the sum of those that ended.

A process holds a lock on its own file, which the kernel releases when the process exits. Each process that
opens the folder adds the files without a lock to the sum, and removes them: no count is lost, and no files
pile up.
"""

import fcntl
import json
import mmap
import os
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from marketplace.counts.table import METRICS
from marketplace.file_lock import lock

SIZE = 256 * 1024  # of a file: room for two thousand requests' routes and statuses
TIMEOUT_SECONDS = 1  # for the lock of the folder, which is held for milliseconds
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
        self._sum = path / "ended.json"

    def begin(self) -> Tally:
        """Make the file of this process. Raises OSError."""
        with self._locked():
            self._merge_ended()
            path = self._path / f"{os.getpid()}-{time.time_ns()}.counts"
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                # All of it now: a page for which the disk had no room later would end the process.
                os.posix_fallocate(file, 0, SIZE)
                # It has a descriptor of its own, which keeps the lock for as long as it is mapped.
                return Tally(mmap.mmap(file, SIZE), is_filed=True)
            except OSError:
                path.unlink()
                raise
            finally:
                os.close(file)

    def read(self) -> tuple[Numbers, int]:
        """Add up what all processes counted, and say how many of them live. Raises OSError."""
        try:
            with self._locked():
                self._merge_ended()
                return self._add_up()
        except BlockingIOError:
            return (
                self._add_up()
            )  # a process that holds the lock for so long is stopped, and changes nothing

    def _add_up(self) -> tuple[Numbers, int]:
        total, added = self._read_sum()
        others = [p for p in self._files() if p.name not in added and _is_readable(p)]
        for path in others:
            add(total, _parse(path.read_bytes()))
        return total, len(others)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._path.mkdir(parents=True, exist_ok=True)
        with open(self._path / "lock", "w") as file:
            lock(file.fileno(), TIMEOUT_SECONDS)
            yield

    def _files(self) -> list[Path]:
        return sorted(self._path.glob("*.counts"))

    def _merge_ended(self) -> None:
        """Add the files of ended processes to the sum, and remove them."""
        total, added = self._read_sum()
        ended = [path for path in self._files() if _is_ended(path)]
        new = [path for path in ended if path.name not in added]
        for path in new:
            add(total, _parse(path.read_bytes(), with_gauges=False))
        if new:
            try:
                self._write_sum(total, [path.name for path in ended])
            except OSError:
                return  # no room: the files stay, and are read as they are
        for path in ended:
            path.unlink()

    def _read_sum(self) -> tuple[Numbers, list[str]]:
        """The sum, and the files that were added to it last: a kill may have left them in the folder."""
        try:
            document = json.loads(self._sum.read_bytes())
            total = {tuple(key): numbers for key, numbers in document["total"]}
            return {key: n for key, n in total.items() if _is_known(key, n)}, document["added"]
        except (OSError, ValueError, KeyError, TypeError):
            return {}, []

    def _write_sum(self, total: Numbers, added: list[str]) -> None:
        draft = self._sum.with_suffix(".draft")
        try:
            draft.write_text(json.dumps({"total": list(total.items()), "added": added}))
            draft.replace(self._sum)
        except OSError:
            with suppress(OSError):
                draft.unlink()
            raise


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


def _is_readable(path: Path) -> bool:
    return os.access(path, os.R_OK)


def _parse(content: bytes, with_gauges: bool = True) -> Numbers:
    """The numbers of a file, up to where it is damaged, without those that this version does not count."""
    numbers: Numbers = {}
    # The errors of json and struct, and of a key of another shape.
    with suppress(ValueError, TypeError, IndexError, struct.error):
        for key, values in _records(content):
            if _is_known(key, values) and (with_gauges or METRICS[key[0]].kind != "gauge"):
                numbers[key] = values
    return numbers


def _records(content: bytes) -> Iterator[tuple[Key, list[float]]]:
    end = min(USED.unpack_from(content)[0], len(content))
    offset = USED.size
    while offset < end:
        size, length = HEAD.unpack_from(content, offset)
        place = offset + HEAD.size + size
        offset = place + length * NUMBER
        if size <= 0 or length <= 0:
            return
        key = tuple(json.loads(content[place - size : place]))
        yield key, list(struct.unpack_from(f"{length}d", content, place))


def _is_known(key: Key, numbers: list[float]) -> bool:
    metric = METRICS.get(key[0])
    return metric is not None and (len(key) - 1, len(numbers)) == (
        len(metric.labels),
        metric.length,
    )
