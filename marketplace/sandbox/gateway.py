"""The sandbox's IPFS gateway: metadata documents and artwork of all of its NFTs. Requests need no socket.

Processes that read metadata import this module.
"""

import io
import json
from http import HTTPStatus
from typing import Any
from wsgiref.types import WSGIApplication

import requests
from flask import Blueprint, Flask, Response, abort
from requests.adapters import BaseAdapter, HTTPAdapter
from urllib3 import HTTPResponse
from werkzeug.test import Client

from marketplace.errors import SandboxUnusable
from marketplace.hedera.ids import MAX_INT64
from marketplace.sandbox import catalogue

CACHED = {"Cache-Control": "max-age=86400, immutable"}

blp = Blueprint("gateway", __name__)


@blp.get("/ipfs/<cid>/<int:serial_no>.json")
def show_metadata(cid: str, serial_no: int) -> Response:
    """Serve a HIP-412 document"""
    content = catalogue.metadata(_token(cid, serial_no), serial_no)
    return Response(content, content_type="application/json", headers=CACHED)


@blp.get("/ipfs/<cid>/collection.json")
def show_collection_metadata(cid: str) -> Response:
    """Serve a HIP-766 document"""
    content = catalogue.collection_metadata(_token(cid, 1))
    return Response(content, content_type="application/json", headers=CACHED)


@blp.get("/ipfs/<cid>/<int:serial_no>.png")
def show_image(cid: str, serial_no: int) -> Response:
    """Serve an artwork"""
    content = catalogue.image(_token(cid, serial_no), serial_no)
    return Response(content, content_type="image/png", headers=CACHED)


def _token(cid: str, serial_no: int) -> str:
    token = catalogue.token_of(cid)
    if token is None or not 1 <= serial_no <= MAX_INT64:
        abort(404)
    return token


class WSGIAdapter(HTTPAdapter):
    """A transport adapter for ``requests`` that opens no socket."""

    def __init__(self, application: WSGIApplication, prefix: str) -> None:
        super().__init__()
        self._client = Client(application, use_cookies=False)
        self._prefix = prefix

    def send(
        self, request: requests.PreparedRequest, *args: Any, **options: Any
    ) -> requests.Response:
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
    application.register_blueprint(blp)
    return {f"{prefix}/": WSGIAdapter(application, prefix)}
