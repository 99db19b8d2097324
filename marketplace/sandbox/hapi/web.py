"""HAPI over gRPC-web, for the SDK in a browser: WSGI middleware on the service's own port.

Source: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md, and the JavaScript SDK's WebChannel. It
sends an empty POST of / first, and wants a grpc-status.
"""

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from flask import Flask
from google.protobuf.message import DecodeError
from grpc import StatusCode
from werkzeug import Request, Response
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from marketplace import times
from marketplace.sandbox.hapi.services import MAX_REQUEST_BYTES, METHODS
from marketplace.wsgi_environ import ROUTE

CONTENT_TYPES = ("application/grpc-web", "application/grpc-web+proto")
PREFIXES = ("/proto.", "/com.hedera.mirror.")
HEADER_BYTES = 5  # of a frame: its kind and its length
DATA, TRAILERS = 0, 0x80
CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "grpc-status, grpc-message",
}
PREFLIGHT = {
    "Access-Control-Allow-Methods": "POST",
    "Access-Control-Allow-Headers": "content-type, x-user-agent, x-grpc-web, grpc-timeout",
    "Access-Control-Max-Age": "3600",
}


class Refused(Exception):
    """A gRPC status other than OK, with a message."""

    def __init__(self, status: StatusCode, message: str) -> None:
        super().__init__(message)
        self.status = status


class GrpcWeb:
    """Answers gRPC-web, and passes all other requests on."""

    def __init__(self, application: WSGIApplication, sandbox: Flask) -> None:
        self._application, self._sandbox = application, sandbox

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        is_ours = request.path.startswith(PREFIXES)
        if request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers:
            asked = request.headers.get("Access-Control-Request-Headers", "").lower()
            if is_ours or (request.path == "/" and "x-grpc-web" in asked):
                return Response(status=204, headers=CORS | PREFLIGHT)(environ, start_response)
        elif request.method == "POST" and (is_ours or (request.path == "/" and _is_web(request))):
            return self._answer(request)(environ, start_response)
        return self._application(environ, start_response)

    def _answer(self, request: Request) -> Response:
        try:
            frames = [_frame(DATA, message) for message in self._call(request)]
        except Refused as refusal:
            number, _ = refusal.status.value
            refused = {"grpc-status": str(number), "grpc-message": str(refusal)}
            return Response(headers=CORS | refused, content_type=CONTENT_TYPES[1])
        body = b"".join([*frames, _frame(TRAILERS, b"grpc-status:0\r\n")])
        return Response(body, headers=CORS, content_type=CONTENT_TYPES[1])

    def _call(self, request: Request) -> list[bytes]:
        answer = METHODS.get(request.path)
        if answer is None:
            raise Refused(StatusCode.UNIMPLEMENTED, f"There is no method {request.path!a}")
        request.environ[ROUTE] = request.path
        if not _is_web(request):
            raise Refused(
                StatusCode.INVALID_ARGUMENT, f"The Content-Type is not {CONTENT_TYPES[1]}"
            )
        content = _read_message(request)
        try:
            with self._sandbox.app_context():
                return answer(content, times.now())
        except DecodeError as error:
            raise Refused(StatusCode.INVALID_ARGUMENT, str(error)) from error


def _is_web(request: Request) -> bool:
    return request.mimetype in CONTENT_TYPES


def _read_message(request: Request) -> bytes:
    """The one message of a request's body. Raises Refused."""
    request.max_content_length = MAX_REQUEST_BYTES + HEADER_BYTES
    try:
        body = request.get_data()
    except RequestEntityTooLarge:
        message = f"A request has {MAX_REQUEST_BYTES} bytes at most"
        raise Refused(StatusCode.RESOURCE_EXHAUSTED, message) from None
    except (HTTPException, OSError) as error:
        raise Refused(StatusCode.INVALID_ARGUMENT, "The body can not be read") from error
    content = body[HEADER_BYTES:]
    if body != _frame(DATA, content):
        raise Refused(StatusCode.INVALID_ARGUMENT, "The body is not one frame of gRPC-web")
    return content


def _frame(kind: int, content: bytes) -> bytes:
    return bytes((kind,)) + len(content).to_bytes(4) + content
