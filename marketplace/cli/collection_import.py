"""``flask import`` and ``flask rebuild``: store whole collections from the ledger alone."""

import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import click
from flask import Flask
from flask.cli import with_appcontext

from marketplace import times
from marketplace.cli.command import Command, echo
from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable, printable
from marketplace.ids import is_entity_id
from marketplace.ledger import UNHURRIED_SECONDS, Deadline, mirror_node
from marketplace.ledger.mirror_schemas import Nft
from marketplace.market import events, listing_rule, nft_collections, reconciler
from marketplace.market.events import Event, Kind
from marketplace.market.reconciler import Reconciliation
from marketplace.services import application
from marketplace.store import nfts
from marketplace.store.database import read, write

Collection = dict[str, Any]
Listed = Nft | LedgerAnswerInvalid

AT_ONCE = 16  # NFTs that the ledger is asked about at the same time
BATCH = 200  # NFTs held in memory, and written in one transaction


@dataclass
class Tally:
    """Counts of a collection's NFTs so far."""

    added: int = 0
    here_already: int = 0
    burned: int = 0
    listed: int = 0
    unlisted: list[str] = field(default_factory=list)  # what we may spend, and why it is not listed


def import_collection(
    collection: Collection, tally: Tally, *, force: bool = False
) -> Iterator[int]:
    """Store a collection's NFTs, batch by batch; yields the size of each. The watcher completes them.

    What the marketplace may spend is reconciled with the ledger; with ``force``, stored NFTs are, too. It may
    be interrupted and run again. Raises the ledger's errors.
    """
    app = application()
    market = app.config["ACCOUNT_ID"]
    token, name = collection["token"], collection["name"]

    def reconcile(nft: Nft) -> Reconciliation | LedgerAnswerInvalid:
        with app.app_context():
            try:
                return reconciler.reconcile(nft, force=force)
            except LedgerAnswerInvalid as error:
                return error

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for batch in _batches(mirror_node().list_nfts(token)):
            sound = [nft for nft in batch if isinstance(nft, Nft)]
            stored = _stored(token, sound)
            new, ours = [], []
            for nft in sound:
                row = stored.get(nft.serial_no)
                is_ours = not listing_rule.is_decided_by_row(nft, market) or (
                    row and row["is_for_sale"]
                )
                if is_ours and (force or row is None):
                    ours.append(nft)
                elif row is None and not listing_rule.is_gone(nft):
                    new.append(nft)
            with write() as db:
                added = [nfts.insert_nft(db, reconciler.new_record(nft, name)) for nft in new]
                if new or ours or stored:
                    nft_collections.store(db, token, collection)
                events.store(
                    db,
                    {
                        (token, nft["serial_no"]): [Event(Kind.ADDED, to_account=nft["owner"])]
                        for nft in added
                        if nft
                    },
                )
            for nft, line in zip(ours, pool.map(reconcile, ours), strict=True):
                _count(tally, nft, line)
            tally.added += len(new)
            tally.here_already += len(stored)
            tally.burned += sum(map(listing_rule.is_gone, sound))
            tally.unlisted += [
                error.message for error in batch if isinstance(error, LedgerAnswerInvalid)
            ]
            yield len(batch)


def _count(tally: Tally, nft: Nft, line: Reconciliation | LedgerAnswerInvalid) -> None:
    if isinstance(line, LedgerAnswerInvalid):
        tally.unlisted.append(f"{nft.token} #{nft.serial_no} is not decided: {line.message}")
        return
    if line.before is None and line.nft is not None:
        tally.added += 1
    if line.nft is not None and line.nft["is_for_sale"]:
        tally.listed += 1
    elif line.verdict and not isinstance(line.verdict, listing_rule.ForSale):
        state = "is not for sale" if line.is_decided else "is not decided yet"
        tally.unlisted.append(f"{nft.token} #{nft.serial_no} {state}: {line.verdict.reason}")


def _stored(token: str, batch: list[Nft]) -> dict[int, Any]:
    """The stored rows of these NFTs, by serial number."""
    serials = [nft.serial_no for nft in batch] or [0]
    rows = nfts.list_serial_numbers(read(), token, min(serials), max(serials))
    return {row["serial_no"]: row for row in rows}


def _batches(listed: Iterable[Listed]) -> Iterator[list[Listed]]:
    remaining = iter(listed)
    while batch := list(islice(remaining, BATCH)):
        yield batch


wanted = click.argument("tokens", nargs=-1, required=True, metavar="TOKEN...")


@click.command("import", cls=Command)
@wanted
@with_appcontext
def import_command(tokens: tuple[str, ...]) -> None:
    """Add whole collections with their listings, by token id. It may be interrupted and run again.

    watch and sync complete them with metadata and images.
    """
    _run(tokens)


@click.command("rebuild", cls=Command)
@wanted
@with_appcontext
def rebuild_command(tokens: tuple[str, ...]) -> None:
    """Restore collections and their listings from the ledger alone, and say what is not listed, and why.

    It is import that also checks what is stored: after the database was lost.
    """
    _run(tokens, force=True)


def _run(tokens: tuple[str, ...], *, force: bool = False) -> None:
    failed = False
    for token in tokens:
        tally = Tally()
        try:
            collection = require_collection(token)
            batches = import_collection(collection, tally, force=force)
            with _progress(collection) as progress:
                for size in batches:
                    progress.update(size)
        except (LedgerUnreachable, LedgerAnswerInvalid) as error:
            failed = True
            echo(f"\n{token}: {error.message}", err=True)
        except KeyboardInterrupt:
            _print(token, tally)
            raise click.ClickException("Interrupted: run it again to go on") from None
        _print(token, tally)
    if failed:
        raise click.ClickException("Not everything was brought in: run it again to go on")


def _progress(collection: Collection) -> Any:
    """How far it is, and how long it will take, on a terminal."""
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
    found = mirror_node().find_token(token, Deadline(UNHURRIED_SECONDS))
    if found is None or not found.is_nft:
        raise click.ClickException(f"{token} is not an NFT collection on the ledger")
    return nft_collections.describe(token, found, asked_at)


def _print(token: str, tally: Tally) -> None:
    echo(f"{token}: added {tally.added:,}, here already {tally.here_already:,}")
    if tally.listed:
        echo(f"  {tally.listed:,} listed")
    if tally.burned:
        echo(f"  {tally.burned:,} burned")
    for sentence in tally.unlisted:
        echo(f"  {sentence}")


def init_app(app: Flask) -> None:
    app.cli.add_command(import_command)
    app.cli.add_command(rebuild_command)
