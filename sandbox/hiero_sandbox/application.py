"""The sandbox's WSGI application: the mirror node, HAPI in gRPC-web, and its own API."""

import logging
import re
from collections.abc import Iterable
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import cast
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from flask import Flask, Response, request
from flask.json.provider import DefaultJSONProvider
from flask_cors import CORS
from werkzeug.routing import PathConverter

from hiero_sandbox import (
    api,
    conditions,
    control,
    database,
    error_handlers,
    front_page,
    mirror,
    snapshots,
)
from hiero_sandbox.hapi import web
from hiero_sandbox.ledger import genesis
from hiero_sandbox.log import make_logger
from hiero_sandbox.world import World

MAX_BODY_BYTES = 64 * 1024
EXPOSED_HEADERS = "ETag, Link, Retry-After, X-Request-ID"
MIRROR_PATH = f"{mirror.blp.url_prefix}/"


class RestConverter(PathConverter):
    """The rest of a path, also if it begins with a slash: a hash in base64 may."""

    regex = ".+?"
    part_isolating = False


class Sandbox(Flask):
    @cached_property
    def logger(self) -> logging.Logger:
        return make_logger(self)


def create_sandbox(
    path: str | Path | None = None,
    public_url: str = "http://127.0.0.1:5551",
    *,
    world: World | None = None,
    accounts: str | None = genesis.LOCAL_NODE,
) -> Flask:
    """Make the application. Its ledger is the file at the path, or in memory.

    It begins with known accounts, those of genesis.NETWORKS, and has the controls for tests. With None as
    ``accounts`` it has neither: a host's world says what exists, and the host adds blueprints of its own.

    It reads these keys of its config: BALANCE_QUERIES, whether HAPI answers queries for balances;
    BIND_TIMESTAMP_RANGE, whether a page of transactions covers 60 days at most; NODE_FILE, a file with the
    address of a node in another process; CLOCK, a function that returns the time, in nanoseconds. Raises
    LedgerRefused.
    """
    app = Sandbox("hiero_sandbox", static_folder=None)
    app.config.update(PUBLIC_URL=public_url, MAX_CONTENT_LENGTH=MAX_BODY_BYTES)
    app.config.update(BALANCE_QUERIES=True, BIND_TIMESTAMP_RANGE=False, ACCOUNTS=accounts)
    app.url_map.merge_slashes = False
    app.url_map.converters["rest"] = RestConverter
    cast(DefaultJSONProvider, app.json).sort_keys = False
    world = world or World()
    database.init_app(app, Path(path) if path else None, world)
    conditions.init_app(app)
    snapshots.init_app(app)
    error_handlers.init_app(app)
    for module in (api, mirror, web, *((control, front_page) if accounts else ())):
        app.register_blueprint(module.blp)
    if accounts:
        with app.app_context(), database.write() as db:
            genesis.fill(db, accounts)
    _open_to_all(app)
    app.after_request(name_status)
    return app


def name_status(response: Response) -> Response:
    """Write the status as the network's servers do: 404 Not Found. Werkzeug writes NOT FOUND."""
    response.status = f"{response.status_code} {HTTPStatus(response.status_code).phrase}"
    return response


def _open_to_all(app: Flask) -> None:
    """Allow any page to call every path, as the public mirror nodes do.

    All responses have the header: a browser that caches an image of an ``<img>``, which sends no origin,
    gives the same response to a script afterwards.
    """
    CORS(
        app,
        resources=[re.compile("")],
        origins="*",
        expose_headers=EXPOSED_HEADERS,
        max_age=3600,
        send_wildcard=True,
        always_send=True,
        # Chrome sends a preflight before a page of the internet may call a service in the user's own network.
        allow_private_network=True,
    )

    @app.before_request
    def answer_preflight() -> tuple[str, int] | None:
        """Answer before the routing: after a 404 the browser would not send the request itself."""
        is_preflight = (
            request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers
        )
        return ("", 204) if is_preflight else None


def serve_at_root(
    sandbox: WSGIApplication, others: WSGIApplication, *, with_mirror: bool
) -> WSGIApplication:
    """Serve the nodes' paths without a prefix, too: an SDK can be given a port, but no path.

    All other requests go to ``others``.
    """
    paths = (*web.PREFIXES, MIRROR_PATH) if with_mirror else web.PREFIXES

    def serve(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        is_of_nodes = environ["PATH_INFO"].startswith(paths) or web.is_first(environ)
        return (sandbox if is_of_nodes else others)(environ, start_response)

    return serve
