"""HAPI over gRPC-web, for the SDK in a browser: WSGI middleware on the service's own port.

Source: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md, and the JavaScript SDK's WebChannel. It
sends an empty POST of / first, and wants a grpc-status.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from flask import Flask
from grpc import StatusCode
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge
from werkzeug.wsgi import get_input_stream

from marketplace import times
from marketplace.sandbox.hapi.services import MAX_REQUEST_BYTES, METHODS, Malformed
from marketplace.wsgi_environ import ROUTE

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

CONTENT_TYPES = ("application/grpc-web", "application/grpc-web+proto")
PREFIXES = ("/proto.", "/com.hedera.mirror.")
HEADER_BYTES = 5  # of a frame: its kind and its length
DATA, TRAILERS = 0, 0x80
CORS = [
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", "grpc-status, grpc-message"),
]
PREFLIGHT = [
    ("Access-Control-Allow-Methods", "POST"),
    ("Access-Control-Allow-Headers", "content-type, x-user-agent, x-grpc-web, grpc-timeout"),
    ("Access-Control-Max-Age", "3600"),
]


class Refused(Exception):
    """A gRPC status other than OK, with a message."""

    def __init__(self, status: StatusCode, message: str) -> None:
        super().__init__(message)
        self.status = status


class GrpcWeb:
    """Answers gRPC-web, and passes all other requests on."""

    def __init__(self, application: "WSGIApplication", sandbox: Flask) -> None:
        self._application, self._sandbox = application, sandbox

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        is_ours = path.startswith(PREFIXES)
        if method == "OPTIONS" and "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in environ:
            asked = environ.get("HTTP_ACCESS_CONTROL_REQUEST_HEADERS", "").lower()
            if is_ours or (path == "/" and "x-grpc-web" in asked):
                start_response("204 No Content", CORS + PREFLIGHT)
                return []
        elif method == "POST" and (is_ours or (path == "/" and _content_type(environ))):
            return self._answer(path, environ, start_response)
        return self._application(environ, start_response)

    def _answer(
        self, path: str, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        try:
            messages = self._call(path, environ)
        except Refused as refusal:
            return _refuse(refusal, start_response)
        frames = [_frame(DATA, message) for message in messages]
        body = b"".join([*frames, _frame(TRAILERS, b"grpc-status:0\r\n")])
        return _start(start_response, body, [])

    def _call(self, path: str, environ: "WSGIEnvironment") -> list[bytes]:
        answer = METHODS.get(path)
        if answer is None:
            raise Refused(StatusCode.UNIMPLEMENTED, f"There is no method {path!a}")
        environ[ROUTE] = path
        if _content_type(environ) not in CONTENT_TYPES:
            raise Refused(
                StatusCode.INVALID_ARGUMENT, f"The Content-Type is not {CONTENT_TYPES[1]}"
            )
        content = _read_message(environ)
        try:
            with self._sandbox.app_context():
                return answer(content, times.now())
        except Malformed as error:
            raise Refused(StatusCode.INVALID_ARGUMENT, str(error)) from error


def _content_type(environ: "WSGIEnvironment") -> str | None:
    """The content type, if it is one of gRPC-web."""
    content_type = environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
    return content_type if content_type.startswith(CONTENT_TYPES[0]) else None


def _read_message(environ: "WSGIEnvironment") -> bytes:
    """The one message of a request's body. Raises Refused."""
    try:
        most = MAX_REQUEST_BYTES + HEADER_BYTES
        body = get_input_stream(environ, max_content_length=most).read(most + 1)
    except RequestEntityTooLarge:
        body = bytes(most + 1)
    except (HTTPException, OSError) as error:
        raise Refused(StatusCode.INVALID_ARGUMENT, "The body can not be read") from error
    if len(body) > most:
        raise Refused(
            StatusCode.RESOURCE_EXHAUSTED, f"A request has {MAX_REQUEST_BYTES} bytes at most"
        )
    length = int.from_bytes(body[1:HEADER_BYTES])
    if len(body) < HEADER_BYTES or body[0] != DATA or length != len(body) - HEADER_BYTES:
        raise Refused(StatusCode.INVALID_ARGUMENT, "The body is not one frame of gRPC-web")
    return body[HEADER_BYTES:]


def _frame(kind: int, content: bytes) -> bytes:
    return bytes((kind,)) + len(content).to_bytes(4) + content


def _refuse(refusal: Refused, start_response: "StartResponse") -> Iterable[bytes]:
    number, _ = refusal.status.value
    headers = [("grpc-status", str(number)), ("grpc-message", str(refusal))]
    return _start(start_response, b"", headers)


def _start(
    start_response: "StartResponse", body: bytes, headers: list[tuple[str, str]]
) -> Iterable[bytes]:
    length = ("Content-Length", str(len(body)))
    start_response("200 OK", [("Content-Type", CONTENT_TYPES[1]), length, *headers, *CORS])
    return [body]
