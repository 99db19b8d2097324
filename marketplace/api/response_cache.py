"""Caches responses to GET under /v1, and never serves a stale one: WSGI middleware.

The database has a data version, which changes with each commit of any process. It is read at the beginning of
each request. A response is cached with the version that was read before the response was made, and with the
rows that it was made from. While the version stays the same, the cached response is served.

When the version has changed, the rows are read again. If they are the same, the response is still right, and
is cached with the new version. If they differ, or no row was recorded (a list), the application answers.
A response about the last 24 hours is cached only until its oldest sale is older than that.

Token permissions are cached the same way, and checked first. An expiry date is checked each time. If the
caller's permissions are not cached, and always if a host uses its own authentication, the application
authenticates the caller first, and only then the cached response is served.

If the token is cached and the response is not, the view is called here, without Flask's work around a view.
If the view raises an error, the application raises it again, and answers it.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from sys import getsizeof
from typing import Any, NamedTuple, TypeVar
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from cachetools import FIFOCache
from flask import Flask, g

from marketplace.api.application import current_request
from marketplace.api.cache_key import MAX_LENGTH, CacheKeys
from marketplace.api.http_caching import (
    CACHING,
    StreamedResponse,
    WholeResponse,
    call_application,
)
from marketplace.api.request_metrics import shown_rule
from marketplace.api.row_json import JSON, EncodedRows
from marketplace.counts import key_of
from marketplace.hedera import times
from marketplace.services import services
from marketplace.store.database import read
from marketplace.store.engine import Engine
from marketplace.wsgi_environ import CACHE_OUTCOME, IS_STREAMED, ROUTE, TOKEN_NAME

MAX_BYTES = 64 * 1024 * 1024
HIT, MISS = (key_of("response_cache_requests", outcome=outcome) for outcome in ("hit", "miss"))

# Key of the WSGI environment: the request's RequestCache.
REQUEST_CACHE = "marketplace.cache"

Row = TypeVar("Row")


class CachedQuery(NamedTuple):
    """A query of store/ with its arguments, and the row that it found."""

    query: Callable[..., Any]
    arguments: tuple[object, ...]
    row: Any

    def is_unchanged(self, db: Any) -> bool:
        return bool(self.query(db, *self.arguments) == self.row)

    @property
    def size(self) -> int:
        """A generous estimate in bytes, with the names of the columns."""
        values = self.row.values() if isinstance(self.row, dict) else self.row or ()
        return 4000 + sum(map(getsizeof, values))


class CachedToken(NamedTuple):
    """A valid token that may read, until when (Unix time), and the query for its row."""

    expires_at: float
    query: CachedQuery


@dataclass(slots=True)
class RequestCache:
    """The facts about a request. The first two come from the cache; the request sets the others."""

    token: CachedToken | None = None  # a valid one
    response: WholeResponse | None = None
    may_read: bool = False  # whether the caller is allowed to read
    error: Exception | None = None  # raised by the view; the application must raise it again
    queries: list[CachedQuery] = field(default_factory=list)  # the response is made from their rows
    until: int | None = None  # Unix time in nanoseconds: when the response must leave the cache


def request_cache() -> RequestCache:
    """The RequestCache of the current request."""
    environ = current_request().environ
    found: RequestCache = environ.get(REQUEST_CACHE) or environ.setdefault(
        REQUEST_CACHE, RequestCache()
    )
    return found


def cached_query(query: Callable[..., Row], *arguments: object) -> Row:
    """Run a query, and record its row: the response stays cached while the query finds the same row.

    A view must read everything in its response with this function, or nothing.
    """
    row = query(read(), *arguments)
    request_cache().queries.append(CachedQuery(query, arguments, row))
    return row


@dataclass(slots=True)
class _Entry:
    """A response or a token's permissions, the data version for which it is true, and its queries."""

    value: WholeResponse | CachedToken
    data_version: object
    queries: list[CachedQuery]
    size: int = 0  # bytes
    until: int | None = None

    def __post_init__(self) -> None:
        # A generous estimate, with the key and the objects around.
        self.size += sum(query.size for query in self.queries) + 2 * MAX_LENGTH

    def is_true(self, data_version: object, database: Engine) -> bool:
        """Whether it is true for the database now, which has this data version."""
        if self.until is not None and self.until <= times.now():
            return False
        if self.data_version == data_version:
            return True
        if not self.queries:
            return False
        db = database.connection
        if not all(query.is_unchanged(db) for query in self.queries):
            return False
        # Several threads may write their versions here: each of them is right.
        self.data_version = data_version
        return True


class ReadView(NamedTuple):
    """A view without its authentication, the pattern of its path, and its route."""

    match: Callable[[str], re.Match[str] | None]
    call: Callable[..., EncodedRows]
    route: str


