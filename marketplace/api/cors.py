"""CORS: the origins whose pages may call the service, and the headers that they may read.

Cookies are never allowed, so to forbid a header or a method would protect nothing. An allowed page may send
all of them, and so reads our error in place of the browser's own "network error".
"""

import re

from flask import Config, Flask, request
from flask_cors import CORS

PREFLIGHT_SECONDS = 3600
EXPOSED_HEADERS = "ETag, Link, Retry-After, WWW-Authenticate, X-Events-Cursor, X-Request-ID"


def find_paths(config: Config) -> re.Pattern[str]:
    """The paths of the API, known or not, which pages of other origins may read."""
    prefix = re.escape(config["API_PREFIX"])
    return re.compile(rf"{prefix}/v1(/|\Z)|{prefix}/openapi\.json\Z|/status\Z")


def init_app(app: Flask) -> None:
    """Allow pages of CORS_ORIGINS to call the API with an access token, also at unknown paths."""
    origins = app.config["CORS_ORIGINS"]
    if not origins:
        return
    paths = find_paths(app.config)
    # Compiled, because flask-cors guesses which texts are patterns, and takes an IPv6 address for one.
    named = [re.compile(rf"{re.escape(origin)}\Z") for origin in origins]
    CORS(
        app,
        resources=[paths],
        origins="*" if origins == ("*",) else named,
        expose_headers=EXPOSED_HEADERS,
        max_age=PREFLIGHT_SECONDS,
        send_wildcard=True,
        always_send=False,
        supports_credentials=False,
        # Chrome sends a preflight before a page of the internet may call a service in the user's own network.
        allow_private_network=True,
    )

    @app.before_request
    def answer_preflight() -> tuple[str, int] | None:
        """Answer before the routing: after a 404 the browser would not send the request itself."""
        is_preflight = (
            request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers
        )
        return ("", 204) if is_preflight and paths.match(request.path) else None
