"""Serves the optimized images. They need no token, and clients may cache them for a day."""

import hashlib
import re
from contextlib import nullcontext
from io import BytesIO

from flask import Blueprint, Response, abort, request, send_file

from marketplace.api.limits import IMAGES, hold
from marketplace.errors import Hidden, PreconditionFailed
from marketplace.services import read, services
from marketplace.store import decisions
from marketplace.store.media import MAX_AGE_SECONDS, PLACEHOLDER, TYPES, large_of

KEY = re.compile(r"[0-9a-f]{64}(?:-320|-640)?\.(?:webp|gif|png)")

blp = Blueprint("media", __name__)


@blp.get("/media/<key>")
def show_media(key: str) -> Response:
    """Serve an optimized image"""
    if key == PLACEHOLDER.name:
        content = PLACEHOLDER.read_bytes()
        etag = hashlib.sha256(content).hexdigest()
        response = _send(content, "image/webp", etag, PLACEHOLDER.name)
    elif KEY.fullmatch(key):
        _require_not_hidden(key)
        etag, _, extension = key.partition(".")
        is_known = request.if_none_match.contains_weak(etag)
        response = _send(b"" if is_known else _read(key), TYPES[extension], etag)
    else:
        abort(404)
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Access-Control-Allow-Origin"] = "*"  # they are public: a canvas may read them
    response.headers["Content-Security-Policy"] = "default-src 'none'"
    return _make_conditional(response)


def _send(content: bytes, mimetype: str, etag: str, name: str | None = None) -> Response:
    return send_file(
        BytesIO(content),
        mimetype,
        download_name=name,
        etag=etag,
        max_age=MAX_AGE_SECONDS,
        conditional=False,
    )


def _make_conditional(response: Response) -> Response:
    """Answer the request's conditions, then its range: RFC 9110, 13.2.2.

    werkzeug looks at the range first, refuses (416) one of another unit, and several ranges, and takes
    ``If-Match: *`` for no match.
    """
    size, wanted, environ = response.content_length, request.range, request.environ
    if request.if_match.star_tag:
        environ = {name: value for name, value in environ.items() if name != "HTTP_IF_MATCH"}
    response.make_conditional(environ)
    if response.status_code == 412:
        raise PreconditionFailed
    response.accept_ranges = "bytes"
    is_one = wanted is not None and wanted.units == "bytes" and len(wanted.ranges) == 1
    if request.method == "GET" and response.status_code == 200 and is_one:
        response.make_conditional(environ, accept_ranges=True, complete_length=size)
    return response


def _read(key: str) -> bytes:
    media = services().media
    with hold(IMAGES) if media.is_remote else nullcontext():
        content = media.get(key)
    if content is None:
        abort(404)
    return content


def _require_not_hidden(key: str) -> None:
    """Raise Hidden for an image that only hidden NFTs have."""
    if decisions.is_image_hidden(read(), large_of(key)):
        raise Hidden("This image")
