"""``flask refresh``: has metadata read again, of NFTs or of whole collections."""

import click
from flask import Flask

from marketplace.cli.command import Command, echo
from marketplace.errors import MarketplaceError
from marketplace.hedera.ids import NftId, is_entity_id
from marketplace.market.read_again import read_again, read_collection_again


@click.command("refresh", cls=Command)
@click.argument("ids", nargs=-1, required=True, metavar="TOKEN[:SERIAL]...")
def refresh_command(ids: tuple[str, ...]) -> None:
    """Read the metadata and images of collections (0.0.5001) or NFTs (0.0.5001:7) again.

    The watcher, or sync, reads them. The stored ones stay until it succeeds.
    """
    for id in ids:
        nft_id = NftId.parse(id)
        if nft_id is None and not is_entity_id(id):
            raise click.ClickException(
                f"{id!r} is not a token id (0.0.1234), nor an NFT (0.0.1234:7)"
            )
        try:
            count = 1 if nft_id else read_collection_again(id)
            if nft_id:
                read_again(*nft_id)
        except MarketplaceError as error:
            raise click.ClickException(error.message) from error
        echo(f"{id}: {count:,} to read")


def init_app(app: Flask) -> None:
    app.cli.add_command(refresh_command)
