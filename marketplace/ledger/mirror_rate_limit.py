"""Limits how often this machine's processes together ask the mirror node, by handing out turns.

A client's request takes all its turns before its first question, or is refused at once. So no request uses up
turns only to time out. Work for no client takes one turn after the other.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import ceil
from threading import Lock
from typing import Any

from marketplace.errors import LedgerBusy, LedgerUnreachable
from marketplace.ledger.deadline import Deadline, TimeIsUp
from marketplace.machine_file import ERRORS, NOW, MachineFile

MOST_SECONDS = 4.0  # the longest wait for one turn
# The turns of clients' requests come within this many seconds: then the last answers are in time, too.
ALL_SECONDS = 3.0
# A caller without turns may take a request's turns up to this moment. The rest are for smaller requests.
FIRST_SECONDS = 2.0

# A row has one request's turns, evenly spaced from begins_at to ends_at, in Unix time. A row that ends beyond
# the longest wait was written before the clock was set back, and is ignored.
_WAITING = f"""
    SELECT max({NOW}, coalesce(max(ends_at), 0)) AS ends_at, {NOW} AS now,
        coalesce(sum(ends_at - max(begins_at, {NOW})) FILTER (WHERE caller = :caller), 0) AS own
    FROM mirror_queue
    WHERE ends_at BETWEEN {NOW} AND {NOW} + {MOST_SECONDS} + :gap
"""
_TAKE = """
    INSERT INTO mirror_queue (caller, begins_at, ends_at)
    SELECT :caller, ends_at, ends_at + :seconds FROM ({waiting}) WHERE {condition}
    RETURNING id, begins_at - {now}
"""
_TAKE_ONE = _TAKE.format(waiting=_WAITING, condition="ends_at - now < :timeout", now=NOW)
# See MirrorRateLimit.taken().
_IS_WITHIN_SHARE = f"""
    own + :seconds <= ({ALL_SECONDS} - (ends_at - now - own)) / 2
    OR own = 0 AND ends_at - now + :seconds <= {FIRST_SECONDS}
"""
_TAKE_SHARE = _TAKE.format(waiting=_WAITING, condition=_IS_WITHIN_SHARE, now=NOW)
_GIVE_BACK = (
    f"UPDATE mirror_queue SET ends_at = ends_at - :seconds WHERE id = :id AND {NOW} < ends_at"
)


class Turns(Deadline):
    """A request's deadline, and the turns that were taken for it."""

    def __init__(self, seconds: float, caller: str) -> None:
        super().__init__(seconds)
        self.caller = caller
        self._lock = Lock()
        self._moments: list[float] = []  # on the monotonic clock; the last one is the next

    def add(self, count: int, pause: float, gap: float) -> None:
        begin = time.monotonic() + pause
        self._moments = [begin + number * gap for number in reversed(range(count))]

    def find_next(self) -> float | None:
        """Seconds until the next turn, or None if all were used. A missed turn can still be used."""
        with self._lock:
            return max(0.0, self._moments.pop() - time.monotonic()) if self._moments else None

    def take_rest(self) -> int:
        """Remove all unused turns, and return their number."""
        with self._lock:
            count, self._moments = len(self._moments), []
        return count


class MirrorRateLimit:
    """Assigns a sending time to each question to the mirror node. All processes share the queue."""

    def __init__(self, folder: str, per_second: int) -> None:
        self._file = MachineFile(folder, "the mirror node is not asked")
        self._gap = 1 / per_second

    @contextmanager
    def taken(self, caller: str, count: int, seconds: float) -> Iterator[Turns]:
        """Take the turns of a client's request, and give unused turns back.

        A caller may hold at most half of the turns within ALL_SECONDS that others do not hold. A caller that
        holds none may take one request's turns within FIRST_SECONDS; no request takes more at once. Raises
        LedgerBusy, or LedgerUnreachable if the queue cannot be used.
        """
        turns, id = Turns(seconds, caller), None
        count = min(count, int(FIRST_SECONDS / self._gap))
        if count:
            id, pause = self._take_share(caller, count)
            turns.add(count, pause, self._gap)
        try:
            yield turns
        finally:
            if unused := turns.take_rest():
                with suppress(*ERRORS):  # logged by MachineFile
                    self._file.execute(_GIVE_BACK, id=id, seconds=unused * self._gap)

    def acquire(self, deadline: Deadline) -> float:
        """Wait for a turn, and return the seconds waited. Raises TimeIsUp if the turn would come too late.

        Raises LedgerUnreachable if the queue cannot be used. Raises LedgerBusy if a client's request needs
        more turns than it has taken, and its caller may hold no more.
        """
        deadline.remaining()
        pause = deadline.find_next() if isinstance(deadline, Turns) else None
        if pause is None and isinstance(deadline, Turns):
            _, pause = self._take_share(deadline.caller, 1)
        elif pause is None:
            pause = self._take_one(deadline)
        if pause > deadline.left:
            raise TimeIsUp
        time.sleep(pause)
        return pause

    def _take_one(self, deadline: Deadline) -> float:
        timeout = min(deadline.remaining(), MOST_SECONDS)
        taken = self._execute(_TAKE_ONE, caller="", seconds=self._gap, timeout=timeout)
        if not taken:
            raise TimeIsUp
        [(_, pause)] = taken
        return float(pause)

    def _take_share(self, caller: str, count: int) -> tuple[int, float]:
        """Take turns. Returns their id, and the seconds until the first one."""
        seconds = count * self._gap
        taken = self._execute(_TAKE_SHARE, caller=caller, seconds=seconds)
        if not taken:
            raise LedgerBusy(self._find_pause(caller, seconds))
        [(id, pause)] = taken
        return int(id), float(pause)

    def _find_pause(self, caller: str, seconds: float) -> int:
        """The seconds until a refused caller may take these turns."""
        [(ends_at, now, own)] = self._execute(_WAITING, caller=caller)
        waiting = ends_at - now
        by_share = 2 * (own + seconds) - (ALL_SECONDS - (waiting - own))
        pause: float = min(by_share, waiting + seconds - FIRST_SECONDS)
        return max(1, ceil(pause))

    def _execute(self, sql: str, **parameters: object) -> list[Any]:
        try:
            return self._file.execute(sql, gap=self._gap, **parameters)
        except ERRORS as error:  # logged by MachineFile
            reason = "it was not asked, as machine.db of this service cannot be used"
            raise LedgerUnreachable(reason) from error
