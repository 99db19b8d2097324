"""When access tokens were last used: noted in memory, and written by another thread within a minute.

Reading requests must not write: they would wait for writers, and fail on a read-only PostgreSQL server.
"""

import os
import threading
from collections import deque

from flask import Flask, current_app

from marketplace.hedera import times
from marketplace.services import services
from marketplace.store import access_tokens
from marketplace.store.engine import Engine

KEY = "marketplace.token_usage"  # in the application's extensions
HOUR = 3600
PAUSE_SECONDS = 60  # from a use until it is written


class TokenUsage:
    """The tokens used in this hour. If a kill loses a use, any process writes the next use."""

    def __init__(self, database: Engine) -> None:
        self._database = database
        self._hours: dict[str, int] = {}  # the hour of the last use, by hash
        self._unwritten: deque[tuple[str, int]] = deque()
        self._timer_pid = 0  # the process of the running timer: no thread survives a fork

    def note(self, token_hash: str, now: float) -> None:
        """Note a token's use at ``now``, in Unix time. Fast if this hour's use was noted already."""
        hour = int(now) // HOUR
        if self._hours.get(token_hash) == hour:
            return
        self._hours[token_hash] = hour
        self._unwritten.append((token_hash, hour))
        self._start_timer()

    def write(self) -> bool:
        """Write new uses in one transaction. Returns False if that failed and must be tried again."""
        uses = [self._unwritten.popleft() for _ in range(len(self._unwritten))]
        if not uses:
            return True
        try:
            with self._database.write() as db:
                for token_hash, hour in sorted(uses):  # sorted: two writers never deadlock
                    used_at = times.to_iso(hour * HOUR * times.SECOND)
                    access_tokens.mark_access_token_used(db, token_hash, used_at)
        except Exception:
            self._unwritten.extend(uses)  # requests report the database's fault
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
        except RuntimeError:  # no thread can be started now: the next use tries again
            self._timer_pid = 0

    def _run(self) -> None:
        self._timer_pid = 0  # uses from here on start another timer
        is_written = self.write()
        self._database.close()  # this thread's connection
        if not is_written:
            self._start_timer()


def usage(app: Flask | None = None) -> TokenUsage:
    """The TokenUsage of an application, by default of the current one."""
    own: TokenUsage = (app or current_app).extensions[KEY]
    return own


def init_app(app: Flask) -> None:
    app.extensions[KEY] = TokenUsage(services(app).database)
