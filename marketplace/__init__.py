"""The service's table of contents: create_app() puts the rooms together."""

import os
from collections.abc import Callable

from flask import Flask, Request
from werkzeug.middleware.proxy_fix import ProxyFix

__version__ = "0.2.0"

from marketplace import cli as operators
from marketplace import counts, demo, ledger, sandbox, settings, store, watcher
from marketplace.api import (
    authentication,
    concurrency_limit,
    cors,
    listings,
    media,
    metrics,
    nft_collections,
    nfts,
    orderbook,
    rate_limit,
    reference,
    request_metrics,
    response_cache,
    row_json,
    status,
    users,
)
from marketplace.api.openapi import Document
from marketplace.cli import command
from marketplace.market import signer
from marketplace.sandbox import access, wallet

MAX_BODY_BYTES = 64 * 1024
DESCRIPTION = """\
Hedera NFTs, an order book, and the transactions that list, withdraw and buy one. To list an NFT:
`POST /v1/add`, then `POST /v1/list/extwallet`; the owner's wallet signs and submits what it is given;
`POST /v1/comingsoon` reports it. `POST /v1/delist/extwallet` and `POST /v1/buy/extwallet` likewise.

Every call under `/v1` asks for an access token: `read` for GET, `write` for POST.
"""


def create_app(
    *,
    authenticate: Callable[[Request, str], bool | str] = authentication.authenticate,
    sign: Callable[[bytes], tuple[bytes, bytes]] | None = None,
    **overrides,
) -> Flask:
    """Make the service as a WSGI application that shares nothing with another one.

    Settings are named as in docs/operating.md without their prefix, and beat the environment:
    ``create_app(DATABASE_URL="sqlite:///market.db")``. ``authenticate(request, scope)`` decides who may
    call, in place of access tokens: it returns True or the end user's name, or raises an error of
    marketplace.errors or werkzeug. ``sign(body)`` signs purchases for ACCOUNT_ID, in place of
    ACCOUNT_KEY_FILE: it is given the bytes of a TransactionBody, and returns the raw public key and the
    signature. Raises marketplace.errors.StartRefused for a setting that makes no sense, and for a
    database that is another's, or of another version.
    """
    with command.telling_refusals():
        app = Flask("marketplace", static_folder=None)
        app.url_map.merge_slashes = False
        app.config.update(settings.load(overrides, os.environ))
        app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
        app.json.sort_keys = False
        is_sandbox = app.config["NETWORK"] == "sandbox"

        counts.init_app(app)
        store.init_app(app)
        adapters = sandbox.init_app(app, sign) if is_sandbox else {}
        operators.init_app(app)
        watcher.init_app(app)
        ledger.init_app(app, adapters)
        if not command.is_looked_for():  # a command of an operator's buys nothing
            demo_wallet = wallet.signer(app.config["ACCOUNT_ID"]) if is_sandbox else None
            signer.init_app(app, sign, demo_wallet)
        row_json.init_app(app)
        rate_limit.init_app(app)
        authentication.init_app(app, authenticate)
        metrics.init_app(app)

        prefix = app.config["API_PREFIX"]
        document = Document(
            app, app.config["NAME"], DESCRIPTION, prefix=prefix, asks_for_tokens=True
        )
        for module in (nfts, nft_collections, users, orderbook, listings):
            document.register_blueprint(module.blp, url_prefix=f"{prefix}/v1")
        for module in (status, metrics):
            document.register_blueprint(module.blp)
        app.register_blueprint(media.blp)
        if is_sandbox:
            reference.init_app(app, is_home=False, pages=demo.PAGES, token=access.kept_token)
        else:
            reference.init_app(app)
        if is_sandbox:
            demo.init_app(app)
        cors.init_app(app)
        concurrency_limit.init_app(app)
        response_cache.init_app(app, may_keep=authenticate is authentication.authenticate)
        if proxies := app.config["TRUSTED_PROXIES"]:
            app.wsgi_app = ProxyFix(
                app.wsgi_app, x_for=proxies, x_proto=proxies, x_host=proxies, x_prefix=proxies
            )
        request_metrics.init_app(app)
        return app
