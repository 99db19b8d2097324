"""Every request is timed, counted and numbered here: a WSGI layer in front of all others.

Its time is until the answer begins: how long a client takes to read it says nothing of the service. The id
is sent with every error, and stands in the log.
"""

import logging
import os
import re
import secrets
from collections.abc import Callable, Iterable
from functools import cache
from itertools import count
from time import perf_counter

from flask import Flask, has_request_context, request

from marketplace.counts import Counts
from marketplace.services import services
from marketplace.wsgi_environ import CACHE_OUTCOME, REQUEST_ID, ROUTE

METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
HEADER = "X-Request-ID"

_match_id = re.compile("[A-Za-z0-9._-]{1,64}").fullmatch


def _number() -> None:
    """Begin to number requests. No two processes give a request the same id."""
    global next_id
    next_id = map((secrets.token_hex(4) + "-{:x}").format, count(1)).__next__


_number()
os.register_at_fork(after_in_child=_number)


class RequestMetrics:
    """The layer. Methods that are none, and addresses without a route, are counted under one name each."""

    def __init__(
        self, application, counts: Counts, believes_proxies: bool, is_logged: bool
    ) -> None:
        self._application = application
        self._observe = counts.observe
        self._believes_proxies = believes_proxies
        # Who writes no access log has no use for the id of what went well.
        self._numbers_all = is_logged or believes_proxies

    def __call__(self, environ: dict, start_response: Callable) -> Iterable[bytes]:
        began = perf_counter()
        status = "500"
        if self._numbers_all:
            self._number(environ)

        def start(line, headers, exc_info=None):
            nonlocal status
            status = line[:3]
            if status >= "400":
                headers = [*headers, (HEADER, identify(environ))]
            return start_response(line, headers, exc_info)

        try:
            return self._application(environ, start)
        finally:
            method = environ["REQUEST_METHOD"]
            key = (
                "request_duration_seconds",
                method if method in METHODS else "other",
                environ.get(ROUTE, "none"),
                status,
            )
            self._observe(key, perf_counter() - began, environ.get(CACHE_OUTCOME))

    def _number(self, environ: dict) -> None:
        given = environ.get("HTTP_X_REQUEST_ID", "") if self._believes_proxies else ""
        environ[REQUEST_ID] = given if _match_id(given) else next_id()


def identify(environ: dict) -> str:
    """The id of a request, from its first use on."""
    return environ.get(REQUEST_ID) or environ.setdefault(REQUEST_ID, next_id())


@cache
def _shown(rule: str) -> str:
    """A rule without its converters: /v1/nft/<tokenId>/<serialNo>."""
    return re.sub(r"<\w+:", "<", rule)


def name_routes(app: Flask, mount: str = "") -> None:
    """Have an application note the route of each request that it finds one for."""

    def note_route():
        if request.url_rule is not None:
            request.environ[ROUTE] = mount + _shown(request.url_rule.rule)

    app.before_request_funcs.setdefault(None, []).insert(0, note_route)


def name_request(record: logging.LogRecord) -> bool:
    """Have each line of the log say which request it is about."""
    if has_request_context() and isinstance(record.msg, str):
        record.msg = f"{record.msg} (request {identify(request.environ)})"
    return True


def init_app(app: Flask) -> None:
    name_routes(app)
    app.logger.addFilter(name_request)
    app.wsgi_app = RequestMetrics(
        app.wsgi_app,
        services(app).counts,
        believes_proxies=app.config["TRUSTED_PROXIES"] > 0,
        is_logged=app.config["ACCESS_LOG"] != "off",
    )
