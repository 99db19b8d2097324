"""``flask explain``: why an NFT is for sale here or not."""

from collections.abc import Iterable

import click

from marketplace.cli.command import Command, echo
from marketplace.hedera.ids import NftId, is_entity_id
from marketplace.market import explanation

WIDTH = 30  # of the left column


@click.command("explain", cls=Command)
@click.argument("name", metavar="TOKEN:SERIAL|ACCOUNT")
def explain_command(name: str) -> None:
    """Explain why an NFT, or an account's NFTs, are for sale here or not.

    Compares the ledger with what is stored. Shows each point of the listing rule, and the transaction that
    decides it. Changes nothing.
    """
    nft_id = NftId.parse(name)
    if nft_id is None and not is_entity_id(name):
        raise click.UsageError("Name an NFT (0.0.5001:7) or an account (0.0.1001)")
    _print(explanation.explain_nft(nft_id) if nft_id else explanation.explain_account(name))


def _print(lines: Iterable[explanation.Line]) -> None:
    for about, what in lines:
        echo(f"{about:{WIDTH}} {what}")
