"""Sends the HTTP client's requests to the sandbox in the same process."""

import io
import json
from http import HTTPStatus
from typing import Any
from wsgiref.types import WSGIApplication

from flask import Flask
from requests import PreparedRequest, Response
from requests.adapters import BaseAdapter, HTTPAdapter
from urllib3 import HTTPResponse
from werkzeug.test import Client

from marketplace.errors import SandboxUnusable
from marketplace.sandbox import gateway


class WSGIAdapter(HTTPAdapter):
    """A transport adapter for ``requests`` that opens no socket."""

    def __init__(self, application: WSGIApplication, prefix: str) -> None:
        super().__init__()
        self._client = Client(application, use_cookies=False)
        self._prefix = prefix

    def send(self, request: PreparedRequest, *args: Any, **options: Any) -> Response:
        answer = self._client.open(
            path=(request.url or "").removeprefix(self._prefix),
            method=request.method or "GET",
            headers=request.headers.items(),
            data=request.body or b"",
            buffered=True,
        )
        if answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE and b"not be used" in answer.data:
            message = f"In the sandbox: {json.loads(answer.data)['message']}"
            raise SandboxUnusable(message, retry_after=int(answer.headers["Retry-After"]))
        content, headers = io.BytesIO(answer.data), dict(answer.headers)
        raw = HTTPResponse(content, headers, answer.status_code, preload_content=False)
        return self.build_response(request, raw)


def make_gateway_adapters(prefix: str) -> dict[str, BaseAdapter]:
    """Make the transport adapter for the IPFS gateway's address, in any process."""
    application = Flask("hiero_sandbox.gateway")
    application.config["PROPAGATE_EXCEPTIONS"] = True  # the reader's time may be up while it draws
    application.register_blueprint(gateway.blp)
    return {f"{prefix}/": WSGIAdapter(application, prefix)}
