"""Caches responses to GET under /v1, and access tokens: store/versioned_cache.py says how long.

If the access token and the response are cached, the middleware answers. Otherwise Flask does, with all hooks
of a host: require_scope() authenticates the caller, and only then sends a cached response.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from flask import Flask, Response, request

from marketplace.api.http_caching import CACHING, WholeResponse
from marketplace.counts import key_of
from marketplace.hedera import times
from marketplace.services import services
from marketplace.store import access_tokens
from marketplace.store.database import read
from marketplace.store.rows import AccessTokenRow
from marketplace.store.versioned_cache import CachedQuery, VersionedCache
from marketplace.wsgi_environ import CACHE_OUTCOME, ROUTE, TOKEN_NAME

MAX_BYTES = 64 * 1024 * 1024
HIT, MISS = (key_of("response_cache_requests", outcome=outcome) for outcome in ("hit", "miss"))

# Key of the WSGI environment: the RequestCache.
REQUEST_CACHE = "marketplace.cache"

Row = TypeVar("Row")


class RequestCache:
    """The cache as one request uses it, with the data version of the request's beginning."""

    __slots__ = ("_cache", "_data_version", "_key", "queries", "response", "until")

    def __init__(
        self, cache: VersionedCache, data_version: object, key: tuple[str, ...] | None
    ) -> None:
        self._cache, self._data_version, self._key = cache, data_version, key
        self.response: WholeResponse | None = cache.find(key, data_version)
        self.queries: list[CachedQuery] = []  # the response is made from their rows
        self.until: int | None = None  # Unix time in nanoseconds: when it must leave the cache

    def store(self, response: WholeResponse) -> None:
        """Store the response to this request, which is made from ``queries``, until ``until``."""
        if self._key:
            self._cache.store(
                self._key, response, self._data_version, self.queries, self.until, response.size
            )

    def find_token(self, authorization: str) -> AccessTokenRow | None:
        """Find the valid access token of an Authorization header, which may read."""
        token: AccessTokenRow | None = self._cache.find(authorization, self._data_version)
        return token

    def store_token(self, authorization: str, row: AccessTokenRow) -> None:
        query = CachedQuery(access_tokens.get_access_token, (row["hash"],), row)
        until = times.to_nanoseconds(row["expires_at"]) if row["expires_at"] else None
        self._cache.store(authorization, row, self._data_version, [query], until)


def request_cache() -> RequestCache:
    """The RequestCache of the current request."""
    cache: RequestCache = request.environ[REQUEST_CACHE]
    return cache


def cached_query(query: Callable[..., Row], *arguments: object) -> Row:
    """Run a query, and record its row: the response stays cached while the query finds the same row.

    A view must read everything in its response with this function, or nothing.
    """
    row = query(read(), *arguments)
    request_cache().queries.append(CachedQuery(query, arguments, row))
    return row


class ResponseCache:
    """The middleware. ``asks_host``: a host decides who may read, and is asked each time."""

    def __init__(self, application: WSGIApplication, app: Flask, asks_host: bool) -> None:
        own, config = services(app), app.config
        self._application, self._asks_host = application, asks_host
        self._prefix, self._origins = f"{config['API_PREFIX']}/v1/", config["CORS_ORIGINS"]
        self._database, self._token_usage = own.database, own.token_usage
        self._cache = VersionedCache(own.database, MAX_BYTES)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = f"/{environ.get('PATH_INFO', '').lstrip('/')}"  # werkzeug reads the path like this
        method = environ["REQUEST_METHOD"] = environ["REQUEST_METHOD"].upper()  # as werkzeug does
        if method not in ("GET", "HEAD") or not path.startswith(self._prefix):
            return self._application(environ, start_response)

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            return start_response(status, [*headers, CACHING], exc_info)

        key = self._make_key(path, environ)
        cache = RequestCache(self._cache, self._database.data_version(), key)
        environ[REQUEST_CACHE], environ[CACHE_OUTCOME] = cache, MISS
        if cache.response and not self._asks_host:
            token = cache.find_token(environ.get("HTTP_AUTHORIZATION", ""))
            if token:
                environ[TOKEN_NAME] = token["name"]
                self._token_usage.note(token["hash"], time.time())
                return _send_cached(cache.response, environ, start)
        return self._application(environ, start)

    def _make_key(self, path: str, environ: WSGIEnvironment) -> tuple[str, ...] | None:
        """All of a request that its response may depend on. None: it is not cached.

        The page's origin matters only if it is allowed: the response to any other is the same.
        """
        get = environ.get
        if "HTTP_PREFER" in environ:
            return None
        origin = get("HTTP_ORIGIN", "")
        if origin and origin not in self._origins:
            origin = "*" if "*" in self._origins else ""
        return path, get("QUERY_STRING", ""), get("SCRIPT_NAME", ""), origin


def _send_cached(
    response: WholeResponse, environ: WSGIEnvironment, start_response: StartResponse
) -> Iterable[bytes]:
    environ[CACHE_OUTCOME] = HIT
    return response.send(environ, start_response)


class RowsResponse(Response):
    """A response of rows. If it is whole, it is cached when it is sent, with the headers that hooks added."""

    def __init__(self, json: str | Iterator[str], headers: Mapping[str, str]) -> None:
        super().__init__(json, headers=headers, content_type="application/json")

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if self.is_streamed or self.status_code != 200:
            return super().__call__(environ, start_response)
        headers = self.headers.to_wsgi_list()
        response = WholeResponse(headers, self.get_data(), environ[ROUTE])
        if all(name != "Set-Cookie" for name, _ in headers):  # it is meant for one caller
            environ[REQUEST_CACHE].store(response)
        self.close()
        return response.send(environ, start_response)


class CachedResponse(Response):
    """A cached response. Hooks may not add to it what it has already."""

    def __init__(self, cached: WholeResponse) -> None:
        super().__init__()
        self._cached = cached

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        return _send_cached(self._cached, environ, start_response)


def init_app(app: Flask, *, asks_host: bool) -> None:
    app.wsgi_app = ResponseCache(  # type: ignore[method-assign]
        app.wsgi_app, app, asks_host
    )
