"""``flask sandbox``: fill it, print its addresses and keys, serve its node."""

import click
from flask import current_app

from marketplace.cli.command import Group
from marketplace.command_line import echo
from marketplace.hedera.ids import is_entity_id
from marketplace.sandbox import addresses, node, seed, wallet
from marketplace.services import application

cli = Group("sandbox", help="Fill the sandbox, and show how to try it.")


@cli.command("seed")
def seed_command() -> None:
    """Add the sample collections, and list a third of them. Existing NFTs stay as they are.

    The watcher then fetches their images.
    """
    seed.fill(node.sandbox_of(application()))


@cli.command("hello")
def hello_command() -> None:
    """Print the sandbox's addresses, a token, and a request to try."""
    url = addresses.find_url(current_app.config["DATA_DIR"]) or current_app.config["PUBLIC_URL"]
    echo(addresses.hello(application(), url))
    if port := node.port_of(application()):
        echo(addresses.describe_node(port))


@cli.command("node")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=50_211,
    show_default=True,
    help="0: any free port.",
)
@click.option(
    "--also",
    type=click.IntRange(1, 65_535),
    multiple=True,
    help="Another port to serve on, if it is free.",
)
def node_command(port: int, also: tuple[int, ...]) -> None:
    """Serve Hedera SDKs by gRPC on 127.0.0.1, until SIGTERM.

    If the port is taken, another one is used. The file sandbox-node, beside the sandbox's ledger, has the
    node's address. The file sandbox.env has all addresses, and the access token.
    """
    if port == 50_212:
        raise click.BadParameter("Hedera SDKs use TLS on 50212. Take another port, such as 50213")
    node.run(application(), port, tuple(each for each in also if each != port))


@cli.command("key")
@click.argument("account_id", metavar="ACCOUNT")
def key_command(account_id: str) -> None:
    """Print ACCOUNT's private key from the demo wallet, as DER for SDKs. It controls nothing of value."""
    if not is_entity_id(account_id):
        raise click.BadParameter(f"{account_id} is not an account id, such as 0.0.1001")
    echo(wallet.private_key(account_id).to_string_der())
