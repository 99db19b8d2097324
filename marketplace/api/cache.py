"""Cached answers: values from rows, and responses. Valid until a commit, or while their rows are the same."""

from __future__ import annotations

import gzip
import hashlib
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from sys import getsizeof
from typing import Any, NamedTuple, TypeVar
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from cachetools import FIFOCache
from flask import Flask, Response, g, request
from werkzeug.http import is_entity_header, parse_accept_header, parse_etags, parse_set_header

from marketplace.hedera import times
from marketplace.metrics import count
from marketplace.services import services
from marketplace.store.access_tokens import AccessTokenRow
from marketplace.store.engine import Engine
from marketplace.wsgi_environ import REQUEST_CACHE, ROUTE, TOKEN_NAME

MAX_BYTES = 64 * 1024 * 1024
OVERHEAD_BYTES, ROW_BYTES = 2000, 4000  # of an entry, and of a row's names: generous estimates
MIN_GZIP_BYTES = 1000
GZIP_LEVEL = 5
# Only the client caches a response, and asks each time whether it is still valid.
CACHING = "private, no-cache"
# Pages that are the same for everybody: caches may share them, and they say "3 minutes ago".
SHARED_CACHING = "public, no-cache"
PAGE_SECONDS = 20
VARY = {"origin", "accept-encoding"}  # the headers of a request that are in the key

# Key of the application's extensions: the pattern of these pages' paths. They must be made without a token.
PAGES = "marketplace.pages"

Key = str | tuple[str, ...]
Row = TypeVar("Row")


class CachedQuery(NamedTuple):
    """A query function of store/, its arguments, and the row that it returned."""

    query: Callable[..., Any]
    arguments: tuple[object, ...]
    row: Any


@dataclass(slots=True)
class Entry:
    value: Any
    data_version: object
    queries: Sequence[CachedQuery]  # none: it is true only for its version
    until: int | None  # Unix time in nanoseconds
    size: int


class VersionedCache:
    """The cache of a process. When it is full, the oldest entries go first."""

    def __init__(self, database: Engine, max_bytes: int) -> None:
        self._database = database
        self._entries: FIFOCache[Key, Entry] = FIFOCache(max_bytes, lambda entry: entry.size)
        self._storing = threading.Lock()

    def find(self, key: Key, data_version: object) -> Any:
        """Find a value that is valid for the database's current data version, or None.

        While the data version cannot be read (None), nothing is found or stored.
        """
        try:
            entry = self._entries[key]
        except KeyError:
            return None
        if data_version is None or (entry.until is not None and entry.until <= times.now()):
            return None
        if entry.data_version != data_version:
            if not self._is_unchanged(entry.queries):
                return None
            # Several threads may write their versions here. Each version is correct.
            entry.data_version = data_version
        return entry.value

    def find_page(self, key: Key, data_version: object) -> Any:
        """Find a page. When it becomes too old, one request makes it again; others get it a second longer."""
        entry, now = self._entries.get(key), times.now()
        if entry and entry.until and entry.until <= now < entry.until + PAGE_SECONDS * times.SECOND:
            entry.until = now + times.SECOND
            return None
        return self.find(key, data_version)

    def _is_unchanged(self, queries: Sequence[CachedQuery]) -> bool:
        try:
            db: Any = self._database.connection
            return bool(queries) and all(
                query(db, *arguments) == row for query, arguments, row in queries
            )
        except Exception:
            return False  # computing the value again meets the same error, and reports it

    def store(
        self,
        key: Key,
        value: Any,
        data_version: object,
        queries: Sequence[CachedQuery],
        until: int | None = None,
        size: int = 0,
    ) -> None:
        """Store a value of ``size`` bytes. ``data_version`` was read before the rows of ``queries``."""
        if data_version is None:
            return
        size += OVERHEAD_BYTES + sum(map(len, key))
        for query in queries:
            values = query.row.values() if isinstance(query.row, dict) else query.row or ()
            size += ROW_BYTES + sum(map(getsizeof, values))
        with self._storing:
            if size <= self._entries.maxsize:
                self._entries[key] = Entry(value, data_version, queries, until, size)


