"""Storage of rate limits: all processes of a machine count in one file.

``limits`` has no such storage: its in-memory one counts for one process.
"""

import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

from limits.storage import Storage

from marketplace.errors import StartRefused
from marketplace.file_lock import lock

# The hash of a key; the end of its window, in Unix time; its count in this window.
Counter = tuple[bytes, float, int]
COUNTER = struct.Struct("=16sdq")
# A counter has one of the sixteen places of its bucket. Where none is free, the lowest counter loses its:
# the file never grows, and requests from ever new addresses push out no counter of a frequent caller.
PLACES = 16
BUCKETS = 4096
BUCKET_BYTES = PLACES * COUNTER.size
FILE_BYTES = BUCKETS * BUCKET_BYTES  # 2 MiB, of which the disk holds what was written to

# For the lock of the file, which is held for microseconds unless its process is stopped. Of twenty clients
# that wrote at once to a busy machine, some waited more than 0.3 s.
TIMEOUT_SECONDS = 1


class RateLimitFile(Storage):
    """A file of fixed size. Each call opens it: no descriptor crosses a fork, or is shared by threads."""

    STORAGE_SCHEME = ["file"]
    base_exceptions = OSError

    def __init__(self, uri: str, wrap_exceptions: bool = False, **options: Any) -> None:
        """Raises StartRefused for a file that can not be written, or is another one."""
        super().__init__(uri, wrap_exceptions=wrap_exceptions, **options)
        self._path = Path(uri.removeprefix("file:"))
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._locked() as file:
                size = os.fstat(file).st_size or _fill(file)
        except OSError as error:
            raise StartRefused(f"{self._path} can not be written: {error}") from error
        if size != FILE_BYTES:
            raise StartRefused(f"{self._path} is a file of something else: remove it")

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Count, and return how often it happened in this window, which lasts ``expiry`` seconds.

        Raises OSError where the file can not be written, or stays locked: it is not counted then.
        """
        digest = _digest(key)
        with self._locked() as file:
            # Read the clock under the lock: else a window might begin after this moment.
            now = time.time()
            counters = _read(file, digest)
            place, ends_at, count = _find(counters, digest, now)
            # A window that ends far ahead is of a clock that was set back.
            if place is None or ends_at > now + expiry:
                place = _choose(counters, now) if place is None else place
                ends_at, count = now + expiry, 0
            counter = COUNTER.pack(digest, ends_at, count + amount)
            os.pwrite(file, counter, _offset(digest) + place * COUNTER.size)
        return count + amount

    def get(self, key: str) -> int:
        return self._get(key)[1]

    def get_expiry(self, key: str) -> float:
        """When the window ends, in Unix time; now, where nothing happened in one."""
        return self._get(key)[0] or time.time()

    def check(self) -> bool:
        with self._locked():
            return True

    def reset(self) -> None:
        with self._locked() as file:
            os.ftruncate(file, 0)
            _fill(file)

    def clear(self, key: str) -> None:
        digest = _digest(key)
        with self._locked() as file:
            place, _, _ = _find(_read(file, digest), digest, time.time())
            if place is not None:
                offset = _offset(digest) + place * COUNTER.size
                os.pwrite(file, bytes(COUNTER.size), offset)

    def _get(self, key: str) -> tuple[float, int]:
        # Without the lock: what a response says of a window is old by then anyway.
        digest = _digest(key)
        with self._opened() as file:
            return _find(_read(file, digest), digest, time.time())[1:]

    @contextmanager
    def _opened(self) -> Iterator[int]:
        file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            yield file
        finally:
            os.close(file)  # which unlocks it

    @contextmanager
    def _locked(self) -> Iterator[int]:
        with self._opened() as file:
            lock(file, TIMEOUT_SECONDS)
            yield file


def _digest(key: str) -> bytes:
    return blake2b(key.encode(), digest_size=16).digest()


def _offset(digest: bytes) -> int:
    return int.from_bytes(digest[:8]) % BUCKETS * BUCKET_BYTES


def _fill(file: int) -> int:
    """Fill the file with zeros, and return its size."""
    os.ftruncate(file, FILE_BYTES)
    return FILE_BYTES


def _read(file: int, digest: bytes) -> list[Counter]:
    """The counters of a bucket. A file that was removed or cut since the start is filled again."""
    content = os.pread(file, BUCKET_BYTES, _offset(digest))
    if len(content) < BUCKET_BYTES:
        _fill(file)
    return [*COUNTER.iter_unpack(content.ljust(BUCKET_BYTES, b"\0"))]


def _find(counters: list[Counter], digest: bytes, now: float) -> tuple[int | None, float, int]:
    """The place of a counter, the end of its window, and its count."""
    for place, (found, ends_at, count) in enumerate(counters):
        if found == digest and ends_at > now:
            return place, ends_at, count
    return None, 0, 0


def _choose(counters: list[Counter], now: float) -> int:
    """The place for a new counter: one whose window is over, or the lowest."""
    return min(range(PLACES), key=lambda place: (counters[place][1] > now, counters[place][2]))
