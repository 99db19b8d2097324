"""The service's table of contents: create_app() puts its parts together."""

import inspect
import os
from collections.abc import Callable
from typing import Any

from flask import Flask, Request
from werkzeug.middleware.proxy_fix import ProxyFix

from marketplace import cli, ledger, settings
from marketplace.api import (
    authentication,
    concurrency_limit,
    cors,
    events,
    host_header,
    listings,
    media,
    metrics,
    network,
    nft_collections,
    nfts,
    orderbook,
    reference,
    request_metrics,
    response_cache,
    search,
    status,
    traits,
    users,
)
from marketplace.api.application import Application
from marketplace.api.concurrency_limit import ConcurrencyLimit
from marketplace.api.openapi import Document
from marketplace.api.rate_limit import RateLimits
from marketplace.cli.command import refusing_commands
from marketplace.errors import StartRefused
from marketplace.market import signer
from marketplace.metrics import count
from marketplace.services import KEY, Services
from marketplace.store import database as db
from marketplace.store import media as media_store
from marketplace.store.token_usage import TokenUsage
from marketplace.watcher import collection_import, loop, refresh

DESCRIPTION = """\
Hedera NFTs, an order book, and the transactions that list, withdraw and buy one. To list an NFT:
`POST /v1/add`, then `POST /v1/list/extwallet`; the owner's wallet signs and submits the transaction;
`POST /v1/comingsoon` reports it. `POST /v1/delist/extwallet` and `POST /v1/buy/extwallet` work the same way.

Every call under `/v1` needs an access token with a scope: `read` for GET, `write` for POST.
"""


@refusing_commands()
def create_app(
    *,
    authenticate: Callable[[Request, str], bool | str] = authentication.authenticate,
    sign: Callable[[bytes], tuple[bytes, bytes]] | None = None,
    **overrides: Any,
) -> Flask:
    """Make the service: a WSGI application that shares nothing with other applications of the process.

    Settings have the names of docs/settings.md without the prefix, and override the environment:
    ``create_app(DATABASE_URL="sqlite:///market.db")``. ``authenticate(request, scope)`` replaces
    access tokens: it returns True or the end user's name if the caller is allowed, or raises an error of
    marketplace.errors or werkzeug. ``sign(body)`` signs purchases for ACCOUNT_ID, in place of
    ACCOUNT_KEY_FILE: it receives the bytes of a TransactionBody, and returns the raw public key and the
    signature. Raises marketplace.errors.StartRefused for a setting that is not valid, and for a database
    of another service, network or account, or of a newer version. A database of an older version is
    opened, but every request is answered 503 until it is upgraded.
    """
    _require_signature(authenticate)
    loaded = settings.load(overrides, os.environ)
    app = Application("marketplace", **loaded)
    request_metrics.name_routes(app)
    cli.init_app(app)
    config, is_sandbox = app.config, app.config["NETWORK"] == "sandbox"

    database = db.from_config(config)
    own, writes_at_once = None, concurrency_limit.WRITES_AT_ONCE
    if is_sandbox:
        from marketplace import demo  # a production service loads none of it
        from marketplace.sandbox import mount

        own = mount.init_app(app, database, sign)
        writes_at_once = concurrency_limit.WRITES_AT_ONCE_IN_SANDBOX
    app.extensions[KEY] = Services(
        database=database,
        media=media_store.from_config(config),
        mirror_node=ledger.from_config(config, own.adapters if own else {}, count),
        signer=signer.from_config(config, sign, own.sign if own else None),
        authenticate=authenticate,
        rate_limits=RateLimits(config),
        writes=ConcurrencyLimit(writes_at_once, refused="writes_refused"),
        image_reads=ConcurrencyLimit(concurrency_limit.IMAGES_AT_ONCE),
        token_usage=TokenUsage(database),
        sandbox=own,
    )
    loop.init_app(app)
    collection_import.init_app(app)
    refresh.init_app(app)

    prefix = config["API_PREFIX"]
    document = Document(app, config["NAME"], DESCRIPTION, prefix=prefix)
    versioned = (nfts, nft_collections, traits, search, network, users, orderbook, events, listings)
    for module in versioned:
        document.register_blueprint(module.blp, url_prefix=f"{prefix}/v1")
    for module in (status, metrics):
        document.register_blueprint(module.blp)
    app.register_blueprint(media.blp)
    if is_sandbox:
        demo.init_app(app)
    reference.init_app(app, is_home=not is_sandbox)
    cors.init_app(app)
    response_cache.init_app(app, asks_host=authenticate is not authentication.authenticate)
    if is_sandbox:
        app.wsgi_app = mount.HostGuard(  # type: ignore[method-assign]
            app.wsgi_app, config["PUBLIC_URL"]
        )
    if proxies := config["TRUSTED_PROXIES"]:
        app.wsgi_app = ProxyFix(  # type: ignore[method-assign]
            app.wsgi_app, x_for=proxies, x_proto=proxies, x_host=proxies, x_prefix=proxies
        )
    app.wsgi_app = host_header.HostRequired(app.wsgi_app)  # type: ignore[method-assign]
    request_metrics.init_app(app)
    return app


def _require_signature(authenticate: Callable[[Request, str], bool | str]) -> None:
    """Raise StartRefused unless a host's authenticate() takes a request and a scope."""
    try:
        inspect.signature(authenticate).bind(None, "read")
    except ValueError:  # it is written in C, and tells nothing
        return
    except TypeError as error:
        raise StartRefused(
            f"authenticate is called as authenticate(request, scope): {error}"
        ) from None
