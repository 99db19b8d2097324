"""Caches responses to GET under /v1, and never serves a stale one: WSGI middleware.

The database has a data version, which changes with each commit of any process. It is read at the beginning of
each request. A response is cached with the version that was read before the response was made, and with the
rows that it was made from. While the version stays the same, the cached response is served.

When the version has changed, the rows are read again. If they are the same, the response is still right, and
is cached with the new version. If they differ, or no row was recorded (a list), the application answers.

Token permissions are cached the same way, and checked first. An expiry date is checked each time.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from sys import getsizeof
from typing import Any, NamedTuple

from flask import Flask, request

from marketplace.api.http_caching import WholeResponse, call_application
from marketplace.counts import Counts, key_of
from marketplace.services import services
from marketplace.store.database import read
from marketplace.store.engine import Engine
from marketplace.store.token_usage import TokenUsage
from marketplace.wsgi_environ import CACHE_OUTCOME, TOKEN_NAME

MAX_KEPT_BYTES = 64 * 1024 * 1024
HIT, MISS = (key_of("kept_answers_asked", outcome=outcome) for outcome in ("hit", "miss"))
MAX_KEY_LENGTH = 1000  # characters: nobody asks twice for a longer address

# In the WSGI environment: the CachedToken of the request, set by authenticate(), or here before it is asked;
# and each CachedQuery that the answer is made of.
CACHED_TOKEN = "marketplace.cached_token"  # noqa: S105
CACHED_QUERIES = "marketplace.cached_queries"


class CachedQuery(NamedTuple):
    """A query of the store, and the row that it found."""

    query: Callable
    arguments: tuple
    row: Any

    def is_unchanged(self, db) -> bool:
        return self.query(db, *self.arguments) == self.row

    @property
    def size(self) -> int:
        """Bytes, generously: with the names of the columns."""
        return 4000 + sum(map(getsizeof, dict(self.row or ()).values()))


class CachedToken(NamedTuple):
    """Who may read until a Unix time, by the row of an access token."""

    expires_at: float
    query: CachedQuery


def cached_query(query: Callable, *arguments):
    """Run a query, and record its row: the response stays cached while the query finds the same row.

    A view reads all that its answer is made of in this way, or nothing.
    """
    row = query(read(), *arguments)
    request.environ.setdefault(CACHED_QUERIES, []).append(CachedQuery(query, arguments, row))
    return row


class _Entry:
    """A response or a token's permissions, the data version that it is true of, and the queries behind it."""

    __slots__ = ("_data_version", "_queries", "size", "what")

    def __init__(
        self, what: WholeResponse | CachedToken, size: int, data_version, queries: list[CachedQuery]
    ) -> None:
        self.what = what
        self._data_version = data_version
        self._queries = queries
        # Bytes, generously: with the key, and all that holds them together.
        self.size = size + sum(query.size for query in queries) + 2 * MAX_KEY_LENGTH

    def is_true(self, data_version, database: Engine) -> bool:
        """Tell whether it is true of the database as it is now, whose data_version was read just before."""
        if self._data_version == data_version:
            return True
        if not self._queries:
            return False
        db = database.connection
        if not all(query.is_unchanged(db) for query in self._queries):
            return False
        self._data_version = data_version  # each thread writes what it saw: all are right
        return True


class _Cache:
    """All that is kept, up to so many bytes: beyond them the oldest is forgotten."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._kept: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def find(self, key: Hashable) -> _Entry | None:
        return self._kept.get(key)

    def keep(self, key: Hashable, kept: _Entry) -> None:
        with self._lock:
            replaced = self._kept.pop(key, None)
            self._kept[key] = kept
            self._size += kept.size - (replaced.size if replaced else 0)
            while self._size > MAX_KEPT_BYTES:
                _, oldest = self._kept.popitem(last=False)
                self._size -= oldest.size
            self._counts.put(("kept_answers",), len(self._kept))
            self._counts.put(("kept_answers_bytes",), self._size)


class ResponseCache:
    """The layer. Where a host brings its own authentication, nothing is kept: it is asked each time."""

    def __init__(
        self,
        application,
        prefix: str,
        database: Engine,
        uses: TokenUsage,
        counts: Counts,
        may_keep: bool,
    ) -> None:
        self._application = application
        self._prefix = f"{prefix}/v1/"
        self._database = database
        self._uses = uses
        self._may_keep = may_keep
        self._cache = _Cache(counts)

    def __call__(self, environ: dict, start_response: Callable) -> Iterable[bytes]:
        path = f"/{environ.get('PATH_INFO', '').lstrip('/')}"  # as werkzeug reads it
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD") or not path.startswith(self._prefix):
            return self._application(environ, start_response)
        for found in (CACHED_TOKEN, TOKEN_NAME, CACHED_QUERIES):
            environ.pop(found, None)  # by another service of the same host
        data_version = self._database.data_version() if self._may_keep else None
        if data_version is None:
            return call_application(self._application, environ).send(environ, start_response)
        variables = ("QUERY_STRING", "SCRIPT_NAME", "HTTP_ORIGIN")
        key = (path, *[environ.get(name, "") for name in variables])
        authorization = environ.get("HTTP_AUTHORIZATION")
        cached_token = self._find(authorization, data_version)
        if cached_token is not None and (now := time.time()) < cached_token.expires_at:
            environ[TOKEN_NAME] = cached_token.query.row["name"]
            self._uses.note(cached_token.query.row["hash"], now)
            answer = self._find(key, data_version)
            if answer is not None:
                environ[CACHE_OUTCOME] = HIT
                return answer.send(environ, start_response)
            environ[CACHED_TOKEN] = cached_token
        environ[CACHE_OUTCOME] = MISS
        answer = call_application(self._application, environ)
        if (
            isinstance(answer, WholeResponse)
            and CACHED_TOKEN in environ
            and _is_short(authorization, *key)
        ):
            if environ[CACHED_TOKEN] is not cached_token:
                cached_token = environ[CACHED_TOKEN]
                self._cache.keep(
                    authorization, _Entry(cached_token, 0, data_version, [cached_token.query])
                )
            self._cache.keep(
                key, _Entry(answer, answer.size, data_version, environ.get(CACHED_QUERIES, []))
            )
        return answer.send(environ, start_response)

    def _find(self, key: Hashable, data_version) -> WholeResponse | CachedToken | None:
        kept = self._cache.find(key)
        try:
            return kept.what if kept and kept.is_true(data_version, self._database) else None
        except Exception:
            return None  # whatever is wrong, the application is asked, and tells it


def _is_short(authorization: str, *key: str) -> bool:
    return len(authorization) <= MAX_KEY_LENGTH and sum(map(len, key)) <= MAX_KEY_LENGTH


def init_app(app: Flask, *, may_keep: bool) -> None:
    app.wsgi_app = ResponseCache(
        app.wsgi_app,
        app.config["API_PREFIX"],
        services(app).database,
        services(app).token_usage,
        services(app).counts,
        may_keep,
    )
