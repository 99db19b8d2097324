"""The operator's commands for the sandbox: fill it with a sample, and say how to try it."""

import random
from concurrent.futures import ThreadPoolExecutor

import click
from flask import Flask, current_app

from marketplace import times
from marketplace.ids import is_entity_id
from marketplace.market import listings, nfts, reports
from marketplace.operator.command import Group, say
from marketplace.operator.rounds import complete
from marketplace.sandbox import access, catalogue, wallet
from marketplace.sandbox.ledger import consensus
from marketplace.store import queries
from marketplace.store.database import read

OWNERS = ("0.0.1001", "0.0.1002", "0.0.1004", "0.0.1005", "0.0.1006")
NFTS_PER_COLLECTION = 30
LISTED_EVERY = 3
PRICES = (15, 25, 40, 60, 90, 120, 150, 200, 250, 320, 400, 550, 750, 1000, 1500, 2400)
LISTING_DAYS = 30
DAY = 86_400 * times.SECOND

cli = Group("sandbox", help="Fill the sandbox, and see how to try it.")


@cli.command("seed")
def seed_command():
    """Add the sample collections, and list a third of them. What is there already is left alone."""
    app = current_app._get_current_object()
    sample = [
        (collection.token, serial_no)
        for collection in catalogue.SAMPLE
        for serial_no in range(1, NFTS_PER_COLLECTION + 1)
    ]
    missing = [nft for nft in sample if queries.get_nft(read(), *nft) is None]
    if missing:
        # All of them first: what the ledger says of a collection is read with the first that is added.
        with app.extensions["sandbox"].app_context():
            for nft in missing:
                consensus.mint(*nft, _owner(*nft), catalogue.GENESIS)
        with (
            ThreadPoolExecutor() as pool,
            click.progressbar(
                pool.map(lambda nft: _add(app, *nft), missing),
                length=len(missing),
                label="Adding the sample collections",
            ) as added,
        ):
            for _ in added:
                pass
    _list_some(app.extensions["sandbox"], [nft for nft in sample[::LISTED_EVERY] if _is_new(*nft)])


@cli.command("hello")
def hello_command():
    """Print where the sandbox is, a token, and a request to try."""
    say(hello(current_app))


@cli.command("key")
@click.argument("account_id", metavar="ACCOUNT")
def key_command(account_id):
    """Print the demo wallet's private key of ACCOUNT, which SDKs read (DER). It is worth nothing."""
    if not is_entity_id(account_id):
        raise click.BadParameter(f"{account_id} is no account id, such as 0.0.1001")
    say(wallet.private_key(account_id).to_string_der())


def hello(app: Flask) -> str:
    """Where the sandbox is, a token, and a request to try."""
    with app.app_context():
        token = access.kept_token()
    url = app.config["PUBLIC_URL"]
    api_url = url + app.config["API_PREFIX"]
    return f"""
The NFT marketplace serves the sandbox: no network, no account and no key is needed.

  Demo           {url}/
  API reference  {api_url}/reference
  Access token   {token}
{_node(app)}
Try it, in another terminal:

  curl -H 'Authorization: Bearer {token}' '{api_url}/v1/orderbook?limit=1'
"""


def _node(app: Flask) -> str:
    """Where a Hedera SDK finds the consensus node, as a line; nothing where there is none."""
    node, wanted = app.extensions["node"], app.config["GRPC_PORT"]
    if node.has_begun and not node.port:
        return "  Hedera SDKs    the node did not begin in time: see the log\n"
    port = node.port or wanted  # a command is not told on which one it listens
    if not port:
        return ""
    taken = f" ({wanted} is taken)" if node.has_begun and wanted not in (0, port) else ""
    return f'  Hedera SDKs    Client.forNetwork({{"127.0.0.1:{port}": "0.0.3"}}){taken}\n'


def _owner(token: str, serial_no: int) -> str:
    return random.Random(f"owner of {token}/{serial_no}").choice(OWNERS)


def _add(app: Flask, token: str, serial_no: int) -> None:
    with app.app_context():
        nfts.add(_owner(token, serial_no), token, serial_no)
        nft = queries.get_nft(read(), token, serial_no)
        if nft["missing"]:  # on a busy machine: nobody watches the sandbox, who would complete it
            complete(nft)


def _is_new(token: str, serial_no: int) -> bool:
    """Whether a sample NFT is as it was added: not sold, and never listed."""
    nft = queries.get_nft(read(), token, serial_no)
    return nft["owner"] == _owner(token, serial_no) and nft["last_listed_at"] is None


def _list_some(sandbox: Flask, unlisted: list[tuple[str, int]]) -> None:
    """List NFTs, through the same steps that a seller and her wallet take, at dates in the past."""
    random.Random("order of listing").shuffle(unlisted)
    for position, (token, serial_no) in enumerate(unlisted):
        owner = _owner(token, serial_no)
        price = random.Random(f"price of {token}/{serial_no}").choice(PRICES)
        days_ago = LISTING_DAYS * (len(unlisted) - position) / len(unlisted)
        then = times.now() - int(days_ago * DAY)
        prepared = listings.prepare(owner, token, serial_no, price, "extwallet", now=then)
        signed = wallet.sign(owner, prepared.transaction)
        with sandbox.app_context():
            receipt = consensus.submit(signed, then)
        if receipt.result == "SUCCESS":
            reports.answer(owner, token, serial_no, receipt.transaction_id)
