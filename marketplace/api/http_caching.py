"""Conditional and compressed responses: the ETag and gzip of every 200 to a GET under /v1."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable
from typing import NamedTuple
from wsgiref.types import StartResponse, WSGIEnvironment

from flask import Response
from werkzeug.http import is_entity_header, parse_accept_header, parse_etags

MIN_GZIP_BYTES = 1000
GZIP_LEVEL = 5
# Only the client caches a response, and asks each time whether it is still valid.
CACHING = "private, no-cache"


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

    @classmethod
    def of(cls, response: Response) -> FinishedResponse:
        """The bytes of a response that encode() has completed."""
        tag, _ = response.get_etag()
        return cls(response.headers.to_wsgi_list(), response.get_data(), tag or "")

    def send(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer as werkzeug does, which would first build a Response: that takes longer."""
        known = environ.get("HTTP_IF_NONE_MATCH")
        if known and parse_etags(known).contains_weak(self.tag):
            headers = [each for each in self.headers if not is_entity_header(each[0])]
            start_response("304 NOT MODIFIED", headers)
            return []
        start_response("200 OK", [*self.headers])  # a layer in front may add to them
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [self.body]
