"""Carries a request of the HTTP client to a WSGI application in the same process."""

import io

from requests import PreparedRequest, Response
from requests.adapters import BaseAdapter, HTTPAdapter
from urllib3 import HTTPResponse
from werkzeug.test import EnvironBuilder, run_wsgi_app


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
        body, status, headers = run_wsgi_app(self._application, environ, buffered=True)
        raw = HTTPResponse(
            body=io.BytesIO(b"".join(body)),
            headers=dict(headers),
            status=int(status.split()[0]),
            preload_content=False,
        )
        return self._http.build_response(request, raw)

    def close(self) -> None:
        self._http.close()
