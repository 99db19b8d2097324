"""The Flask application, and what surrounds each request: its ID, its metrics, its lines in the log, CORS."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable
from functools import cache, cached_property
from textwrap import indent
from time import perf_counter
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from flask import Config, Flask, Response, has_request_context, request
from flask.json.provider import DefaultJSONProvider
from flask.logging import create_logger
from flask_cors import CORS

from marketplace.api.cache import finish
from marketplace.metrics import observe
from marketplace.text import printable
from marketplace.wsgi_environ import REQUEST_ID, ROUTE, TOKEN_NAME

METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
HEADER = "X-Request-ID"
MAX_BODY_BYTES = 64 * 1024
PREFLIGHT_SECONDS = 3600
EXPOSED_HEADERS = "ETag, Link, Retry-After, WWW-Authenticate, X-Events-Cursor, X-Request-ID"

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
            seconds, token = perf_counter() - began, environ.get(TOKEN_NAME)
            observe(counted_as, route, status, seconds, token)


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


def find_paths(config: Config) -> re.Pattern[str]:
    """The paths of the API, known or not, which pages of other origins may read."""
    prefix = re.escape(config["API_PREFIX"])
    return re.compile(rf"{prefix}/v1(/|\Z)|{prefix}/openapi\.json\Z|/status\Z")


def allow_origins(app: Flask) -> None:
    """Allow pages of CORS_ORIGINS to call the API with an access token, also at unknown paths.

    Cookies are never allowed, so to forbid a header or a method would protect nothing. An allowed page may
    send all of them, and so reads our error in place of the browser's own "network error".
    """
    origins = app.config["CORS_ORIGINS"]
    if not origins:
        return
    paths = find_paths(app.config)
    # Compiled, because flask-cors guesses which texts are patterns, and takes an IPv6 address for one.
    named = [re.compile(rf"{re.escape(origin)}\Z") for origin in origins]
    CORS(
        app,
        resources=[paths],
        origins="*" if origins == ("*",) else named,
        expose_headers=EXPOSED_HEADERS,
        max_age=PREFLIGHT_SECONDS,
        send_wildcard=True,
        always_send=False,
        supports_credentials=False,
        # Chrome sends a preflight before a page of the internet may call a service in the user's own network.
        allow_private_network=True,
    )

    @app.before_request
    def answer_preflight() -> tuple[str, int] | None:
        """Answer before the routing: after a 404 the browser would not send the request itself."""
        is_preflight = (
            request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers
        )
        return ("", 204) if is_preflight and paths.match(request.path) else None


def name_request(record: logging.LogRecord) -> bool:
    """Add the id of the current request to a line of the log."""
    if has_request_context() and isinstance(record.msg, str):
        record.msg = f"{record.msg} (request {identify(request.environ)})"
    return True


def make_printable(record: logging.LogRecord) -> bool:
    """Escape unprintable characters in the message and the traceback. Returns True: each record is logged."""
    try:
        message = record.getMessage()
    except Exception:
        return True  # logging itself reports what is wrong with the record
    record.msg, record.args = printable(message).replace("\n", r"\n"), ()
    if record.exc_info:
        traceback = logging.Formatter().formatException(record.exc_info)
        record.exc_text = indent(printable(traceback), "  ")
    return True


def make_logger(app: Flask) -> logging.Logger:
    """Make an application's log. If the host has already configured logging, Flask adds no handler."""
    logger = create_logger(app)
    logger.addFilter(make_printable)
    logger.addFilter(name_request)
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)  # includes what was signed, unless a host has set a level
    return logger


class JSONProvider(DefaultJSONProvider):
    """Flask's own, which keeps the order of keys."""

    sort_keys = False


class Application(Flask):
    """An application whose views are synchronous. It keeps double slashes in URLs."""

    json_provider_class = JSONProvider

    def __init__(self, name: str, **config: Any) -> None:
        super().__init__(name, static_folder=None)
        self.config.update(config, MAX_CONTENT_LENGTH=MAX_BODY_BYTES)
        self.url_map.merge_slashes = False

    @cached_property
    def logger(self) -> logging.Logger:
        """The log, made when it is first used: until then the host may configure logging."""
        return make_logger(self)

    def process_response(self, response: Response) -> Response:
        return finish(super().process_response(response))
