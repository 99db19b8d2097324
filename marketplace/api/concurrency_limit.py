"""Limits how many writes, and how many reads of a bucket, run at once.

A server has a few threads, of which some are left for reads. A request beyond the limit is
refused at once, and the client tries again.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from marketplace.counts import count
from marketplace.errors import TooBusy

# For one that ends meanwhile: writes come in bursts, and browsers ask for a page's images at once. Nobody
# waits behind one for whom that was too short.
PAUSE_SECONDS = 0.25
# In a worker of eight threads: writes may wait for the ledger, which the sandbox's never do.
WRITES_AT_ONCE = 5
WRITES_AT_ONCE_IN_SANDBOX = 1000
IMAGES_AT_ONCE = 2  # read from a bucket, which may be silent


class ConcurrencyLimit:
    """Allows so many at once."""

    def __init__(self, most: int, refused: str | None = None) -> None:
        """``refused``: the metric of what is refused."""
        self._refused = refused
        self._room = threading.Semaphore(most)
        self._is_quick = True

    @contextmanager
    def one(self) -> Iterator[None]:
        """Run as one of them. Raises TooBusy."""
        self._is_quick = self._room.acquire(timeout=PAUSE_SECONDS if self._is_quick else 0)
        if not self._is_quick:
            if self._refused:
                count(self._refused)
            raise TooBusy
        try:
            yield
        finally:
            self._room.release()