def accepts_gzip(environ: WSGIEnvironment) -> bool:
    accepted = environ.get("HTTP_ACCEPT_ENCODING")
    return bool(accepted) and parse_accept_header(accepted).quality("gzip") > 0


def encode(response: Response, environ: WSGIEnvironment) -> None:
    """Compress a response if the client accepts it, and set its ETag."""
    body = response.get_data()
    response.content_length = len(body)
    digest = hashlib.sha256(body)  # half the time of other hashes, if the processor supports it
    digest.update(response.headers.get("Link", "").encode())  # a page is new if its Link is
    tag = digest.hexdigest()[:32]
    if len(body) >= MIN_GZIP_BYTES and accepts_gzip(environ):
        response.set_data(gzip.compress(body, GZIP_LEVEL, mtime=0))
        response.content_encoding = "gzip"
        tag = f"{tag}-gzip"
    response.headers.add("Vary", "Accept-Encoding")
    response.set_etag(tag)


def make_conditional(response: Response, environ: WSGIEnvironment) -> None:
    """Answer 304 if the client has this ETag. Other conditions of a request are ignored."""
    if "HTTP_IF_NONE_MATCH" in environ:
        names = ("REQUEST_METHOD", "HTTP_IF_NONE_MATCH")
        response.make_conditional({name: environ[name] for name in names})
        response.headers.remove("Date")  # every server adds its own


