"""WSGI middleware that refuses HTTP/1.1 without a Host: RFC 9112, 3.2.

It stands before the cache, which answers whatever the Host is.
"""

import json
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from werkzeug import Response

from marketplace.api import error_handlers
from marketplace.errors import BadHost


class HostRequired:
    """The middleware. HTTP/1.0 has no Host."""

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("SERVER_PROTOCOL") == "HTTP/1.1" and "HTTP_HOST" not in environ:
            content = json.dumps(error_handlers.body(BadHost("is missing")))
            return Response(content, 400, mimetype="application/json")(environ, start_response)
        return self._application(environ, start_response)
