"""When the mirror node may be asked: deadlines, and turns among all callers of this machine's processes.

A caller's first request in progress comes before everybody's second ones, and an older request before a newer
one: so a request that has begun finishes, however many others wait.
"""

import fcntl
import struct
import time
from bisect import insort
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from math import ceil
from pathlib import Path
from threading import Condition

from marketplace.errors import LedgerBusy

# For questions to the mirror node that no client waits for.
UNHURRIED_SECONDS = 8
# The NFTs of all requests for several that a process answers at once. One such request is always answered.
NFTS_AT_ONCE = 10
# A client's turn comes this long before the deadline at least, so that the answer comes in time, too.
ANSWER_SECONDS = 0.5
# Nobody takes a turn that is later than this. The machine was started again since, and its clock with it.
LATEST_SECONDS = 10


class TimeIsUp(Exception):
    """The deadline has passed."""


class Deadline:
    """A moment some seconds from now."""

    def __init__(self, seconds: float) -> None:
        began = time.monotonic()
        self._at = began + seconds
        self.place = 0, began  # among other questions: the lowest comes first

    @property
    def left(self) -> float:
        """Seconds left, at least 0."""
        return max(0.0, self._at - time.monotonic())

    @property
    def left_to_ask(self) -> float:
        """Seconds in which a question may still begin."""
        return self.left

    def remaining(self) -> float:
        """Seconds left. Raises TimeIsUp if there are none."""
        seconds = self.left
        if not seconds:
            raise TimeIsUp
        return seconds


class RequestDeadline(Deadline):
    """The deadline of a client's request, and its place among the other requests."""

    def __init__(self, seconds: float, rank: int) -> None:
        super().__init__(seconds)
        self.place = (rank, self.place[1])

    @property
    def left_to_ask(self) -> float:
        return max(0.0, self.left - ANSWER_SECONDS)


class MirrorRate:
    """Has each question wait for its turn."""

    def __init__(self, folder: str, per_second: int) -> None:
        self._gap = 1 / per_second
        self._pace = Pace(Path(folder, "mirror-node.turn"), self._gap)
        self._callers: Counter[str] = Counter()  # their requests in progress
        self._several = 0  # NFTs of requests for several
        self._waiting: list[
            tuple[tuple[int, float], int]
        ] = []  # places and numbers of questions, sorted
        self._numbers = count()
        self._is_taken = False  # by a question that waits for its moment
        self._changed = Condition()

    @contextmanager
    def request(self, caller: str, seconds: float, nfts: int = 1) -> Iterator[RequestDeadline]:
        """Begin a client's request about some NFTs, which may ask for some seconds. Raises LedgerBusy."""
        several = nfts if nfts > 1 else 0
        with self._changed:
            if several and self._several and self._several + several > NFTS_AT_ONCE:
                raise LedgerBusy(max(1, ceil(seconds / 2)))
            self._several += several
            rank = self._callers[caller]
            self._callers[caller] += 1
        try:
            yield RequestDeadline(seconds, rank)
        finally:
            with self._changed:
                self._several -= several
                self._callers[caller] -= 1
                self._callers += Counter()  # without the zeros

    def wait(self, deadline: Deadline) -> float:
        """Wait for a turn, and return the seconds waited.

        If it would come too late, raises LedgerBusy at once for a client's request, and otherwise TimeIsUp.
        """
        began = time.monotonic()
        if deadline.left_to_ask <= 0:
            raise TimeIsUp  # its earlier questions took too long
        self._wait_in_line((deadline.place, next(self._numbers)), deadline)
        try:
            pause = self._pace.take(deadline.left_to_ask)
            if pause is None:
                raise self._refuse(deadline)
            time.sleep(pause)
        finally:
            with self._changed:
                self._is_taken = False
                self._changed.notify_all()
        return time.monotonic() - began

    def _wait_in_line(self, question: tuple[tuple[int, float], int], deadline: Deadline) -> None:
        with self._changed:
            insort(self._waiting, question)
            try:
                if self._waiting.index(question) * self._gap >= deadline.left_to_ask:
                    raise self._refuse(deadline)
                while self._is_taken or self._waiting[0] != question:
                    if not self._changed.wait(deadline.left_to_ask):
                        raise self._refuse(deadline)
                self._is_taken = True
            finally:
                self._waiting.remove(question)

    def _refuse(self, deadline: Deadline) -> Exception:
        if isinstance(deadline, RequestDeadline):
            return LedgerBusy(max(1, ceil(len(self._waiting) * self._gap)))
        return TimeIsUp()


class Pace:
    """Evenly spaced moments, for all processes that use the same file."""

    def __init__(self, path: Path, gap: float) -> None:
        self._path, self._gap = path, gap
        self._next = 0.0  # on the machine's monotonic clock

    def take(self, most: float) -> float | None:
        """Take the next moment. Returns the seconds until then; None, and takes none, if it is too late."""
        try:
            self._path.touch(mode=0o600)
            with self._path.open("r+b", buffering=0) as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                pause = self._advance(most, *struct.unpack("d", file.read(8) or bytes(8)))
                file.seek(0)
                file.write(struct.pack("d", self._next))
                return pause
        except (OSError, struct.error):  # then this process keeps the pace for itself
            return self._advance(most, 0.0)

    def _advance(self, most: float, shared: float) -> float | None:
        now = time.monotonic()
        taken = [each for each in (self._next, shared) if each < now + LATEST_SECONDS]
        moment = max(now, *taken)
        if moment - now > most:
            return None
        self._next = moment + self._gap
        return moment - now
