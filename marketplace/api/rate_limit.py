"""How often one may: writes of each access token, end user and address; failed authentication of an address.

Reads with a valid token are not counted here: nginx limits them (deploy/nginx.conf). A window begins with the
first request of a token or an address, and ends after a second, a minute or an hour.
"""

import re
import time
from functools import lru_cache
from ipaddress import ip_address, ip_network
from math import ceil

from flask import Flask, current_app, request
from flask_limiter import Limiter
from limits import (
    RateLimitItem,
    RateLimitItemPerHour,
    RateLimitItemPerMinute,
    RateLimitItemPerSecond,
)

from marketplace.counts import count
from marketplace.errors import LimitExceeded, StartRefused
from marketplace.store import rate_limit_store  # noqa: F401 - it is the store of addresses that begin with file:
from marketplace.wsgi_environ import END_USER, TOKEN_NAME

FAILED_LIMIT = "30/m"

UNITS = {"s": RateLimitItemPerSecond, "m": RateLimitItemPerMinute, "h": RateLimitItemPerHour}

# In the WSGI environment: the rate of the access token, where it has one of its own.
RATE = "marketplace.rate"

_match_with_port = re.compile(r"\[([^]]+)\](?::\d+)?|([\d.]+):\d+").fullmatch

# For an answer of a Redis server: what an add may spend beside its own seconds.
PATIENCE_SECONDS = 0.2
# After a failure nothing is counted for so long, or each request would wait for a store that hangs.
REST_SECONDS = 5


class RateLimits:
    """What an application lets through. Where its store of counters fails, that is everything."""

    def __init__(self, app: Flask) -> None:
        """Raises StartRefused for a store that can not be used."""
        config = app.config
        self._write = config["WRITE_LIMIT"]
        self._failed = "off" if self._write == "off" else FAILED_LIMIT
        url = config["REDIS_URL"] or f"file:{config['DATA_DIR']}/rate-limits"
        self._limiter = Limiter(
            find_address,
            storage_uri=url,
            storage_options=_options(url),
            strategy="fixed-window",
        )
        # Known beforehand, it leaves out its hooks, of which ours are none: half of what a read costs.
        app.extensions.setdefault("limiter", set()).add(self._limiter)
        self._limiter.init_app(app)
        # Other services may count in the same Redis database.
        self._whose = f"nft-marketplace/{config['NETWORK']}/{config['ACCOUNT_ID']}"
        self._resting_until = 0.0
        self._is_broken = False

    def count_write(self) -> None:
        """Count an authenticated request that writes. Raises LimitExceeded.

        Where the end user is named, it is his: the token and the address are those of all that he is one of.
        """
        name, own_rate = request.environ.get(TOKEN_NAME), request.environ.get(RATE)
        if end_user := request.environ.get(END_USER):
            who = f"The end user {end_user}" + (f" of the access token {name}" if name else "")
            self._count(own_rate or self._write, "end_user", who, "write")
            return
        if name is not None:
            self._count(own_rate or self._write, "token", f"The access token {name}", "write")
        if own_rate is None:  # or its rate would be that of its address
            self._count(self._write, "address", f"The address {find_address()}", "write")

    def count_failed(self) -> None:
        """Count a request that failed to authenticate. Raises LimitExceeded."""
        who = f"The address {find_address()}"
        self._count(self._failed, "address", who, "fail to authenticate")

    def _count(self, rate: str, by: str, who: str, what: str) -> None:
        item = _item(rate)
        if item is None or time.monotonic() < self._resting_until:
            return
        storage, strategy = self._limiter.storage, self._limiter.limiter
        counter = (self._whose, what, who)
        try:
            if strategy.hit(item, *counter):
                self._note_whole()
                return
            ends_at = storage.get_expiry(item.key_for(*counter))
            is_first = strategy.hit(type(item)(1), *counter, "log")
        except storage.base_exceptions as error:
            self._rest(error)
            return
        seconds = max(1, ceil(ends_at - time.time()))
        limit = f"{who} may {what} {_words(item)}"
        if is_first:
            current_app.logger.warning("%s: what is more is answered 429 for %d s", limit, seconds)
        count("requests_limited", by=by)
        raise LimitExceeded(limit, seconds)

    def _note_whole(self) -> None:
        if self._is_broken:
            self._is_broken = False
            current_app.logger.warning("Requests are counted again, and limits hold")

    def _rest(self, error: Exception) -> None:
        self._resting_until = time.monotonic() + REST_SECONDS
        if not self._is_broken:
            self._is_broken = True
            current_app.logger.error("Requests can not be counted, and no limit holds: %s", error)


@lru_cache
def _item(rate: str) -> RateLimitItem | None:
    amount, _, unit = rate.partition("/")
    return UNITS[unit](int(amount)) if unit else None


def _words(item: RateLimitItem) -> str:
    """Such as: 600 times a minute."""
    times = "once" if item.amount == 1 else f"{item.amount} times"
    unit = item.GRANULARITY.name
    return f"{times} an {unit}" if unit == "hour" else f"{times} a {unit}"


def find_address() -> str:
    """Who is asking, as far as the network knows. Of IPv6, the /64 that one machine usually has to itself."""
    text = (request.remote_addr or "of a Unix socket")[:64]
    if with_port := _match_with_port(text):  # as some proxies write it: another for each connection
        text = with_port[1] or with_port[2]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:  # as a trusted proxy wrote it
        return text
    if address.version == 4:
        return str(address)
    return str(address.ipv4_mapped or ip_network((address, 64), strict=False))


def _options(url: str) -> dict:
    """What the client of a Redis server is told, to try no longer than a request can wait."""
    if not url.startswith("redis"):
        return {}
    try:
        from redis.backoff import NoBackoff
        from redis.retry import Retry
    except ImportError as error:
        raise StartRefused(
            f"MARKETPLACE_REDIS_URL is set, and redis is not installed ({error}):"
            " pip install 'nft-marketplace-service[redis]', or in a clone pip install redis"
        ) from error
    # Once more, as a connection that was kept may be gone.
    retry = Retry(NoBackoff(), 1)
    return {
        "socket_connect_timeout": PATIENCE_SECONDS,
        "socket_timeout": PATIENCE_SECONDS,
        "retry": retry,
    }
