"""Conditional and compressed responses: the ETag, 304, gzip and HEAD of every response under /v1.

werkzeug's make_conditional() needs a Response object. To build one takes longer than to answer from here.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable
from typing import NamedTuple
from wsgiref.types import StartResponse, WSGIEnvironment

from werkzeug.http import parse_accept_header, parse_etags

from marketplace.wsgi_environ import ROUTE

MIN_GZIP_BYTES = 1000
GZIP_LEVEL = 5
# Only the client caches a response, and asks each time whether it is still valid.
CACHING = ("Cache-Control", "private, no-cache")
VARY = ("Vary", "Accept-Encoding")


class EncodedBody(NamedTuple):
    """A body in one encoding, plain or gzip, with its headers."""

    tag: str  # the ETag without its quotes
    headers: list[tuple[str, str]]  # of a 200; a 304 has all but the last, Content-Length
    body: bytes


def _encoded(tag: str, headers: Iterable[tuple[str, str]], body: bytes) -> EncodedBody:
    own = [("ETag", f'"{tag}"'), ("Content-Length", str(len(body)))]
    return EncodedBody(tag, [*headers, *own], body)


class WholeResponse:
    """A complete 200, its route, and its gzip form once a client has accepted gzip."""

    __slots__ = ("_gzipped", "_plain", "_route")

    def __init__(self, headers: list[tuple[str, str]], body: bytes, route: str) -> None:
        self._route = route
        own = [(name, value) for name, value in headers if name != "Content-Length"]
        tag = hashlib.sha256(body)  # half the time of other hashes, if the processor supports it
        tag.update(dict(own).get("Link", "").encode())  # a page is new if its Link is
        self._plain = _encoded(tag.hexdigest()[:32], [*own, VARY], body)
        self._gzipped: EncodedBody | None = None

    @property
    def size(self) -> int:
        """Bytes, with room for the compressed body."""
        return 2 * len(self._plain.body)

    def send(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ[ROUTE] = self._route
        tag, headers, body = self._choose(environ.get("HTTP_ACCEPT_ENCODING"))
        known = environ.get("HTTP_IF_NONE_MATCH")
        if known and parse_etags(known).contains_weak(tag):
            start_response("304 NOT MODIFIED", headers[:-1])
            return []
        start_response("200 OK", headers)
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    def _choose(self, accepted: str | None) -> EncodedBody:
        plain = self._plain
        if not accepted or len(plain.body) < MIN_GZIP_BYTES:
            return plain
        if not parse_accept_header(accepted).quality("gzip"):
            return plain
        if self._gzipped is None:
            body = gzip.compress(plain.body, GZIP_LEVEL, mtime=0)
            headers = [*plain.headers[:-2], ("Content-Encoding", "gzip")]
            self._gzipped = _encoded(f"{plain.tag}-gzip", headers, body)
        return self._gzipped
