"""When access tokens were last used: noted in memory, and written now and then, on no request's way."""

import os
import threading
import weakref

from marketplace import times
from marketplace.store import access_tokens
from marketplace.store.engine import Engine

HOUR = 3600
PAUSE_SECONDS = 60  # from a use until it is written

_all: "weakref.WeakSet[TokenUsage]" = weakref.WeakSet()
_waiting: int | None = None  # the process whose thread will write: none survives a fork


class TokenUsage:
    """Which tokens were used in this hour. What a kill loses, the next use in a later process finds again."""

    def __init__(self, database: Engine) -> None:
        self._database = database
        self._noted: set[str] = set()  # hashes of tokens, of this hour
        self._ends_at = 0
        self._unwritten: dict[str, int] = {}  # the hour, by hash
        _all.add(self)

    def note(self, token_hash: str, now: float) -> None:
        """Note that a token is used, in Unix time. Cheap: most requests find that it was noted."""
        if now < self._ends_at and token_hash in self._noted:
            return
        hour = int(now) // HOUR
        if now >= self._ends_at:
            self._ends_at, self._noted = (hour + 1) * HOUR, set()
        self._noted.add(token_hash)
        self._unwritten[token_hash] = hour
        _wait_to_write()

    def write(self) -> bool:
        """Write what is new, in one transaction. Returns whether that is done, or is to be tried again."""
        uses = self._unwritten.copy()
        if not uses:
            return True
        try:
            with self._database.write() as db:
                for token_hash, hour in sorted(
                    uses.items()
                ):  # in order: two who write never deadlock
                    used_at = times.to_iso(hour * HOUR * times.SECOND)
                    access_tokens.mark_access_token_used(db, token_hash, used_at)
        except Exception:
            return False  # whatever is wrong with the database, requests tell it
        for token_hash, hour in uses.items():
            if self._unwritten.get(token_hash) == hour:  # another thread may have written it, too
                self._unwritten.pop(token_hash, None)
        return True

    def close(self) -> None:
        """Close what the calling thread has open of the database."""
        self._database.close()


def _wait_to_write() -> None:
    """Have a thread write in a while, one for all applications of this process."""
    global _waiting
    if _waiting == os.getpid():
        return
    _waiting = os.getpid()
    timer = threading.Timer(PAUSE_SECONDS, _write_all)
    timer.daemon = True
    try:
        timer.start()
    except RuntimeError:  # no thread can be had now: the next use asks for one
        _waiting = None


def _write_all() -> None:
    global _waiting
    _waiting = None  # what is noted from here on asks for another thread
    done = []
    for uses in list(_all):
        done.append(uses.write())
        uses.close()
    if not all(done):
        _wait_to_write()
