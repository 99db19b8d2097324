"""How an answer is kept, and why it can never be stale: a WSGI layer in front of the application.

An answer to a GET under /v1 is kept with the database's version that was read before the answer was made.
It is given again only while the database still has that version, which is read again for every request:
no commit of any process on this machine lies between. A token that is revoked is a commit; one that
expires is compared with the clock each time.

The same layer speaks HTTP's own means for all of these answers, kept or not: ETag and 304, HEAD, gzip.
"""

import gzip
import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from flask import Flask
from werkzeug.http import parse_accept_header, parse_etags, quote_etag

from marketplace.store.engine import Engine

MAX_KEPT_BYTES = 64 * 1024 * 1024
MAX_KEY_LENGTH = 1000  # characters: nobody asks twice for a longer address
MAX_TOKENS = 10_000
MAX_WHOLE_BYTES = 1024 * 1024  # a longer answer is passed on as it comes: no ETag, not kept
MIN_GZIP_BYTES = 1000
GZIP_LEVEL = 5
CACHING = (
    ("Cache-Control", "private, no-cache"),
    ("Vary", "Authorization, Accept-Encoding, Origin"),
)

# In the WSGI environment, Unix time: until when the request's token may read. Set by authenticate(), or
# here before it is asked, where it said so about this version of the database.
EXPIRES_AT = "marketplace.expires_at"


class Form(NamedTuple):
    """An answer as it goes over the wire: plain, or compressed."""

    tag: str  # as it stands between the quotes of an ETag
    headers: tuple[tuple[str, str], ...]
    body: bytes


class KeptAnswer:
    """A whole 200, and its compressed form once somebody asked for it."""

    __slots__ = ("_gzipped", "_plain")

    def __init__(self, headers: list[tuple[str, str]], body: bytes) -> None:
        own = [(name, value) for name, value in headers if name != "Content-Length"]
        tag = hashlib.blake2b(body, digest_size=16)
        tag.update(dict(own).get("Link", "").encode())  # a page is another one when another follows
        self._plain = Form(tag.hexdigest(), tuple(own), body)
        self._gzipped = None

    @property
    def size(self) -> int:
        """Bytes, generously: with the compressed body, the headers and the key."""
        return 2 * len(self._plain.body) + 2 * MAX_KEY_LENGTH

    def send(self, environ: dict, start_response: Callable) -> Iterable[bytes]:
        tag, headers, body = self._choose(environ.get("HTTP_ACCEPT_ENCODING"))
        # A list of its own each time: a layer in front may add to it.
        headers = [*headers, ("ETag", quote_etag(tag))]
        if parse_etags(environ.get("HTTP_IF_NONE_MATCH")).contains_weak(tag):
            start_response("304 NOT MODIFIED", headers)
            return []
        start_response("200 OK", [*headers, ("Content-Length", str(len(body)))])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    def _choose(self, accepted: str | None) -> Form:
        plain = self._plain
        if len(plain.body) < MIN_GZIP_BYTES or not parse_accept_header(accepted).quality("gzip"):
            return plain
        if self._gzipped is None:
            body = gzip.compress(plain.body, GZIP_LEVEL, mtime=0)
            headers = (*plain.headers, ("Content-Encoding", "gzip"))
            self._gzipped = Form(f"{plain.tag}-gzip", headers, body)
        return self._gzipped


class _Chunks:
    """A body that is still being made: iterated once, and closed as WSGI asks."""

    def __init__(self, chunks: Iterator[bytes], close: Callable[[], None]) -> None:
        self._chunks, self.close = chunks, close

    def __iter__(self) -> Iterator[bytes]:
        return self._chunks


class _Passed(NamedTuple):
    """What is passed on as the application made it: an error, or a list that is too long to hold."""

    status: str
    headers: list[tuple[str, str]]
    chunks: _Chunks

    def send(self, environ: dict, start_response: Callable) -> Iterable[bytes]:
        start_response(self.status, self.headers)
        if environ["REQUEST_METHOD"] == "HEAD":
            self.chunks.close()
            return []
        return self.chunks


