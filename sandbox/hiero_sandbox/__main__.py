"""The command ``hiero-sandbox``: REST and gRPC of a small Hedera, in one process, until Ctrl-C."""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import click
from werkzeug.serving import make_server

from hiero_sandbox import __version__, database, relay, state
from hiero_sandbox.application import create_sandbox
from hiero_sandbox.errors import LedgerRefused
from hiero_sandbox.hapi.address import HOST
from hiero_sandbox.hosts import HostGuard
from hiero_sandbox.ledger.genesis import LOCAL_NODE, NETWORKS, KnownAccount, operator
from hiero_sandbox.world import World

HELLO = (
    "hiero-sandbox {version}: mirror node http://{rest}, node {node}, mirror node's gRPC {mirror},"
    " ledger in {ledger}"
)
RELAY = "Relay of WalletConnect, for wallets: {address}"
FIRST = "Operator {id}, {kind} key {key}. More: http://{rest}/accounts"
EXPORTS = "export OPERATOR_ID={id}\nexport OPERATOR_KEY={der}"
HOST_HINT = ", or start with --allow-host and this name"
PORT = click.IntRange(0, 65_535)


def _ports(name: str, what: str, *default: int) -> Callable[..., Any]:
    return click.option(
        f"--{name}-port",
        f"{name}_ports",
        type=PORT,
        multiple=True,
        default=default,
        show_default=True,
        help=f"{what} Several may be given; 0: any free one.",
    )


@click.command()
@click.option(
    "--data",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file of the ledger. Without it, the ledger is in memory, and gone at the end.",
)
@_ports("rest", "The mirror node's REST, and gRPC-web.", 5551, 8080, 8084, 38081, 50213)
@_ports("node", "The node's gRPC.", 50211, 35211)
@_ports("mirror", "The mirror node's gRPC.", 5600)
@click.option(
    "--relay-port",
    type=PORT,
    help=f"The relay of WalletConnect, for wallets. 0: any free one.  [default: {relay.PORT}]",
)
@click.option(
    "--relay-host",
    default=HOST,
    show_default=True,
    help="The address that the relay listens on: 0.0.0.0 for a phone.",
)
@click.option("--no-relay", is_flag=True, help="Serve no relay.")
@click.option("--skip-taken", is_flag=True, help="Leave out ports that are taken.")
@click.option("--host", default=HOST, show_default=True, help="The address to listen on.")
@click.option(
    "--allow-host",
    "allowed_hosts",
    metavar="NAME",
    multiple=True,
    help="Answer to this host name, too; .example.com stands for all that end so. Several may be given.",
)
@click.option(
    "--node-host",
    default=HOST,
    show_default=True,
    help="The host that gRPC's address book names. REST's names the one that was asked.",
)
@click.option(
    "--balance-queries/--no-balance-queries",
    default=True,
    show_default=True,
    help="Answer AccountBalanceQuery, or refuse it: the networks answer it no more.",
)
@click.option(
    "--accounts",
    type=click.Choice(NETWORKS),
    default=LOCAL_NODE,
    show_default=True,
    help="The accounts that the ledger begins with: those of hiero-local-node, or of Solo.",
)
@click.option(
    "--cents-per-hbar",
    type=click.IntRange(1, 10_000),
    default=World.cents_per_hbar,
    show_default=True,
    help="The exchange rate, at which fees in USD are charged.",
)
@click.option("--log", is_flag=True, help="Log a line for each transaction.")
@click.option(
    "--load-state",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Begin with the ledger in this file, which --dump-state wrote in this or another version.",
)
@click.option(
    "--dump-state",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the ledger to this file at the end, as JSON.",
)
@click.option(
    "--bind-timestamp-range",
    is_flag=True,
    help="Let a page of transactions cover 60 days at most, as mirror nodes with this setting do.",
)
@click.version_option(__version__)
def main(
    data: Path | None,
    rest_ports: tuple[int, ...],
    node_ports: tuple[int, ...],
    mirror_ports: tuple[int, ...],
    relay_port: int | None,
    relay_host: str,
    no_relay: bool,
    skip_taken: bool,
    host: str,
    allowed_hosts: tuple[str, ...],
    node_host: str,
    balance_queries: bool,
    accounts: str,
    cents_per_hbar: int,
    log: bool,
    load_state: Path | None,
    dump_state: Path | None,
    bind_timestamp_range: bool,
) -> None:
    """Serve a small Hedera on this machine: accounts, HBAR, tokens and NFTs, for tests and demos.

    It asks for no token, and publishes the keys of its first accounts. It fails if a port is taken.
    """
    from hiero_sandbox.hapi import server  # takes a while

    with ExitStack() as stack:
        listeners = [stack.enter_context(each) for each in _take(host, rest_ports, skip_taken)]
        nodes, mirrors = (
            [_close(each) for each in _take(host, ports, skip_taken)]  # gRPC opens them itself
            for ports in (node_ports, mirror_ports)
        )
        relays = [] if no_relay else _take_relay(relay_host, relay_port, skip_taken)
        rest = [listener.getsockname()[1] for listener in listeners]
        url = f"http://{HOST}:{rest[0]}"
        try:
            world = World()
            world.cents_per_hbar = cents_per_hbar
            sandbox = create_sandbox(data, url, world=world, accounts=accounts)
            ledger = sandbox.extensions[database.KEY]
            if load_state:
                state.load(ledger, load_state)
        except LedgerRefused as error:
            raise click.ClickException(str(error)) from error
        sandbox.config.update(
            BALANCE_QUERIES=balance_queries,
            BIND_TIMESTAMP_RANGE=bind_timestamp_range,
            NODE_HOST=node_host,
        )
        if log:
            sandbox.logger.setLevel(logging.DEBUG)

        @contextmanager
        def announced(first: int, others: list[int]) -> Iterator[None]:
            sandbox.config["NODE_PORT"] = first
            served = [first, *others]
            places = {
                "rest": _place(rest),
                "node": _place(served[: len(nodes)]),
                "mirror": _place(served[len(nodes) :]),
            }
            sandbox.config["PLACES"] = {
                "Node (gRPC)": places["node"],
                "Mirror node (gRPC)": places["mirror"],
            }
            click.echo(HELLO.format(version=__version__, ledger=data or "memory", **places))
            for listener in relays:
                click.echo(_begin_relay(listener, relay_host))
            click.echo(_greet(operator(accounts), _place(rest[:1])))
            yield
            if dump_state:
                state.dump(ledger.connection, dump_state)

        logging.getLogger("werkzeug").setLevel(logging.WARNING)  # no line for each request
        application = HostGuard(sandbox, url, HOST_HINT, allowed_hosts)
        for port, listener in zip(rest, listeners, strict=True):
            web = make_server(host, port, application, threaded=True, fd=listener.fileno())
            Thread(target=web.serve_forever, name=f"rest-{port}", daemon=True).start()
        node, *further = [*nodes, *mirrors]
        asyncio.run(server.serve(sandbox, node, further, announced, host=host))


