"""Serves the optimised images. They need no token, and clients may cache them for ever."""

import re
from contextlib import nullcontext
from io import BytesIO

from flask import Blueprint, Response, abort, request, send_file

from marketplace.services import services
from marketplace.store.media import MAX_AGE_SECONDS, PLACEHOLDER, TYPES

KEY = re.compile(r"[0-9a-f]{64}(?:-320|-640)?\.(?:webp|gif|png)")

blp = Blueprint("media", __name__)


@blp.get("/media/<key>")
def show_media(key: str) -> Response:
    """Serve an optimised image"""
    if key == PLACEHOLDER.name:
        response = send_file(PLACEHOLDER, max_age=MAX_AGE_SECONDS)
    elif KEY.fullmatch(key):
        etag, _, extension = key.partition(".")
        content = b"" if request.if_none_match.contains(etag) else _read(key)
        image = BytesIO(content)
        response = send_file(image, TYPES[extension], etag=etag, max_age=MAX_AGE_SECONDS)
    else:
        abort(404)
    response.cache_control.immutable = True
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Access-Control-Allow-Origin"] = "*"  # they are public: a canvas may read them
    response.headers["Content-Security-Policy"] = "default-src 'none'"
    return response


def _read(key: str) -> bytes:
    media = services().media
    with services().image_reads.one() if media.is_remote else nullcontext():
        content = media.get(key)
    if content is None:
        abort(404)
    return content
