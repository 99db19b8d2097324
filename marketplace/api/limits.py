"""Limits: writes of a token, end user and address; failed authentication of an address; work at once.

Reads with a valid token are limited by nginx (deploy/nginx.conf), not here. A window begins with the first
request of a token or an address, and ends after a second, a minute or an hour. Each process counts by itself.
"""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from ipaddress import ip_address, ip_network
from math import ceil
from typing import NamedTuple

from flask import Config, Flask, current_app, request
from limits import RateLimitItem
from limits import parse as parse_rate
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

from marketplace.errors import LimitExceeded, TryAgain
from marketplace.metrics import count
from marketplace.store.access_tokens import VISITORS
from marketplace.wsgi_environ import END_USER, TOKEN_NAME, TOKEN_RATE

FAILED_LIMIT = "30/m"

UNITS = {"s": "second", "m": "minute", "h": "hour"}
WORDS = {"s": "a second", "m": "a minute", "h": "an hour"}

KEY = "marketplace.rate_limits"  # in the application's extensions

# How long a request waits for a free place: writes come in bursts, and browsers ask for all images of a
# page at once. After one has waited without success, the next ones do not wait until a place is free.
PAUSE_SECONDS = 0.25
# In a worker of eight threads. Writes may wait for the ledger; in the sandbox they never do.
WRITES_AT_ONCE = 5
WRITES_AT_ONCE_IN_SANDBOX = 1000
IMAGES_AT_ONCE = 2  # reads of a bucket, which may not answer

WRITES, IMAGES = "marketplace.writes", "marketplace.images"  # in the application's extensions

_match_with_port = re.compile(r"\[([^]]+)\](?::\d+)?|([\d.]+):\d+").fullmatch


class RateLimits:
    """The rate limits of an application."""

    def __init__(self, config: Config) -> None:
        self._write = config["WRITE_LIMIT"]
        self._failed = "off" if self._write == "off" else FAILED_LIMIT
        self._storage = MemoryStorage()
        self._windows = FixedWindowRateLimiter(self._storage)

    def count_write(self, number: int = 1) -> None:
        """Count an authenticated write, or several. Raises LimitExceeded.

        An end user whom the host names has its own count, because many may share an address. Visitors count
        by their addresses alone.
        """
        name, own_rate = request.environ.get(TOKEN_NAME), request.environ.get(TOKEN_RATE)
        if end_user := request.environ.get(END_USER):
            self._count(self._write, "end_user", f"The end user {end_user}", "write", number)
            return
        if name not in (None, VISITORS):
            self._count(
                own_rate or self._write, "token", f"The access token {name}", "write", number
            )
        if own_rate is None:  # otherwise the address would limit the token's own rate
            self._count(self._write, "address", f"The address {find_address()}", "write", number)

    def count_failed(self) -> None:
        """Count a request that failed to authenticate. Raises LimitExceeded."""
        who = f"The address {find_address()}"
        self._count(self._failed, "address", who, "fail to authenticate")

    def _count(self, rate: str, by: str, who: str, what: str, number: int = 1) -> None:
        limit = _parse(rate)
        if limit is None or self._windows.hit(limit.item, what, who, cost=number):
            return
        ends_at = self._windows.get_window_stats(limit.item, what, who).reset_time
        seconds = max(1, ceil(ends_at - time.time()))
        sentence = f"{who} may {what} {limit.words}"
        counted = self._storage.get(limit.item.key_for(what, who))
        if counted - number <= limit.item.amount:
            current_app.logger.warning(
                "%s: more requests are answered 429 for %d s", sentence, seconds
            )
        count("requests_limited", by=by)
        raise LimitExceeded(sentence, seconds)


def rate_limits() -> RateLimits:
    """The rate limits of the current application."""
    own: RateLimits = current_app.extensions[KEY]
    return own


def init_app(app: Flask) -> None:
    app.extensions[KEY] = RateLimits(app.config)
    is_sandbox = app.config["NETWORK"] == "sandbox"
    writes = WRITES_AT_ONCE_IN_SANDBOX if is_sandbox else WRITES_AT_ONCE
    app.extensions[WRITES] = ConcurrencyLimit(writes, refused="writes_refused")
    app.extensions[IMAGES] = ConcurrencyLimit(IMAGES_AT_ONCE)


class Limit(NamedTuple):
    """A rate, and how messages call it: 600 times a minute."""

    item: RateLimitItem
    words: str


@lru_cache
def _parse(rate: str) -> Limit | None:
    """Read a rate as the settings have it: 600/m, or off."""
    amount, _, unit = rate.partition("/")
    times = "once" if amount == "1" else f"{amount} times"
    return Limit(parse_rate(f"{amount}/{UNITS[unit]}"), f"{times} {WORDS[unit]}") if unit else None


def find_address() -> str:
    """The client's IP address. For IPv6, its /64 network, which usually belongs to one client."""
    text = (request.remote_addr or "of a Unix socket")[:64]
    if with_port := _match_with_port(text):  # some proxies add the connection's port
        text = with_port[1] or with_port[2]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:  # any text from a trusted proxy
        return text
    if address.version == 4:
        return str(address)
    return str(address.ipv4_mapped or ip_network((address, 64), strict=False))


class ConcurrencyLimit:
    """Allows N requests at once."""

    def __init__(self, most: int, refused: str | None = None) -> None:
        """``refused``: the metric that counts refused requests."""
        self._refused = refused
        self._room = threading.Semaphore(most)
        self._is_quick = True

    @contextmanager
    def one(self) -> Iterator[None]:
        """Hold one of the places. Raises TryAgain."""
        self._is_quick = self._room.acquire(timeout=PAUSE_SECONDS if self._is_quick else 0)
        if not self._is_quick:
            if self._refused:
                count(self._refused)
            raise TryAgain(
                "Too many requests are in progress. Nothing was done; try again", retry_after=2
            )
        try:
            yield
        finally:
            self._room.release()


def hold(key: str) -> AbstractContextManager[None]:
    """Hold one of the current application's places: for WRITES, or for IMAGES. Raises TryAgain."""
    limit: ConcurrencyLimit = current_app.extensions[key]
    return limit.one()