# All views with the scope read, by the wrapper that authenticates the caller.
READ_VIEWS: dict[Callable[..., Any], Callable[..., EncodedRows]] = {}


class ResponseCache:
    """The middleware. ``caches_tokens``: whether only access tokens decide who may read, and no host."""

    def __init__(self, application: WSGIApplication, app: Flask, caches_tokens: bool) -> None:
        own = services(app)
        self._application, self._app, self._caches_tokens = application, app, caches_tokens
        self._keys = CacheKeys(app)
        self._views = list(_find_read_views(app))
        self._prefix = f"{app.config['API_PREFIX']}/v1/"
        self._database, self._token_usage = own.database, own.token_usage
        self._entries: FIFOCache[Hashable, _Entry] = FIFOCache(MAX_BYTES, lambda entry: entry.size)
        self._writing = threading.Lock()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = f"/{environ.get('PATH_INFO', '').lstrip('/')}"  # werkzeug reads the path like this
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD") or not path.startswith(self._prefix):
            return self._application(environ, start_response)
        for name in (REQUEST_CACHE, TOKEN_NAME, IS_STREAMED):
            environ.pop(name, None)  # set by another service in the same host application
        data_version = self._database.data_version()
        if data_version is None:
            return call_application(self._application, environ).send(environ, start_response)
        get = environ.get
        key = self._keys.make(path, environ)
        authorization = get("HTTP_AUTHORIZATION", "")
        token: CachedToken | None = self._find(authorization, data_version)
        cached: WholeResponse | None = self._find(key, data_version)
        if token is not None and (now := time.time()) >= token.expires_at:
            token = None
        if token is not None:
            environ[TOKEN_NAME] = token.query.row["name"]
            self._token_usage.note(token.query.row["hash"], now)
            if cached is not None:
                environ[CACHE_OUTCOME] = HIT
                return cached.send(environ, start_response)
        cache = environ[REQUEST_CACHE] = RequestCache(token, cached)
        response: WholeResponse | StreamedResponse | None = None
        if token is not None and not get("HTTP_ORIGIN"):
            response = self._call_view(path, environ, cache)
        if response is None:
            response = call_application(self._application, environ)
            cache.error = None  # its traceback refers to this frame
        if cache.may_read and cached is not None:
            response = cached
        environ[CACHE_OUTCOME] = HIT if response is cached else MISS
        if cache.may_read and sum(map(len, key)) + len(authorization) <= MAX_LENGTH:
            found = cache.token
            if self._caches_tokens and found is not None and found is not token:
                self._store(authorization, _Entry(found, data_version, [found.query]))
            if isinstance(response, WholeResponse) and response is not cached:
                queries, until = cache.queries, cache.until
                self._store(key, _Entry(response, data_version, queries, response.size, until))
        return response.send(environ, start_response)

    def _find(self, key: Hashable, data_version: object) -> Any:
        """Find the WholeResponse of a URL, or the CachedToken of an Authorization header."""
        try:
            entry = self._entries[key]
        except KeyError:
            return None
        try:
            return entry.value if entry.is_true(data_version, self._database) else None
        except Exception:
            return None  # the application meets the same error, and reports it

    def _call_view(
        self, path: str, environ: WSGIEnvironment, cache: RequestCache
    ) -> WholeResponse | StreamedResponse | None:
        """Call the view, for a caller who may read. None: the application must answer, or raise the error."""
        found = ((view, match) for view in self._views if (match := view.match(path)))
        view, match = next(found, (None, None))
        if view is None or match is None:
            return None
        with self._app.app_context():
            g.marketplace_request = self._app.request_class(environ, populate_request=False)
            try:
                rows = view.call(**match.groupdict())
            except Exception as error:
                cache.error = error
                return None
        cache.may_read = True
        headers = [("Content-Type", JSON), *rows.headers.items(), CACHING]
        if isinstance(rows.json, str):
            return WholeResponse(headers, rows.json.encode(), view.route)
        environ[ROUTE] = view.route
        return StreamedResponse("200 OK", headers, map(str.encode, rows.json))

    def _store(self, key: Hashable, entry: _Entry) -> None:
        with self._writing:
            if entry.size <= self._entries.maxsize:
                self._entries[key] = entry


def _find_read_views(app: Flask) -> Iterator[ReadView]:
    for rule in app.url_map.iter_rules():
        view = READ_VIEWS.get(app.view_functions[rule.endpoint])
        if view and "GET" in (rule.methods or ()):
            route = shown_rule(rule.rule)
            address = re.sub(r"<(\w+)>", r"(?P<\1>[!-.0-~]+)", re.escape(route))
            yield ReadView(re.compile(address).fullmatch, view, route)


def init_app(app: Flask, *, caches_tokens: bool) -> None:
    app.wsgi_app = ResponseCache(  # type: ignore[method-assign]
        app.wsgi_app, app, caches_tokens
    )
