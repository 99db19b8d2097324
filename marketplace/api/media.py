"""Serves the optimised images: without a token, and cached by clients for good."""

import re
from contextlib import nullcontext

from flask import Blueprint, Response, abort, request, send_file

from marketplace.services import services
from marketplace.store.media import MAX_AGE_SECONDS, PLACEHOLDER, TYPES

KEY = re.compile(r"[0-9a-f]{64}\.(?:webp|gif|png)")

blp = Blueprint("media", __name__)


@blp.get("/media/<key>")
def show_media(key: str) -> Response:
    """Serve an optimised image"""
    if key == PLACEHOLDER.name:
        response = send_file(PLACEHOLDER, max_age=MAX_AGE_SECONDS)
        response.cache_control.immutable = True
    elif KEY.fullmatch(key):
        response = _serve(key)
    else:
        abort(404)
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = "default-src 'none'"
    return response


def _serve(key: str) -> Response:
    etag = key.partition(".")[0]
    response = Response(mimetype=TYPES[key.rpartition(".")[2]])
    response.cache_control.max_age = MAX_AGE_SECONDS
    response.cache_control.public = True
    response.cache_control.immutable = True
    response.set_etag(etag)
    if request.if_none_match.contains(etag):
        response.status_code = 304
        return response
    media = services().media
    with services().image_reads.one() if media.is_remote else nullcontext():
        content = media.get(key)
    if content is None:
        abort(404)
    response.data = content
    return response
