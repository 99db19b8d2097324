"""HAPI over gRPC-web, for the SDK in a browser, on the service's own port.

Source: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md, and the JavaScript SDK's WebChannel. It
first sends an empty POST to /, and expects a grpc-status.
"""

import re
from base64 import b64decode, b64encode
from binascii import Error as BinasciiError
from wsgiref.types import WSGIEnvironment

from flask import Blueprint, Response, request
from google.protobuf.message import DecodeError
from grpc import StatusCode
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from hiero_sandbox.conditions import now
from hiero_sandbox.hapi.errors import Failed
from hiero_sandbox.hapi.services import MAX_REQUEST_BYTES, METHODS

TEXT = "application/grpc-web-text"
CONTENT_TYPES = ("application/grpc-web", "application/grpc-web+proto", TEXT, f"{TEXT}+proto")
PREFIXES = ("/proto.", "/com.hedera.mirror.")
HEADER_BYTES = 5  # of a frame: its kind and its length
DATA, TRAILERS = 0, 0x80
EXPOSED = {"Access-Control-Expose-Headers": "grpc-status, grpc-message"}

blp = Blueprint("hapi", __name__)


def is_first(environ: WSGIEnvironment) -> bool:
    """Whether a request is the SDK's first one, or the browser's preflight request for it."""
    asked = environ.get("HTTP_ACCESS_CONTROL_REQUEST_HEADERS", "").lower()
    is_web = environ.get("CONTENT_TYPE") in CONTENT_TYPES or "x-grpc-web" in asked
    return is_web and environ["PATH_INFO"] == "/"


@blp.post("/")
@blp.post("/proto.<service>/<method>")
@blp.post("/com.hedera.mirror.<service>/<method>")
def answer_call(**path: str) -> Response:
    answer = METHODS.get(request.path)
    if answer is None:
        raise Failed(StatusCode.UNIMPLEMENTED, f"The sandbox has no method {request.path!a}")
    if request.mimetype not in CONTENT_TYPES:
        raise Failed(StatusCode.INVALID_ARGUMENT, f"The Content-Type is not {CONTENT_TYPES[1]}")
    try:
        frames = [_frame(DATA, message) for message in answer(_read_message(), now())]
    except DecodeError as error:
        raise Failed(StatusCode.INVALID_ARGUMENT, str(error)) from error
    body = b"".join([*frames, _frame(TRAILERS, b"grpc-status:0\r\n")])
    return Response(
        b64encode(body) if _is_text() else body, headers=EXPOSED, content_type=_content_type()
    )


@blp.errorhandler(Failed)
def show_failure(failure: Failed) -> Response:
    number, _ = failure.status.value
    shown = {"grpc-status": str(number), "grpc-message": str(failure)}
    return Response(headers=EXPOSED | shown, content_type=_content_type())


def _is_text() -> bool:
    """Whether the body is in base64, as React Native sends and expects it: it can't read bytes."""
    return request.mimetype.startswith(TEXT)


def _content_type() -> str:
    return f"{TEXT}+proto" if _is_text() else CONTENT_TYPES[1]


def _read_message() -> bytes:
    """The one message of a request's body. Raises Failed."""
    most = MAX_REQUEST_BYTES + HEADER_BYTES
    request.max_content_length = 2 * most if _is_text() else most
    try:
        body = _decode(request.get_data()) if _is_text() else request.get_data()
    except RequestEntityTooLarge:
        message = f"A request may have at most {MAX_REQUEST_BYTES} bytes"
        raise Failed(StatusCode.RESOURCE_EXHAUSTED, message) from None
    except (HTTPException, OSError, BinasciiError) as error:
        raise Failed(StatusCode.INVALID_ARGUMENT, "The body cannot be read") from error
    content = body[HEADER_BYTES:]
    if body != _frame(DATA, content):
        raise Failed(StatusCode.INVALID_ARGUMENT, "The body is not one frame of gRPC-web")
    return content


def _decode(body: bytes) -> bytes:
    """Decode base64 that may come in several parts, each with an end of its own."""
    return b"".join(b64decode(part, validate=True) for part in re.findall(rb"[^=]+=*", body))


def _frame(kind: int, content: bytes) -> bytes:
    return bytes((kind,)) + len(content).to_bytes(4) + content
