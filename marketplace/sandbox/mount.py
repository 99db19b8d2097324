"""Mounts the sandbox in the service: as its ledger, its gateway, its signer, and below ``/sandbox``."""

from contextlib import suppress
from functools import partial
from wsgiref.types import WSGIApplication

from flask import Flask, request
from werkzeug.middleware.dispatcher import DispatcherMiddleware

from hiero_sandbox.application import MIRROR_PATH, serve_at_root
from hiero_sandbox.conditions import now
from hiero_sandbox.errors import LedgerRefused
from hiero_sandbox.hapi import services
from hiero_sandbox.hapi.errors import Failed
from hiero_sandbox.hapi.services import METHODS
from hiero_sandbox.hosts import HostGuard
from marketplace.api.application import name_routes
from marketplace.errors import MarketplaceError, StartRefused
from marketplace.hedera import times
from marketplace.market.nodes import NodeSilent
from marketplace.sandbox import addresses, gateway, wallet
from marketplace.sandbox.addresses import PATH
from marketplace.sandbox.application import create_sandbox
from marketplace.services import Sandbox
from marketplace.store.database import upgrade_at_once
from marketplace.store.engine import Engine
from marketplace.wsgi_environ import ROUTE

HOST_HINT = ", or set MARKETPLACE_PUBLIC_URL to this one"


def init_app(app: Flask, database: Engine) -> Sandbox:
    """Make the sandbox, and upgrade the marketplace's database."""
    upgrade_at_once(database)
    folder, prefix = app.config["DATA_DIR"], app.config["PUBLIC_URL"] + PATH
    try:
        sandbox = create_sandbox(f"{folder}/sandbox.db", prefix, app.config["ACCOUNT_ID"])
    except LedgerRefused as error:
        raise StartRefused(str(error)) from error
    sandbox.register_blueprint(gateway.blp)
    name_routes(sandbox, PATH)
    sandbox.before_request(_name_method)
    sandbox.config["CLOCK"] = lambda: times.now()  # looked up at each call
    sandbox.config["BALANCE_QUERIES"] = False  # as on the networks
    sandbox.config["NODE_FILE"] = addresses.node_file(folder)
    # The marketplace's own API may be there: /api/v1, or below it.
    is_own = f"{app.config['API_PREFIX']}/v1/".startswith(MIRROR_PATH)

    def serve(application: WSGIApplication) -> WSGIApplication:
        mounted = DispatcherMiddleware(application, {PATH: sandbox})
        return serve_at_root(sandbox, mounted, with_mirror=not is_own)

    return Sandbox(
        app=sandbox,
        guard=partial(HostGuard, public_url=app.config["PUBLIC_URL"], hint=HOST_HINT),
        serve=serve,
        adapters={f"{prefix}/": gateway.WSGIAdapter(sandbox, prefix)},
        gateway_adapters=partial(gateway.make_gateway_adapters, prefix),
        find_key=wallet.public_key,
        submit=partial(_submit, sandbox),
        sign=wallet.signer(app.config["ACCOUNT_ID"]),
        describe=addresses.hello,
        make_token=_make_token,
    )


def _submit(sandbox: Flask, content: bytes) -> bytes:
    """Answer as the sandbox's node does over gRPC. Raises NodeSilent where that would fail."""
    with sandbox.app_context():
        try:
            [answer] = services.submit(content, now())
        except Failed as failure:
            raise NodeSilent(f"the sandbox's node: {failure.status.name}") from None
    return answer


def _name_method() -> None:
    """Have a call of HAPI counted by its method: one rule is for all of them."""
    if request.path in METHODS:
        request.environ[ROUTE] = PATH + request.path


def _make_token(app: Flask) -> None:
    """Make the file sandbox-token. If that fails, the demo's first page tries again."""
    with app.app_context(), suppress(OSError, MarketplaceError):
        addresses.kept_token()
