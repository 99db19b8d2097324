"""The service's table of contents: create_app() puts the rooms together."""

import os
from collections.abc import Callable

from flask import Flask, Request
from werkzeug.middleware.proxy_fix import ProxyFix

import config
from marketplace import (
    __version__,
    backup,
    cors,
    db,
    demo,
    importer,
    kept,
    ledger,
    listings,
    media,
    nfts,
    orderbook,
    paging,
    reference,
    sandbox,
    status,
    tokens,
    users,
    watcher,
    wire,
)
from marketplace.api import Api, Service

MAX_BODY_BYTES = 64 * 1024
DESCRIPTION = """\
Hedera NFTs, an order book, and the transaction that lists one. To list an NFT: `POST /v1/add`, then
`POST /v1/list/extwallet`; the owner's wallet signs and submits what it is given; `POST /v1/comingsoon`
reports it.

Every call under `/v1` asks for an access token: `read` for GET, `write` for POST.
"""


def create_app(
    *, authenticate: Callable[[Request, str], bool] = tokens.authenticate, **settings
) -> Flask:
    """Make the service as a WSGI application that shares nothing with another one.

    Settings are named as in the README without their prefix, and beat the environment:
    ``create_app(DATABASE_URL="sqlite:///market.db")``. ``authenticate(request, scope)`` decides who may
    call, in place of access tokens: it returns true, or raises an error of marketplace.errors or
    werkzeug. Raises config.SettingError for a setting that makes no sense.
    """
    app = Service("marketplace")
    app.config.update(config.load(settings, os.environ))
    app.config.update(
        MAX_CONTENT_LENGTH=MAX_BODY_BYTES,
        API_TITLE=app.config["NAME"],
        API_VERSION=__version__,
        OPENAPI_VERSION="3.0.3",
        OPENAPI_URL_PREFIX=app.config["API_PREFIX"] or "/",
        API_SPEC_OPTIONS={"info": {"description": DESCRIPTION}},
    )
    app.json.sort_keys = False

    db.init_app(app)
    backup.init_app(app)
    media.init_app(app)
    is_sandbox = app.config["NETWORK"] == "sandbox"
    adapters = sandbox.init_app(app) if is_sandbox else {}
    wire.init_app(app)
    paging.init_app(app)
    ledger.init_app(app, adapters)
    tokens.init_app(app, authenticate)
    for module in (importer, watcher):
        module.init_app(app)

    api = Api(app)
    for module in (nfts, users, orderbook, listings):
        api.register_blueprint(module.blp, url_prefix=f"{app.config['API_PREFIX']}/v1")
    api.register_blueprint(status.blp)
    reference.init_app(app, is_home=not is_sandbox)
    if is_sandbox:
        demo.init_app(app)
    cors.init_app(app)
    kept.init_app(app, may_keep=authenticate is tokens.authenticate)
    if proxies := app.config["TRUSTED_PROXIES"]:
        app.wsgi_app = ProxyFix(
            app.wsgi_app, x_for=proxies, x_proto=proxies, x_host=proxies, x_prefix=proxies
        )
    return app
