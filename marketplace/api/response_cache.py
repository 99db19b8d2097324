"""Caches responses to GET under /v1, and access tokens: store/versioned_cache.py says how long.

A GET is answered in one of two ways. If its access token and its response are cached, and still true, the
middleware sends finished bytes. Otherwise Flask answers, as any request, with all hooks of a host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from flask import Flask, Response, g, request
from werkzeug.http import parse_set_header

from marketplace.api import http_caching
from marketplace.api.http_caching import FinishedResponse
from marketplace.hedera import times
from marketplace.metrics import count
from marketplace.services import database, services
from marketplace.store import access_tokens
from marketplace.store.rows import AccessTokenRow
from marketplace.store.versioned_cache import CachedQuery, VersionedCache
from marketplace.wsgi_environ import ROUTE, TOKEN_NAME

MAX_BYTES = 64 * 1024 * 1024

# Key of the WSGI environment: the RequestCache.
REQUEST_CACHE = "marketplace.cache"

VARY = {"origin", "accept-encoding"}  # the headers of a request that are in the key

Row = TypeVar("Row")
Cached = tuple[FinishedResponse, str]  # with its route


class RequestCache:
    """The cache as one request uses it, with the data version of the request's beginning."""

    __slots__ = ("_cache", "_data_version", "_key", "queries", "until")

    def __init__(
        self, cache: VersionedCache, data_version: object, key: tuple[str, ...] | None
    ) -> None:
        """Without ``key``, no response is found or stored."""
        self._cache, self._data_version, self._key = cache, data_version, key
        self.queries: list[CachedQuery] = []  # by cached_query()
        self.until: int | None = None  # Unix time in nanoseconds: when it must leave the cache

    def find(self) -> Cached | None:
        """Find the response to this request."""
        cached: Cached | None = self._cache.find(self._key, self._data_version)
        return cached

    def store(self, response: Response) -> None:
        """Store the response to this request, unless it is meant for one caller.

        A response that was made without the database is a host's own. No commit would end it: it is left out.
        """
        is_of_rows = "reads_freely" in g or self.queries
        if self._key is None or not is_of_rows or not _is_for_everyone(response):
            return
        finished = FinishedResponse.of(response)
        queries = [] if "reads_freely" in g else self.queries
        cached = finished, request.environ.get(ROUTE, "none")
        self._cache.store(
            self._key, cached, self._data_version, queries, self.until, len(finished.body)
        )

    def find_token(self, authorization: str) -> AccessTokenRow | None:
        """Find the valid access token of an Authorization header, which may read."""
        token: AccessTokenRow | None = self._cache.find(authorization, self._data_version)
        return token

    def store_token(self, authorization: str, row: AccessTokenRow) -> None:
        query = CachedQuery(access_tokens.get_access_token, (row["hash"],), row)
        until = times.now() // times.DAY * times.DAY + times.DAY  # each day's first use is stored
        if row["expires_at"]:
            until = min(until, times.to_nanoseconds(row["expires_at"]))
        self._cache.store(authorization, row, self._data_version, [query], until)


def request_cache() -> RequestCache:
    """The RequestCache of the current request."""
    cache: RequestCache = request.environ[REQUEST_CACHE]
    return cache


def cached_query(query: Callable[..., Row], *arguments: object) -> Row:
    """Run a query, and record its row: the response stays cached while the query finds the same row.

    If a request also reads with read(), its response stays cached until the next commit, as without this.
    """
    row = query(database().connection, *arguments)
    request_cache().queries.append(CachedQuery(query, arguments, row))
    return row


def finish(response: Response) -> Response:
    """Complete a response to GET under /v1, after all hooks, and cache it."""
    cache: RequestCache | None = request.environ.get(REQUEST_CACHE)
    if cache is None:
        return response
    response.headers["Cache-Control"] = http_caching.CACHING
    is_whole = not response.is_streamed and not response.content_encoding  # by a host's hook
    if response.status_code == 200 and is_whole:
        http_caching.encode(response, request.environ)
        cache.store(response)
        http_caching.make_conditional(response, request.environ)
    return response


def _is_for_everyone(response: Response) -> bool:
    """Whether the response depends only on what is in the key. A host's hooks may add more."""
    varies = parse_set_header(",".join(response.headers.getlist("Vary"))).as_set()
    return "Set-Cookie" not in response.headers and varies <= VARY


class ResponseCache:
    """The middleware. ``asks_host``: a host decides who may read, so Flask answers each request."""

    def __init__(self, application: WSGIApplication, app: Flask, asks_host: bool) -> None:
        own, config = services(app), app.config
        self._application, self._asks_host = application, asks_host
        self._prefix, self._origins = f"{config['API_PREFIX']}/v1/", config["CORS_ORIGINS"]
        self._database = own.database
        self._cache = VersionedCache(own.database, MAX_BYTES)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = f"/{environ.get('PATH_INFO', '').lstrip('/')}"  # werkzeug reads the path like this
        method = environ["REQUEST_METHOD"] = environ["REQUEST_METHOD"].upper()  # as werkzeug does
        if method not in ("GET", "HEAD") or not path.startswith(self._prefix):
            return self._application(environ, start_response)
        key = None if self._asks_host else self._make_key(path, environ)
        cache = RequestCache(self._cache, self._database.data_version(), key)
        environ[REQUEST_CACHE] = cache
        cached = cache.find()
        token = cached and cache.find_token(environ.get("HTTP_AUTHORIZATION", ""))
        if not cached or not token:
            count("response_cache_requests", outcome="miss")
            return self._application(environ, start_response)
        finished, environ[ROUTE] = cached
        environ[TOKEN_NAME] = token["name"]
        count("response_cache_requests", outcome="hit")
        return finished.send(environ, start_response)

    def _make_key(self, path: str, environ: WSGIEnvironment) -> tuple[str, ...]:
        """Everything in a request that its response may depend on.

        The page's origin matters only if it is allowed: the response to any other is the same.
        """
        get = environ.get
        origin = get("HTTP_ORIGIN", "")
        if origin and origin not in self._origins:
            origin = "*" if "*" in self._origins else ""
        encoding = "gzip" if http_caching.accepts_gzip(environ) else ""
        return path, get("QUERY_STRING", ""), get("SCRIPT_NAME", ""), origin, encoding
