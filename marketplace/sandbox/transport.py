"""Carries a request of the HTTP client to a WSGI application in the same process."""

import io
import json
from http import HTTPStatus

from requests import PreparedRequest, Response
from requests.adapters import BaseAdapter, HTTPAdapter
from urllib3 import HTTPResponse
from werkzeug.test import EnvironBuilder, run_wsgi_app

from marketplace.errors import MarketplaceError


class SandboxUnusable(MarketplaceError):
    """The sandbox's own database is gone, or has no room: no mirror node's doing, and not to be sat out."""

    status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self, message: str, retry_after: str) -> None:
        super().__init__(f"In the sandbox: {message}", headers={"Retry-After": retry_after})


class WSGIAdapter(BaseAdapter):
    """A transport adapter for ``requests``: the client does all it does, but no socket is opened."""

    def __init__(self, application, prefix: str) -> None:
        super().__init__()
        self._application = application
        self._prefix = prefix
        self._http = HTTPAdapter()

    def send(self, request: PreparedRequest, **options) -> Response:
        environ = EnvironBuilder(
            path=request.url.removeprefix(self._prefix),
            method=request.method,
            headers=dict(request.headers),
            data=request.body or b"",
        ).get_environ()
        parts, line, headers = run_wsgi_app(self._application, environ, buffered=True)
        body, status = b"".join(parts), int(line.split()[0])
        if status == HTTPStatus.SERVICE_UNAVAILABLE and b"can not be used" in body:
            raise SandboxUnusable(json.loads(body)["message"], headers["Retry-After"])
        raw = HTTPResponse(
            body=io.BytesIO(body),
            headers=dict(headers),
            status=status,
            preload_content=False,
        )
        return self._http.build_response(request, raw)

    def close(self) -> None:
        self._http.close()