def _take(host: str, ports: tuple[int, ...], skip_taken: bool) -> list[socket.socket]:
    """Listen on ports. Fails if one of them is taken, or with ``skip_taken`` if all are."""
    listeners, failures = [], []
    for port in ports:
        try:
            listeners.append(socket.create_server((host, port)))
        except OSError as error:
            failures.append(f"Port {port} can't be used: {os.strerror(error.errno or 0)}")
    if failures and not (skip_taken and listeners):
        way_out = "" if skip_taken else ". --skip-taken leaves it out"
        raise click.ClickException("; ".join(failures) + way_out)
    return listeners


def _take_relay(host: str, port: int | None, skip_taken: bool) -> list[socket.socket]:
    """Listen on the relay's port. Without its extra, there is none; if a port was given, that is an error."""
    if not find_spec("websockets"):
        if port is None:
            return []
        raise click.ClickException("The relay needs more: pip install 'hiero-sandbox[relay]'")
    try:
        return _take(host, (relay.PORT if port is None else port,), skip_taken=False)
    except click.ClickException:
        if not skip_taken:
            raise
        return []


def _begin_relay(listener: socket.socket, host: str) -> str:
    """Serve the relay, and name its address; with a QR code, if others may type it."""
    relay.begin(listener)
    address = f"ws://{relay.find_address(host)}:{listener.getsockname()[1]}"
    code = relay.draw(address) if host != HOST and sys.stdout.isatty() else ""
    return RELAY.format(address=address) + code


def _close(listener: socket.socket) -> int:
    port = int(listener.getsockname()[1])
    listener.close()
    return port


def _greet(first: KnownAccount, rest: str) -> str:
    """Name the operator, with its key in hexadecimal and as DER."""
    key = first.private_key
    kind = "ED25519" if key.is_ed25519() else "ECDSA"
    shown = {"id": first.account_id, "kind": kind, "key": key.to_string_raw(), "rest": rest}
    exports = EXPORTS.format(id=first.account_id, der=first.der)
    return f"{FIRST.format(**shown)}\n{exports}"


def _place(ports: list[int]) -> str:
    """One address with all of its ports: 127.0.0.1:50211, 35211."""
    return f"{HOST}:{', '.join(map(str, ports))}"


if __name__ == "__main__":
    main(prog_name="hiero-sandbox")
