"""When access tokens were last used: noted in memory, and written within a minute, on no request's way.

A request never writes: a read must not wait for a writer, nor for a PostgreSQL server that only reads.
"""

import os
import threading
from collections import deque

from marketplace import times
from marketplace.store import access_tokens
from marketplace.store.engine import Engine

HOUR = 3600
PAUSE_SECONDS = 60  # from a use until it is written


class TokenUsage:
    """The tokens used in this hour. A use that a kill loses is written at the next one, by any process."""

    def __init__(self, database: Engine) -> None:
        self._database = database
        self._hours: dict[str, int] = {}  # of the last use, by hash
        self._unwritten: deque[tuple[str, int]] = deque()
        self._timer_pid = 0  # the process in which a timer runs: none survives a fork

    def note(self, token_hash: str, now: float) -> None:
        """Note that a token is used, in Unix time. Cheap: most requests find that it was noted."""
        hour = int(now) // HOUR
        if self._hours.get(token_hash) == hour:
            return
        self._hours[token_hash] = hour
        self._unwritten.append((token_hash, hour))
        self._start_timer()

    def write(self) -> bool:
        """Write what is new, in one transaction. Returns False where that is to be tried again."""
        uses = [self._unwritten.popleft() for _ in range(len(self._unwritten))]
        if not uses:
            return True
        try:
            with self._database.write() as db:
                for token_hash, hour in sorted(uses):  # in order: two who write never deadlock
                    used_at = times.to_iso(hour * HOUR * times.SECOND)
                    access_tokens.mark_access_token_used(db, token_hash, used_at)
        except Exception:
            self._unwritten.extend(uses)  # whatever is wrong with the database, requests tell it
            return False
        return True

    def _start_timer(self) -> None:
        if self._timer_pid == os.getpid():
            return
        self._timer_pid = os.getpid()
        timer = threading.Timer(PAUSE_SECONDS, self._run)
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError:  # no thread can be had now: the next use asks for one
            self._timer_pid = 0

    def _run(self) -> None:
        self._timer_pid = 0  # what is noted from here on asks for another thread
        is_written = self.write()
        self._database.close()  # what this thread has open
        if not is_written:
            self._start_timer()