class FinishedResponse(NamedTuple):
    """The bytes of a 200 in one encoding."""

    headers: list[tuple[str, str]]
    body: bytes
    tag: str  # the ETag without its quotes

    def send(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer as werkzeug does, which would first build a Response: that takes longer."""
        known = environ.get("HTTP_IF_NONE_MATCH")
        if known and parse_etags(known).contains_weak(self.tag):
            headers = [each for each in self.headers if not is_entity_header(each[0])]
            start_response("304 NOT MODIFIED", headers)
            return []
        start_response("200 OK", [*self.headers])  # a layer in front may add to them
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [self.body]


class RequestCache:
    """The cache as one request uses it, with the data version of the request's beginning."""

    __slots__ = ("_cache", "_data_version", "_key", "is_page", "queries", "until")

    def __init__(
        self,
        cache: VersionedCache,
        data_version: object,
        key: tuple[str, ...],
        is_page: bool,
    ) -> None:
        """With an empty ``key``, the response is not stored."""
        self._cache, self._data_version, self._key = cache, data_version, key
        self.is_page = is_page
        self.queries: list[CachedQuery] = []  # by cached_query()
        # Unix time in nanoseconds: when it must leave the cache
        self.until = times.now() + PAGE_SECONDS * times.SECOND if is_page else None

    def find_token(self, authorization: str) -> CachedQuery | None:
        """Find the valid access token of an Authorization header, which may read."""
        token: CachedQuery | None = self._cache.find(authorization, self._data_version)
        return token

    def store_token(self, authorization: str, found: CachedQuery, until: int) -> None:
        row: AccessTokenRow = found.row
        if row["expires_at"]:
            until = min(until, times.to_nanoseconds(row["expires_at"]))
        self._cache.store(authorization, found, self._data_version, [found], until)

    def store_response(self, response: Response) -> None:
        """Store the response to this request, which encode() has completed, unless it is for one caller.

        A page is stored until the next commit. Does not store a host's own response, which reads no rows: no
        commit would end its validity. A host's hooks may make a response depend on more than what is in the
        key.
        """
        reads_freely = self.is_page or "reads_freely" in g
        varies = parse_set_header(",".join(response.headers.getlist("Vary"))).as_set()
        is_for_everyone = "Set-Cookie" not in response.headers and varies <= VARY
        if not self._key or not (reads_freely or self.queries) or not is_for_everyone:
            return
        body, (tag, _) = response.get_data(), response.get_etag()
        finished = FinishedResponse(response.headers.to_wsgi_list(), body, tag or "")
        cached = finished, request.environ.get(ROUTE, "none")
        queries = [] if reads_freely else self.queries
        self._cache.store(self._key, cached, self._data_version, queries, self.until, len(body))


def request_cache() -> RequestCache:
    """The RequestCache of the current request."""
    cache: RequestCache = request.environ[REQUEST_CACHE]
    return cache


def cached_query(query: Callable[..., Row], *arguments: object) -> Row:
    """Run a query, and record its row: the response stays cached while the query finds the same row.

    If a request also reads with read(), its response stays cached until the next commit, as without this.
    """
    row = query(services().database.connection, *arguments)
    request_cache().queries.append(CachedQuery(query, arguments, row))
    return row


def finish(response: Response) -> Response:
    """Complete a response to GET under /v1, or of a page, after all hooks, and cache it."""
    cache: RequestCache | None = request.environ.get(REQUEST_CACHE)
    if cache is None:
        return response
    response.headers["Cache-Control"] = SHARED_CACHING if cache.is_page else CACHING
    is_whole = not response.is_streamed and not response.content_encoding  # by a host's hook
    if response.status_code == 200 and is_whole:
        encode(response, request.environ)
        cache.store_response(response)
        make_conditional(response, request.environ)
    return response


class ResponseCache:
    """The middleware. ``asks_host``: a host decides who may read, so Flask answers each request."""

    def __init__(self, application: WSGIApplication, app: Flask, asks_host: bool) -> None:
        own, config = services(app), app.config
        self._application, self._asks_host = application, asks_host
        self._prefix, self._origins = f"{config['API_PREFIX']}/v1/", config["CORS_ORIGINS"]
        self._database = own.database
        self._cache = VersionedCache(own.database, MAX_BYTES)
        self._pages: re.Pattern[str] | None = None if asks_host else app.extensions.get(PAGES)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = f"/{environ.get('PATH_INFO', '').lstrip('/')}"  # werkzeug reads the path like this
        method = environ["REQUEST_METHOD"] = environ["REQUEST_METHOD"].upper()  # as werkzeug does
        is_api = path.startswith(self._prefix)
        is_page = not is_api and self._pages is not None and bool(self._pages.fullmatch(path))
        if method not in ("GET", "HEAD") or not (is_api or is_page):
            return self._application(environ, start_response)
        key = () if self._asks_host else self._make_key(path, environ, is_page)
        data_version = self._database.data_version()
        find = self._cache.find_page if is_page else self._cache.find
        cached = find(key, data_version)
        authorization = environ.get("HTTP_AUTHORIZATION", "")
        token = cached and not is_page and self._cache.find(authorization, data_version)
        if not cached or not (token or is_page):
            environ[REQUEST_CACHE] = RequestCache(self._cache, data_version, key, is_page)
            count("response_cache_requests", outcome="miss")
            return self._application(environ, start_response)
        finished: FinishedResponse
        finished, environ[ROUTE] = cached
        if token:
            environ[TOKEN_NAME] = token.row["name"]
        count("response_cache_requests", outcome="hit")
        return finished.send(environ, start_response)

    def _make_key(self, path: str, environ: WSGIEnvironment, is_page: bool) -> tuple[str, ...]:
        """Everything in a request that its response may depend on. A page has its own address.

        The page's origin matters only if it is allowed: the response to any other is the same.
        """
        get = environ.get
        origin = get("HTTP_ORIGIN", "")
        if origin and origin not in self._origins:
            origin = "*" if "*" in self._origins else ""
        encoding = "gzip" if accepts_gzip(environ) else ""
        site = (environ["wsgi.url_scheme"], get("HTTP_HOST", "")) if is_page else ()
        return path, get("QUERY_STRING", ""), get("SCRIPT_NAME", ""), origin, encoding, *site
