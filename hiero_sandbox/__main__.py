"""The command ``hiero-sandbox``: REST and gRPC of a small Hedera, in one process, until Ctrl-C."""

import asyncio
import logging
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Thread

import click
from werkzeug.serving import make_server

from hiero_sandbox import __version__
from hiero_sandbox.application import create_sandbox
from hiero_sandbox.errors import LedgerRefused
from hiero_sandbox.hapi.address import HOST
from hiero_sandbox.hosts import HostGuard

HELLO = """\
hiero-sandbox {version}, the ledger in {ledger}

  Mirror node    http://{host}:{rest}/api/v1
  Hedera SDKs    Client.forNetwork({{"{host}:{node}": "0.0.3"}})
  Address book   {host}:{mirror}, the mirror node's gRPC
"""
PORT = click.IntRange(1, 65_535)


@click.command()
@click.option(
    "--data",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file of the ledger. Without it, the ledger is in memory, and gone at the end.",
)
@click.option("--rest-port", type=PORT, default=5551, show_default=True, help="The mirror node's.")
@click.option("--node-port", type=PORT, default=50211, show_default=True, help="The node's gRPC.")
@click.option(
    "--mirror-port", type=PORT, default=5600, show_default=True, help="The mirror node's gRPC."
)
@click.version_option(__version__)
def main(data: Path | None, rest_port: int, node_port: int, mirror_port: int) -> None:
    """Serve a small Hedera on this machine: accounts, HBAR, tokens and NFTs, for tests and demos.

    It listens on 127.0.0.1, asks for no token, and signs for anybody. It fails if a port is taken.
    """
    url = f"http://{HOST}:{rest_port}"
    try:
        sandbox = create_sandbox(data, url)
    except LedgerRefused as error:
        raise click.ClickException(str(error)) from error
    from hiero_sandbox.hapi import server  # takes a while

    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # no line for each request
    for port in (node_port, mirror_port):
        _take(port).close()  # gRPC itself would take another port

    @contextmanager
    def announced(node: int, others: list[int]) -> Iterator[None]:
        sandbox.config["NODE_PORT"] = node
        ledger, [mirror] = data or "memory", others
        ports = {"rest": rest_port, "node": node, "mirror": mirror}
        click.echo(HELLO.format(version=__version__, ledger=ledger, host=HOST, **ports))
        yield

    with closing(_take(rest_port)) as listener:
        application = HostGuard(sandbox, url)
        rest = make_server(HOST, rest_port, application, threaded=True, fd=listener.fileno())
        Thread(target=rest.serve_forever, name="rest", daemon=True).start()
        asyncio.run(server.serve(sandbox, node_port, [mirror_port], announced))


def _take(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise click.ClickException(f"Port {port} can't be used: {error.strerror}") from error


if __name__ == "__main__":
    main(prog_name="hiero-sandbox")
