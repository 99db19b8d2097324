"""The sandbox's Flask application, and how the service mounts it.

The service reaches it only through the transport of its mirror client, so that the same code runs with the
sandbox and with a real network.
"""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from wsgiref.types import StartResponse, WSGIEnvironment

from flask import Flask
from werkzeug.middleware.dispatcher import DispatcherMiddleware

from hiero_sandbox import api, commands, gateway, mirror, wallet
from hiero_sandbox.hapi import web
from hiero_sandbox.transport import WSGIAdapter
from marketplace.api import cors
from marketplace.api.application import Application
from marketplace.api.openapi import Document
from marketplace.api.request_metrics import name_routes
from marketplace.cli.upgrade import upgrade_at_once
from marketplace.services import KEY, Sandbox, Storage
from marketplace.store.engine import Engine
from marketplace.store.schema import Schema
from marketplace.store.sqlite import Database

PATH = "/sandbox"
TITLE = "The sandbox's API"
DESCRIPTION = """\
A small Hedera on your own machine. Decode a transaction that the marketplace has prepared, sign it with the
demo wallet or with your own, and submit it. Move NFTs as other people would.

It asks for no token. Every NFT of every well-formed id exists here, and belongs to the first account that
asks for it. The mirror node's REST API is below `/sandbox/api/v1`, as Hedera documents it.
"""
SCHEMA = Schema(
    Path(__file__).parent / "ledger", tables={"account", "nft", "nft_transaction"}, unnumbered=b"1"
)


def init_app(
    app: Flask, database: Engine, sign: Callable[[bytes], tuple[bytes, bytes]] | None = None
) -> Sandbox:
    """Mount the sandbox.

    Upgrades its database and the marketplace's, too. ``sign`` signs for the marketplace in place of the
    demo wallet.
    """
    upgrade_at_once(database)
    sandbox = create_sandbox(f"{app.config['DATA_DIR']}/sandbox.db", app.config["PUBLIC_URL"])
    sandbox.config["BALANCE_QUERIES"] = app.config["SANDBOX_BALANCE_QUERIES"]
    if sign is None and not app.config["ACCOUNT_KEY_FILE"]:
        sandbox.config["DEMO_WALLET_SIGNS_FOR"] = app.config["ACCOUNT_ID"]
    mounted = DispatcherMiddleware(app.wsgi_app, {PATH: sandbox})
    mirror_path = f"{mirror.blp.url_prefix}/"
    # The marketplace's own API may be there: /api/v1, or below it.
    is_own = f"{app.config['API_PREFIX']}/v1/".startswith(mirror_path)
    paths = web.PREFIXES if is_own else (*web.PREFIXES, mirror_path)

    def serve(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serve the nodes' paths without a prefix, too: an SDK can be given a port, but no path."""
        is_of_nodes = environ["PATH_INFO"].startswith(paths) or web.is_first(environ)
        return (sandbox if is_of_nodes else mounted)(environ, start_response)

    app.wsgi_app = serve  # type: ignore[method-assign]  # as Flask documents
    app.cli.add_command(commands.cli)
    prefix = app.config["PUBLIC_URL"] + PATH
    return Sandbox(
        app=sandbox,
        adapters={f"{prefix}/": WSGIAdapter(sandbox, prefix)},
        gateway_adapters=partial(gateway.make_adapters, prefix),
        sign=wallet.signer(app.config["ACCOUNT_ID"]),
        describe=commands.hello,
        listen=commands.listen,
    )


def create_sandbox(path: str, public_url: str = "http://127.0.0.1:8000") -> Flask:
    node_file = Path(path).with_name("sandbox-node")
    sandbox = Application("hiero_sandbox", PUBLIC_URL=public_url, NODE_FILE=node_file)
    name_routes(sandbox, PATH)
    database = Database(path, SCHEMA)
    sandbox.extensions[KEY] = Storage(database=database)
    upgrade_at_once(database)
    Document(sandbox, TITLE, DESCRIPTION, mount=PATH).register_blueprint(api.blp)
    sandbox.register_blueprint(mirror.blp)
    sandbox.register_blueprint(gateway.blp)
    sandbox.register_blueprint(web.blp)
    cors.open_to_all(sandbox)
    return sandbox
