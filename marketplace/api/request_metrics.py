"""Outermost WSGI middleware: times and counts every request, and gives it an id.

The time ends when the response begins: how fast a client reads it says nothing about the service. The id is
in the header of every error, and in the log.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable
from functools import cache
from time import perf_counter
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from flask import Flask, has_request_context, request

from marketplace.metrics import count_token, observe
from marketplace.wsgi_environ import REQUEST_ID, ROUTE, TOKEN_NAME

METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
HEADER = "X-Request-ID"

_match_id = re.compile("[A-Za-z0-9._-]{1,64}").fullmatch


class RequestMetrics:
    """The middleware. It counts all unknown methods as "other", and all paths without a route as "none"."""

    def __init__(self, application: WSGIApplication, *, trusts_proxies: bool) -> None:
        self._application, self._trusts_proxies = application, trusts_proxies

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        began = perf_counter()
        status = "500"
        if self._trusts_proxies:
            given = environ.get("HTTP_X_REQUEST_ID", "")
            environ[REQUEST_ID] = given if _match_id(given) else _new_id()

        def start(
            line: str, headers: list[tuple[str, str]], exc_info: Any = None
        ) -> Callable[[bytes], object]:
            nonlocal status
            status = line[:3]
            if status >= "400":
                headers = [*headers, (HEADER, identify(environ))]
            return start_response(line, headers, exc_info)

        try:
            return self._application(environ, start)
        finally:
            method, route = environ["REQUEST_METHOD"], environ.get(ROUTE, "none")
            counted_as = method if method in METHODS else "other"
            observe(counted_as, route, status, perf_counter() - began)
            if name := environ.get(TOKEN_NAME):
                count_token(name, writes=method == "POST")


def _new_id() -> str:
    return os.urandom(8).hex()


def identify(environ: WSGIEnvironment) -> str:
    """The id of a request. It is made on first use."""
    return str(environ.get(REQUEST_ID) or environ.setdefault(REQUEST_ID, _new_id()))


@cache
def _remove_converters(rule: str) -> str:
    """A URL rule without its converters: /v1/nft/<tokenId>/<serialNo>."""
    return re.sub(r"<\w+:", "<", rule)


def name_routes(app: Flask, mount: str = "") -> None:
    """Note the route of each request in its environment. Call this before any other before_request()."""

    @app.before_request
    def note_route() -> None:
        rule = request.url_rule
        if rule is not None:
            request.environ[ROUTE] = mount + _remove_converters(rule.rule)


def name_request(record: logging.LogRecord) -> bool:
    """Add the id of the current request to a line of the log."""
    if has_request_context() and isinstance(record.msg, str):
        record.msg = f"{record.msg} (request {identify(request.environ)})"
    return True
