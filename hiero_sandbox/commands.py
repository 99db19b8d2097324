"""Commands for the sandbox: seed a sample, serve SDKs, print a token, keys and ports."""

import asyncio
import os
import random
from collections.abc import Sequence
from typing import Any, cast

import click
from flask import Flask, current_app

from hiero_sandbox import access, catalogue, wallet
from hiero_sandbox.hapi.address import HOST, find_port, find_url
from hiero_sandbox.ledger import consensus
from marketplace.cli.command import Group, echo, echo_log
from marketplace.hedera import times
from marketplace.hedera.ids import is_entity_id
from marketplace.market import add_nft, listings, reports
from marketplace.market.prepare import Ask
from marketplace.services import Sandbox, services
from marketplace.store import nfts
from marketplace.store.database import read

OWNERS = ("0.0.1001", "0.0.1002", "0.0.1004", "0.0.1005", "0.0.1006")
NFTS_PER_COLLECTION = 30
LISTED_EVERY = 3
PRICES = (15, 25, 40, 60, 90, 120, 150, 200, 250, 320, 400, 550, 750, 1000, 1500, 2400)
LISTING_DAYS = 30

cli = Group("sandbox", help="Fill the sandbox, and show how to try it.")


@cli.command("seed")
def seed_command() -> None:
    """Add the sample collections, and list a third of them. Existing NFTs stay as they are.

    The watcher then fetches their images.
    """
    sample = [
        (collection.token, serial_no)
        for collection in catalogue.SAMPLE
        for serial_no in range(1, NFTS_PER_COLLECTION + 1)
    ]
    missing = [nft for nft in sample if nfts.get_nft(read(), *nft) is None]
    if missing:
        # All of them are minted first, because adding the first one reads its collection.
        with _sandbox().app_context():
            for nft in missing:
                consensus.mint(*nft, _owner(*nft), catalogue.GENESIS)
        for nft in missing:
            add_nft.add(_owner(*nft), *nft)
    _list_some([nft for nft in sample[::LISTED_EVERY] if _is_new(*nft)])


@cli.command("hello")
def hello_command() -> None:
    """Print the sandbox's addresses, a token, and a request to try."""
    echo(hello(current_app, find_url(_sandbox()) or current_app.config["PUBLIC_URL"]))
    if port := find_port(_sandbox()):
        echo(_describe_node(port))


@cli.command("node")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=50_211, show_default=True, help="0: any."
)
@click.option(
    "--also", type=click.IntRange(1, 65_535), multiple=True, help="A further port, if it is free."
)
def node_command(port: int, also: tuple[int, ...]) -> None:
    """Serve Hedera SDKs, by gRPC on a port of 127.0.0.1, until SIGTERM.

    If that port is taken, it uses another one. It writes its address to the file sandbox-node, beside the
    sandbox's ledger, and all addresses of the sandbox and its access token to sandbox.env.
    """
    if port == 50_212:
        raise click.BadParameter("Hedera SDKs use TLS on 50212. Take another port, such as 50213")
    from hiero_sandbox.hapi import server  # imports gRPC, which other processes do not need

    def announce(served: int, others: list[int]) -> None:
        is_another = port not in (0, served)
        echo_log(_describe_node(served) + (f", as {port} is taken" if is_another else ""))
        if further:
            echo_log(_describe_further("gRPC", others, further))

    further = [each for each in also if each != port]
    asyncio.run(server.serve(_sandbox(), access.kept_token(), port, further, announce))


@cli.command("key")
@click.argument("account_id", metavar="ACCOUNT")
def key_command(account_id: str) -> None:
    """Print the demo wallet's private key of ACCOUNT, in DER for SDKs. It is worth nothing."""
    if not is_entity_id(account_id):
        raise click.BadParameter(f"{account_id} is not an account id, such as 0.0.1001")
    echo(wallet.private_key(account_id).to_string_der())


def hello(app: Flask, url: str) -> str:
    """The sandbox's addresses, its access token, and a request to try."""
    with app.app_context():
        token = access.kept_token()
    api_url = url + app.config["API_PREFIX"]
    return f"""
The NFT marketplace serves the sandbox. It needs no network, no account and no key.

  Demo           {url}/
  API reference  {api_url}/reference
  Mirror node    {url}/sandbox/api/v1
  Access token   {token}

Try it, in another terminal:

  curl -H 'Authorization: Bearer {token}' '{api_url}/v1/orderbook?limit=1'
"""


def _sandbox() -> Flask:
    return cast(Sandbox, services().sandbox).app


def _describe_node(port: int) -> str:
    """The line of code that connects a Hedera SDK."""
    return f'  Hedera SDKs    Client.forNetwork({{"{HOST}:{port}": "0.0.3"}})'


def listen(server: Any) -> str | None:
    """Make gunicorn listen on the ports where SDKs expect the REST API of a local mirror node.

    It takes the free ones of SANDBOX_REST_PORTS, before it forks. Returns a line that lists them, or None.
    """
    from gunicorn.sock import TCPSocket  # other processes do not need it

    ports = map(int, os.environ.get("SANDBOX_REST_PORTS", "").split())
    wanted, served = [port for port in ports if (HOST, port) not in server.cfg.address], []
    for port in wanted:
        try:
            server.LISTENERS.append(TCPSocket((HOST, port), server.cfg, server.log))
        except OSError:
            continue
        served.append(port)
    return _describe_further("REST", served, wanted) if wanted else None


def _describe_further(what: str, served: Sequence[int], wanted: Sequence[int]) -> str:
    """A line with the ports for Client.forLocalNode(): those that are served, and those that are taken."""
    taken = ", ".join(str(port) for port in wanted if port not in served)
    listed = ", ".join(str(port) for port in served) or "none"
    others = f"; others listen on {taken}" if taken else ""
    return f"  forLocalNode() {what} on {HOST}, ports {listed}{others}"


def _owner(token: str, serial_no: int) -> str:
    return random.Random(f"owner of {token}/{serial_no}").choice(OWNERS)


def _is_new(token: str, serial_no: int) -> bool:
    """Whether a sample NFT was never sold or listed."""
    nft = nfts.get_nft(read(), token, serial_no)
    return bool(nft and nft["owner"] == _owner(token, serial_no) and not nft["last_listed_at"])


def _list_some(unlisted: list[tuple[str, int]]) -> None:
    """List NFTs at dates in the past, in the same steps as a seller and her wallet."""
    random.Random("order of listing").shuffle(unlisted)
    for position, (token, serial_no) in enumerate(unlisted):
        owner = _owner(token, serial_no)
        price = random.Random(f"price of {token}/{serial_no}").choice(PRICES)
        days_ago = LISTING_DAYS * (len(unlisted) - position) / len(unlisted)
        then = times.now() - int(days_ago * times.DAY)
        prepared = listings.prepare_listing(Ask(owner, token, serial_no, "extwallet"), price, then)
        signed = wallet.sign(owner, prepared.transaction)
        with _sandbox().app_context():
            receipt = consensus.submit(signed, then)
        if receipt.result == "SUCCESS":
            reports.answer(owner, token, serial_no, receipt.transaction_id)
