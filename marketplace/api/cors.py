"""CORS: the pages of other origins that may call the service, and the headers that they may read.

No cookie is ever let through, so that a header or a method that is kept from a page protects nothing: whoever
may call may send all of them, and reads a refusal in place of the browser's own "network error".
"""

import re

from flask import Flask, request
from flask_cors import CORS

PREFLIGHT_SECONDS = 3600
EXPOSED_HEADERS = (
    "ETag, Link, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Events-Cursor,"
    " X-Request-ID"
)


def init_app(app: Flask) -> None:
    """Let pages of CORS_ORIGINS call the API, its unknown addresses, too, with an access token."""
    origins = app.config["CORS_ORIGINS"]
    if not origins:
        return
    prefix = re.escape(app.config["API_PREFIX"])
    paths = re.compile(rf"{prefix}/v1(/|\Z)|{prefix}/openapi\.json\Z|/status\Z")
    # All compiled: flask-cors guesses which texts are patterns, and takes an IPv6 address for one.
    named = [re.compile(rf"{re.escape(origin)}\Z") for origin in origins]
    _open(app, paths, "*" if origins == ("*",) else named)


def open_to_all(app: Flask) -> None:
    """Let any page call all of an application.

    Its answers say so to everybody: one that a browser keeps of an ``<img>``, which names no origin, is the
    one that it gives to a script afterwards.
    """
    _open(app, re.compile(""), "*", always_send=True)


def _open(
    app: Flask,
    paths: re.Pattern[str],
    origins: str | list[re.Pattern[str]],
    always_send: bool = False,
) -> None:
    CORS(
        app,
        resources=[paths],
        origins=origins,
        expose_headers=EXPOSED_HEADERS,
        max_age=PREFLIGHT_SECONDS,
        send_wildcard=True,
        always_send=always_send,
        supports_credentials=False,
        # Chrome asks before a page of the internet may call a service of its user's own network.
        allow_private_network=True,
    )

    @app.before_request
    def answer_preflight() -> tuple[str, int] | None:
        """Answer before the address is looked for: after a 404 the browser would not send the request."""
        is_preflight = (
            request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers
        )
        return ("", 204) if is_preflight and paths.match(request.path) else None
