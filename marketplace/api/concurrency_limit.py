"""Limits how many writes, and how many reads of a bucket, run at once.

A server has few threads, and some must stay free for reads. A request beyond the limit is refused
after a short wait at most, and the client tries again.
"""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from flask import Flask, current_app

from marketplace.errors import TooBusy
from marketplace.metrics import count

# How long a request waits for a free place: writes come in bursts, and browsers ask for all images of a
# page at once. After one has waited without success, the next ones do not wait until a place is free.
PAUSE_SECONDS = 0.25
# In a worker of eight threads. Writes may wait for the ledger; in the sandbox they never do.
WRITES_AT_ONCE = 5
WRITES_AT_ONCE_IN_SANDBOX = 1000
IMAGES_AT_ONCE = 2  # reads of a bucket, which may not answer

WRITES, IMAGES = "marketplace.writes", "marketplace.images"  # in the application's extensions


class ConcurrencyLimit:
    """Allows N requests at once."""

    def __init__(self, most: int, refused: str | None = None) -> None:
        """``refused``: the metric that counts refused requests."""
        self._refused = refused
        self._room = threading.Semaphore(most)
        self._is_quick = True

    @contextmanager
    def one(self) -> Iterator[None]:
        """Hold one of the places. Raises TooBusy."""
        self._is_quick = self._room.acquire(timeout=PAUSE_SECONDS if self._is_quick else 0)
        if not self._is_quick:
            if self._refused:
                count(self._refused)
            raise TooBusy
        try:
            yield
        finally:
            self._room.release()


def one_write() -> AbstractContextManager[None]:
    """Hold one of the current application's places for writes. Raises TooBusy."""
    return _one(WRITES)


def one_image() -> AbstractContextManager[None]:
    """Hold one of its places for reads of a bucket. Raises TooBusy."""
    return _one(IMAGES)


def _one(key: str) -> AbstractContextManager[None]:
    limit: ConcurrencyLimit = current_app.extensions[key]
    return limit.one()


def init_app(app: Flask) -> None:
    is_sandbox = app.config["NETWORK"] == "sandbox"
    writes = WRITES_AT_ONCE_IN_SANDBOX if is_sandbox else WRITES_AT_ONCE
    app.extensions[WRITES] = ConcurrencyLimit(writes, refused="writes_refused")
    app.extensions[IMAGES] = ConcurrencyLimit(IMAGES_AT_ONCE)
