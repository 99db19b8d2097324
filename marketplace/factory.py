"""The service's table of contents: create_app() puts its parts together."""

import inspect
import os
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any
from wsgiref.types import WSGIApplication

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

from marketplace import cli, ledger, settings
from marketplace.api import (
    application,
    authentication,
    errors,
    events,
    limits,
    listings,
    media,
    metrics,
    nft_collections,
    nfts,
    offers,
    reference,
    search,
    sitemap,
    status,
    traits,
    users,
    visitors,
)
from marketplace.api.application import Application, RequestMetrics
from marketplace.api.authentication import Authenticate
from marketplace.api.cache import ResponseCache
from marketplace.api.openapi import Api
from marketplace.cli.command import may_make_database
from marketplace.errors import StartRefused
from marketplace.market.buying import signer
from marketplace.market.buying.signer import Sign
from marketplace.metrics import count
from marketplace.services import KEY, Services, applications, services
from marketplace.store import database as db
from marketplace.store import media as media_store

Middleware = Callable[[WSGIApplication], WSGIApplication]

DESCRIPTION = """\
Hedera NFTs, an order book, and the transactions that list, withdraw and buy an NFT. To list an NFT, call
`POST /v1/add`, then `POST /v1/list/extwallet`. The owner's wallet signs and submits the transaction. Then
report it with `POST /v1/comingsoon`. `POST /v1/delist/extwallet` works the same way. After
`POST /v1/buy/extwallet`, the buyer's wallet signs the purchase and returns it. Hand it in with
`POST /v1/comingsoon`: the marketplace signs last, and submits it.

Every call under `/v1` needs an access token with a scope: `read` for GET, `write` for POST.
"""

NO_SANDBOX = """\
MARKETPLACE_NETWORK is sandbox (the default), but hiero-sandbox is not installed. Run pip install \
'nft-marketplace-service[sandbox]' (in a clone: pip install ./sandbox), or set a network such as testnet\
"""


def create_app(
    *,
    authenticate: Authenticate = authentication.authenticate,
    sign: Sign | None = None,
    **overrides: Any,
) -> Flask:
    """Create the service: a WSGI application, isolated from other applications in the same process.

    Settings have the names of docs/settings.md without the prefix, and override the environment:
    ``create_app(DATABASE_URL="sqlite:///market.db")``. ``authenticate(request, scope)`` replaces
    access tokens. It returns True or the end user's name if the caller is allowed; otherwise, it returns
    False or raises an error of marketplace.errors or werkzeug. ``sign(body)`` signs purchases for ACCOUNT_ID,
    in place of ACCOUNT_KEY_FILE; the sandbox refuses both. It receives the bytes of a TransactionBody, and
    returns the raw public key and the signature.

    Raises marketplace.errors.StartRefused for an invalid setting, and for a database of another service,
    network or account, or of a newer version. A database of an older version is opened, but every request is
    answered 503 until it is upgraded.
    """
    _require_callable(authenticate, "authenticate(request, scope)", None, "read")
    if sign is not None:
        _require_callable(sign, "sign(body)", b"")
    config = settings.load(overrides, os.environ)
    if sign is not None and config["NETWORK"] == "sandbox":
        raise StartRefused(f"create_app(sign=...) is given, but {settings.NO_KEY_IN_SANDBOX}")
    app = Application("marketplace", **config)
    application.name_routes(app)
    app.extensions[KEY] = _make_services(app, sign)
    authentication.init_app(app, authenticate)
    limits.init_app(app)
    cli.init_app(app)
    _register_blueprints(app)
    application.allow_origins(app)
    asks_host = authenticate is not authentication.authenticate
    for wrap in reversed(_list_middleware(app, asks_host)):
        app.wsgi_app = wrap(app.wsgi_app)  # type: ignore[method-assign, assignment]  # as Flask documents
    applications.add(app)
    return app


def _require_callable(function: Any, call: str, *arguments: object) -> None:
    """Raise StartRefused unless the host's function can be called with these arguments."""
    try:
        inspect.signature(function).bind(*arguments)
    except ValueError:  # it is written in C, and has no signature
        return
    except TypeError as error:
        name = call.partition("(")[0]
        raise StartRefused(f"{name} is called as {call}: {error}") from None


def _make_services(app: Flask, sign: Sign | None) -> Services:
    config, sandbox = app.config, None
    mount = _import_mount() if config["NETWORK"] == "sandbox" else None
    database = db.from_config(config, makes=may_make_database())
    if mount:
        sandbox = mount.init_app(app, database)
    mirror_node = ledger.from_config(config, sandbox.adapters if sandbox else {}, count)
    return Services(
        database=database,
        media=media_store.from_config(config),
        mirror_node=mirror_node,
        signer=signer.from_config(config, sign, sandbox.sign if sandbox else None),
        sandbox=sandbox,
    )


def _import_mount() -> ModuleType:
    """Import the sandbox's mount only here: a production service does not load it or need it installed."""
    try:
        from marketplace.sandbox import mount
    except ModuleNotFoundError as error:
        if error.name != "hiero_sandbox":
            raise
        raise StartRefused(NO_SANDBOX) from error
    return mount


def _register_blueprints(app: Flask) -> None:
    prefix = app.config["API_PREFIX"]
    api = Api(app, app.config["NAME"], DESCRIPTION, prefix=prefix)
    versioned = (
        nfts.blp, nft_collections.blp, traits.blp, search.blp, status.network_blp, users.blp,
        nfts.orderbook_blp, events.blp, listings.blp, offers.blp,
    )  # fmt: skip
    for blueprint in versioned:
        api.register_blueprint(blueprint, url_prefix=f"{prefix}/v1")
    for module in (status, metrics):
        api.register_blueprint(module.blp)
    app.register_blueprint(media.blp)
    if app.config["STOREFRONT"]:
        _add_pages(app)
    reference.init_app(app, is_home=not app.config["STOREFRONT"])


def _add_pages(app: Flask) -> None:
    """Add the storefront. A service without it does not load it, and only the sandbox loads the demo."""
    app.register_blueprint(visitors.blp)
    app.register_blueprint(sitemap.blp)
    answering = application.find_paths(app.config), errors.answer_http_error
    if app.config["NETWORK"] == "sandbox":
        from marketplace import demo

        demo.init_app(app, *answering)
    else:
        from marketplace import storefront
        from marketplace.storefront.surroundings import Surroundings

        storefront.init_app(app, Surroundings(), *answering)
    if app.config["STOREFRONT_OPERATORS"]:
        from marketplace.console import pages

        app.register_blueprint(pages.blp)


def _list_middleware(app: Flask, asks_host: bool) -> list[Middleware]:
    """List the middleware in front of Flask, the outermost first."""
    sandbox, proxies = services(app).sandbox, app.config["TRUSTED_PROXIES"]
    middleware: list[Middleware] = [
        partial(RequestMetrics, trusts_proxies=proxies > 0),
    ]
    if proxies:
        trusted = dict.fromkeys(("x_for", "x_proto", "x_host", "x_prefix"), proxies)
        middleware.append(partial(ProxyFix, **trusted))
    if sandbox:
        middleware.append(sandbox.guard)
    middleware.append(partial(ResponseCache, app=app, asks_host=asks_host))
    if sandbox:
        middleware.append(sandbox.serve)
    return middleware
