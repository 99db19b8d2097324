"""What may wait for the ledger, for a stranger's host or for a lock is bounded: no read waits for it.

A server has a few threads. The writes under way take some of them at most, however many clients write and
however long each waits; the others are for reads. A write beyond that is refused at once, and tries again.
One of them is always for a caller who has none under way: nobody keeps all others from writing.
"""

import json
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from flask import Flask, current_app, request

from marketplace.api import refusals
from marketplace.counts import Counts, count
from marketplace.errors import TooBusy

# Writes come in bursts, and most are done in milliseconds: a short wait, only as long as that is so.
QUICK_SECONDS = 0.1
# So that some of the eight threads are left, whatever the quick ones among the slow.
WAITING_WRITES = 2
IMAGES_AT_ONCE = 2  # read from a bucket, which may be silent
# A browser asks for a page's images at once, and for none again: while the bucket answers, they wait.
QUICK_IMAGE_SECONDS = 1.0


class Waiting:
    """So many at a time, and no more; the last of several is never of a caller who has one already."""

    def __init__(self, most: int, quick_seconds: float, most_waiting: float = math.inf) -> None:
        self._most = most
        self._quick_seconds = quick_seconds
        self._most_waiting = most_waiting
        self._waiting = 0
        self._under_way = Counter()  # by caller
        self._is_quick = True  # as the last one was that ended
        self._ended = threading.Condition()

    def is_full(self, caller: str) -> bool:
        """Tell whether there is no room for a caller, nor soon will be."""
        return not self._is_quick and not self._has_room(caller)

    @contextmanager
    def one(self, caller: str | None = None) -> Iterator[None]:
        """Be one of them. Raises TooBusy."""
        with self._ended:
            if not self._has_room(caller) and not self._wait(caller):
                raise TooBusy
            self._under_way[caller] += 1
        began = time.monotonic()
        try:
            yield
        finally:
            with self._ended:
                self._under_way[caller] -= 1
                if not self._under_way[caller]:
                    del self._under_way[caller]
                self._is_quick = time.monotonic() - began < self._quick_seconds
                self._ended.notify_all()

    def _wait(self, caller: str | None) -> bool:
        if not self._is_quick or self._waiting >= self._most_waiting:
            return False
        self._waiting += 1
        try:
            has_room = self._ended.wait_for(lambda: self._has_room(caller), self._quick_seconds)
        finally:
            self._waiting -= 1
        if not has_room:
            self._is_quick = False
        return has_room

    def _has_room(self, caller: str | None) -> bool:
        is_last = self._under_way.total() + 1 == self._most > 1
        has_one = caller is not None and self._under_way[caller] > 0
        return self._under_way.total() < self._most and not (is_last and has_one)


class RefusedAtOnce:
    """Refuses writes before anything else is done for them, while there is no room.

    Those of a page of another origin are refused in the application, which writes what the browser asks for.
    """

    def __init__(self, application, prefix: str, writes: Waiting, counts: Counts) -> None:
        self._application = application
        self._prefix = f"{prefix}/v1/"
        self._writes = writes
        self._counts = counts
        error = TooBusy()
        self._body = json.dumps(refusals.body(error.status, error.message)).encode()
        self._status = f"{error.status.value} {error.status.phrase}"
        self._headers = [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(self._body))),
            *error.headers.items(),
        ]

    def __call__(self, environ: dict, start_response: Callable) -> Iterable[bytes]:
        if (
            environ["REQUEST_METHOD"] == "POST"
            and environ.get("PATH_INFO", "").startswith(self._prefix)
            and "HTTP_ORIGIN" not in environ
            and self._writes.is_full(find_caller(environ))
        ):
            self._counts.add(("writes_refused",))
            start_response(self._status, [*self._headers])
            return [self._body]
        return self._application(environ, start_response)


def init_app(app: Flask) -> None:
    writes = Waiting(app.config["WRITES_AT_ONCE"], QUICK_SECONDS, WAITING_WRITES)
    app.extensions["writes"] = writes
    app.extensions["images"] = Waiting(IMAGES_AT_ONCE, QUICK_IMAGE_SECONDS)
    app.wsgi_app = RefusedAtOnce(
        app.wsgi_app, app.config["API_PREFIX"], writes, app.extensions["counts"]
    )


def find_caller(environ: dict) -> str:
    """Find who calls: the access token, however its header is written; or else the address."""
    words = environ.get("HTTP_AUTHORIZATION", "").split()
    return words[-1] if words else environ.get("REMOTE_ADDR", "")


@contextmanager
def one_write() -> Iterator[None]:
    """Let the request be one of the writes under way: ``with one_write():``. Raises TooBusy."""
    try:
        with current_app.extensions["writes"].one(find_caller(request.environ)):
            count("writes_under_way")
            try:
                yield
            finally:
                count("writes_under_way", -1)
    except TooBusy:
        count("writes_refused")
        raise
