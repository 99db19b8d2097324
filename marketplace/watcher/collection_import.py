"""``flask import``, also called ``rebuild``: stores whole collections from the ledger."""

import copy
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import click
from flask import Flask, current_app

from marketplace.cli.command import Command, echo
from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable
from marketplace.events import EventKind
from marketplace.hedera import times
from marketplace.hedera.ids import NftId, is_entity_id
from marketplace.ledger import UNHURRIED_SECONDS, Deadline
from marketplace.ledger.objects import Nft
from marketplace.market import collection_facts, listing_rule, nft_events, reconciler
from marketplace.market.nft_events import Event
from marketplace.market.recheck_queue import Recheck, What, enqueue, enqueue_all, recheck_later
from marketplace.services import mirror_node
from marketplace.store import nfts
from marketplace.store.database import read, write
from marketplace.text import printable
from marketplace.watcher.rechecker import drain_queue
from marketplace.watcher.work import is_complete, summary

Collection = dict[str, Any]

BATCH = 200  # NFTs held in memory, and written in one transaction


@dataclass
class Tally:
    """Counts of a collection's NFTs so far."""

    added: int = 0
    here_already: int = 0
    unreadable: list[str] = field(default_factory=list)


def import_collection(collection: Collection, tally: Tally) -> Iterator[int]:
    """Store a collection's NFTs in batches, and yield the size of each. The watcher completes them.

    NFTs that the marketplace may spend, or that have changed, are queued for a recheck. The import may be
    interrupted and run again. Raises the ledger's errors.
    """
    token, name = collection["token"], collection["name"]
    market = current_app.config["ACCOUNT_ID"]
    listed = mirror_node().list_nfts(token)
    while batch := [*islice(listed, BATCH)]:
        sound = [nft for nft in batch if isinstance(nft, Nft)]
        stored = {nft: nfts.get_nft(read(), token, nft.serial_no) for nft in sound}
        new = [nft for nft in sound if not stored[nft] and not listing_rule.is_gone(nft)]
        differing = [nft for nft in sound if reconciler.may_differ(nft, stored[nft])]
        here_already = sum(row is not None for row in stored.values())
        # The rechecker stores those that the marketplace may spend.
        records = [reconciler.new_record(nft, name) for nft in new if nft.spender != market]
        with write() as db:
            inserted = [nfts.insert_nft(db, record) for record in records]
            if new or here_already:
                collection_facts.store(db, token, collection)
            rechecks = [Recheck.of(What("nft", *nft.id), nft.modified_at) for nft in differing]
            enqueue_all(db, rechecks, times.now())
            added = {
                NftId(token, row["serial_no"]): [Event(EventKind.ADDED, to_account=row["owner"])]
                for row in inserted
                if row
            }
            nft_events.store(db, added)
        tally.added += len(new)
        tally.here_already += here_already
        tally.unreadable += [
            error.message for error in batch if isinstance(error, LedgerAnswerInvalid)
        ]
        yield len(batch)
    with write() as db:
        now = times.now()
        enqueue(db, recheck_later(What("token", token), 0, now), now)


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


def init_app(app: Flask) -> None:
    rebuild = copy.copy(import_command)
    rebuild.hidden = True  # the help lists one of the two
    app.cli.add_command(import_command)
    app.cli.add_command(rebuild, "rebuild")
