"""Commands about NFTs and collections: ``flask import`` (or ``rebuild``), ``refresh`` and ``explain``."""

import copy
import sys
from collections.abc import Iterable
from typing import Any

import click

from marketplace.cli.command import Command
from marketplace.command_line import echo
from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable, MarketplaceError
from marketplace.hedera import times
from marketplace.hedera.ids import NftId, is_entity_id
from marketplace.ledger import UNHURRIED_SECONDS, Deadline
from marketplace.market import collection_facts, explanation
from marketplace.market.nfts import read_again, read_collection_again
from marketplace.services import mirror_node
from marketplace.text import printable
from marketplace.watcher.collection_import import Collection, Tally, import_collection
from marketplace.watcher.done import is_complete, summary
from marketplace.watcher.recheck import drain_queue

WIDTH = 30  # of the left column


@click.command("import", cls=Command)
@click.argument("tokens", nargs=-1, required=True, metavar="TOKEN...")
def import_command(tokens: tuple[str, ...]) -> None:
    """Add whole collections and their listings, by token id. "rebuild" is the same command.

    Compares NFTs that are already stored with the ledger. Use it after you lost the database, too. If the
    command is interrupted, run it again. Afterward, watch or sync adds metadata and images.
    """
    failed = False
    for token in tokens:
        tally = Tally()
        try:
            collection = require_collection(token)
            with _progress(collection) as progress:
                for size in import_collection(collection, tally):
                    progress.update(size)
        except (LedgerUnreachable, LedgerAnswerInvalid) as error:
            failed = True
            echo(f"\n{token}: {error.message}", err=True)
        except KeyboardInterrupt:
            raise click.ClickException("Interrupted: run it again to continue") from None
        finally:
            _print(token, tally)
    if counts := drain_queue():
        echo(summary(counts))
    if failed or not is_complete(counts):
        raise click.ClickException("Not everything was imported: run it again to continue")


def _progress(collection: Collection) -> Any:
    """A progress bar, shown on a terminal only."""
    name = " ".join(printable(collection["name"] or "").split())  # on one line
    return click.progressbar(
        length=max(collection["total_supply"] or 0, 1),
        label=f"{collection['token']} {name}",
        show_pos=True,
        hidden=not sys.stdout.isatty(),
    )


def require_collection(token: str) -> Collection:
    """Find a collection that a command names. Raises click.ClickException, or the ledger's own errors."""
    if not is_entity_id(token):
        raise click.ClickException(f"{token!r} is not a token id (0.0.1234)")
    asked_at = times.now()
    on_ledger = mirror_node().find_token(token, Deadline(UNHURRIED_SECONDS))
    if on_ledger is None or not on_ledger.is_nft:
        raise click.ClickException(f"{token} is not an NFT collection on the ledger")
    return collection_facts.describe(token, on_ledger, asked_at)


def _print(token: str, tally: Tally) -> None:
    echo(f"{token}: added {tally.added:,}, here already {tally.here_already:,}")
    for sentence in tally.unreadable:
        echo(f"  {sentence}")


# Another name of the same command; the help lists one of the two.
rebuild_command = copy.copy(import_command)
rebuild_command.name, rebuild_command.hidden = "rebuild", True


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
    _print_explanation(
        explanation.explain_nft(nft_id) if nft_id else explanation.explain_account(name)
    )


def _print_explanation(lines: Iterable[explanation.Line]) -> None:
    for about, what in lines:
        echo(f"{about:{WIDTH}} {what}")
