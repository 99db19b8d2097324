"""Restores listings from the ledger alone, after the database was lost: what ``flask rebuild`` does."""

from collections.abc import Iterator
from typing import NamedTuple

import click
from flask import Flask, current_app
from flask.cli import with_appcontext

from marketplace import queries, records, times
from marketplace.confirmation import APPROVAL
from marketplace.db import read, write
from marketplace.errors import MarketplaceError
from marketplace.importer import require_collection
from marketplace.ledger import Deadline, mirror_node
from marketplace.ledger.answers import Nft
from marketplace.transactions import read_listing_memo

LEDGER_SECONDS = 8


class Outcome(NamedTuple):
    """What became of one NFT that the marketplace may spend: listed for a price, or why not."""

    serial_no: int
    listing_price: int | None
    reason: str | None


def rebuild(token: str) -> Iterator[Outcome]:
    """List again what the ledger shows as listed: price from the memo, date from consensus.

    Yields what became of each. Raises the ledger's errors.
    """
    market = current_app.config["ACCOUNT_ID"]
    for nft in mirror_node().list_nfts(token):
        if nft.spender == market and nft.owner not in (None, market) and not nft.is_deleted:
            yield _restore(nft)


def _restore(nft: Nft) -> Outcome:
    if queries.get_nft(read(), nft.token, nft.serial_no) is None:
        _store(nft)
    found = _find_listing(nft)
    if isinstance(found, str):
        return Outcome(nft.serial_no, None, found)
    price, listed_at = found
    with write() as db:
        row = queries.mark_listed(
            db,
            token=nft.token,
            serial_no=nft.serial_no,
            owner=nft.owner,
            listing_price=price,
            listed_at=times.to_iso(listed_at),
            ledger_at=times.to_iso(nft.modified_at),
        )
    row = row or queries.get_nft(read(), nft.token, nft.serial_no)
    if not row["is_for_sale"]:
        return Outcome(nft.serial_no, None, "something newer is known of it here")
    return Outcome(nft.serial_no, row["listing_price"], None)


def _store(nft: Nft) -> None:
    row = records.build(nft)
    if row["name"] is None:
        token = mirror_node().find_token(nft.token, Deadline(LEDGER_SECONDS))
        row["name"] = records.name_after(token and token.name, nft)
    with write() as db:
        queries.insert_nft(db, row)


def _find_listing(nft: Nft) -> tuple[int, int] | str:
    """The price and the moment of the approval that stands, or why they can't be told."""
    event = mirror_node().find_last_event(nft.token, nft.serial_no, Deadline(LEDGER_SECONDS))
    if event is None:
        return "the ledger shows no event of it"
    if event.name != APPROVAL:
        return f"its last event is a {event.name}, not an approval"
    for transaction in mirror_node().list_transactions(
        event.transaction_id, Deadline(LEDGER_SECONDS)
    ):
        if transaction.result == "SUCCESS":
            price = read_listing_memo(transaction.memo, nft.token, nft.serial_no)
            if price is None:
                return f"the memo of {event.transaction_id} names no price"
            return price, transaction.consensus_at
    return f"{event.transaction_id} is not to be had"


@click.command("rebuild")
@click.argument("tokens", nargs=-1, required=True, metavar="TOKEN...")
@with_appcontext
def rebuild_command(tokens):
    """Restore the listings of collections from the ledger alone, and say what could not be decided.

    For when the database was lost. What is stored already is kept; a newer listing is never overwritten.
    """
    for token in tokens:
        listed = 0
        try:
            require_collection(token)
            for outcome in rebuild(token):
                if outcome.reason:
                    click.echo(f"{token} #{outcome.serial_no} is undecided: {outcome.reason}")
                listed += outcome.listing_price is not None
        except MarketplaceError as error:
            raise click.ClickException(f"{token}: {error.message}. Run it again") from None
        click.echo(f"{token}: {listed} listed")


def init_app(app: Flask) -> None:
    app.cli.add_command(rebuild_command)