class _Version:
    """What is kept about one version of the database: answers, and tokens with their expiry."""

    def __init__(self, stamp: tuple[int, int] | None) -> None:
        self.stamp = stamp
        self._answers: OrderedDict[tuple, KeptAnswer] = OrderedDict()
        self._tokens: dict[str, float] = {}
        self._size = 0
        self._lock = threading.Lock()

    def find(self, key: tuple) -> KeptAnswer | None:
        return self._answers.get(key)

    def expiry(self, authorization: str | None) -> float | None:
        """Until when this header may read; None where that is not known, or over."""
        expires_at = self._tokens.get(authorization)
        return expires_at if expires_at is not None and time.time() < expires_at else None

    def keep(self, authorization: str, expires_at: float, key: tuple, answer: KeptAnswer) -> None:
        if len(authorization) > MAX_KEY_LENGTH or sum(map(len, key)) > MAX_KEY_LENGTH:
            return
        with self._lock:
            if len(self._tokens) >= MAX_TOKENS:
                self._tokens.clear()
            self._tokens[authorization] = expires_at
            replaced = self._answers.pop(key, None)
            self._answers[key] = answer
            self._size += answer.size - (replaced.size if replaced else 0)
            while self._size > MAX_KEPT_BYTES:
                _, oldest = self._answers.popitem(last=False)
                self._size -= oldest.size


class KeptAnswers:
    """The layer. Where a host brings its own authentication, nothing is kept: it is asked each time."""

    def __init__(self, application, prefix: str, database: Engine, may_keep: bool) -> None:
        self._application = application
        self._prefix = f"{prefix}/v1/"
        self._database = database
        self._may_keep = may_keep
        self._version = _Version(None)

    def __call__(self, environ: dict, start_response: Callable) -> Iterable[bytes]:
        path = f"/{environ.get('PATH_INFO', '').lstrip('/')}"  # as werkzeug reads it
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD") or not path.startswith(self._prefix):
            return self._application(environ, start_response)
        environ.pop(EXPIRES_AT, None)  # what another service of the same host may have found
        stamp = self._database.stamp() if self._may_keep else None
        if stamp is None:
            return self._ask(environ).send(environ, start_response)
        version = self._version
        if version.stamp != stamp:
            version = self._version = _Version(stamp)
        variables = ("QUERY_STRING", "SCRIPT_NAME", "HTTP_ORIGIN")
        key = (path, *[environ.get(name, "") for name in variables])
        authorization = environ.get("HTTP_AUTHORIZATION")
        expires_at = version.expiry(authorization)
        if expires_at is not None:
            answer = version.find(key)
            if answer is not None:
                return answer.send(environ, start_response)
            environ[EXPIRES_AT] = expires_at
        answer = self._ask(environ)
        if isinstance(answer, KeptAnswer) and EXPIRES_AT in environ:
            version.keep(authorization, environ[EXPIRES_AT], key, answer)
        return answer.send(environ, start_response)

    def _ask(self, environ: dict) -> KeptAnswer | _Passed:
        """Let the application answer."""
        method, environ["REQUEST_METHOD"] = environ["REQUEST_METHOD"], "GET"
        try:
            status, headers, chunks = _run(self._application, environ)
        finally:
            environ["REQUEST_METHOD"] = method
        headers = [(name, value) for name, value in headers if name != "Vary"] + [*CACHING]
        if status.startswith("200 "):
            body, chunks = _read_up_to(chunks, MAX_WHOLE_BYTES)
            if chunks is None:
                return KeptAnswer(headers, body)
        return _Passed(status, headers, chunks)


def _run(application, environ: dict) -> tuple[str, list[tuple[str, str]], _Chunks]:
    """Call a WSGI application, up to its first byte if its status is not known before."""
    started: list = []

    def start_response(status, headers, exc_info=None):
        started[:] = (status, headers)

    body = application(environ, start_response)
    chunks = iter(body)
    if not started:
        chunks = chain([next(chunks, b"")], chunks)
    status, headers = started
    return status, headers, _Chunks(chunks, getattr(body, "close", lambda: None))


def _read_up_to(chunks: _Chunks, size: int) -> tuple[bytes, _Chunks | None]:
    """Read a body whole; or, where it is longer, return what follows with what was read put back."""
    read, length = [], 0
    for chunk in chunks:
        read.append(chunk)
        length += len(chunk)
        if length > size:
            return b"", _Chunks(chain(read, chunks), chunks.close)
    chunks.close()
    return b"".join(read), None


def init_app(app: Flask, *, may_keep: bool) -> None:
    app.wsgi_app = KeptAnswers(
        app.wsgi_app, app.config["API_PREFIX"], app.extensions["database"], may_keep
    )
