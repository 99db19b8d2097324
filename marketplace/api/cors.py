"""Which pages of other origins a browser lets call the service, and what they may read. Off by default."""

import re

from flask import Flask
from flask_cors import CORS

PREFLIGHT_SECONDS = 3600


def init_app(app: Flask) -> None:
    """Let pages of CORS_ORIGINS call the API, with an access token and never with cookies."""
    origins = app.config["CORS_ORIGINS"]
    if not origins:
        return
    prefix = re.escape(app.config["API_PREFIX"])
    # All compiled: flask-cors guesses which texts are patterns, and takes an IPv6 address for one.
    CORS(
        app,
        resources=[re.compile(rf"{prefix}/v1/|{prefix}/openapi\.json\Z|/status\Z")],
        origins="*" if origins == ("*",) else [re.compile(rf"{re.escape(o)}\Z") for o in origins],
        methods=["GET", "HEAD", "POST"],
        allow_headers=["Authorization", "Content-Type", "If-None-Match"],
        expose_headers=["Link", "Retry-After", "WWW-Authenticate", "ETag", "X-Request-ID"],
        max_age=PREFLIGHT_SECONDS,
        send_wildcard=True,
        always_send=False,
        supports_credentials=False,
        allow_private_network=False,
    )
