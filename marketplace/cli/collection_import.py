"""Brings whole collections in, from the ledger alone: what ``flask import`` and ``flask rebuild`` do."""

import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice

import click
from flask import Flask
from flask.cli import with_appcontext

from marketplace import times
from marketplace.cli.command import Command, say
from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable, printable
from marketplace.ids import is_entity_id
from marketplace.ledger import UNHURRIED_SECONDS, Deadline, mirror_node
from marketplace.ledger.mirror_schemas import Nft
from marketplace.market import listing_rule, nft_collections, reconciler
from marketplace.market.reconciler import Reconciliation
from marketplace.services import application
from marketplace.store import nfts
from marketplace.store.database import read, write

AT_ONCE = 16  # NFTs that the ledger is asked about at the same time
BATCH = 200  # NFTs held in memory, and written in one transaction


@dataclass
class Tally:
    """What became of a collection's NFTs until now."""

    added: int = 0
    here_already: int = 0
    burned: int = 0
    listed: int = 0
    unlisted: list[str] = field(default_factory=list)  # what we may spend, and why it is not listed


def import_collection(collection: dict, tally: Tally, *, force: bool = False) -> Iterator[int]:
    """Store a collection's NFTs, batch by batch; yields how many were dealt with. The watcher completes them.

    It is the record of market/nft_collections.py.
    What the marketplace may spend is brought in line with the ledger: with ``force``, also what is stored.
    Otherwise that is left alone, and asked for no more: it may be stopped at any moment, and begun again.
    Raises the ledger's errors.
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
                for nft in new:
                    nfts.insert_nft(db, reconciler.new_record(nft, name))
                if new or ours or stored:
                    nft_collections.store(db, token, collection)
            for nft, line in zip(ours, pool.map(reconcile, ours), strict=True):
                _count_in_line(tally, nft, line)
            tally.added += len(new)
            tally.here_already += len(stored)
            tally.burned += sum(map(listing_rule.is_gone, sound))
            tally.unlisted += [error.message for error in batch if not isinstance(error, Nft)]
            yield len(batch)


def _count_in_line(tally: Tally, nft: Nft, line: Reconciliation | LedgerAnswerInvalid) -> None:
    if isinstance(line, LedgerAnswerInvalid):
        tally.unlisted.append(f"{nft.token} #{nft.serial_no} is not decided: {line.message}")
        return
    if line.before is None and line.nft is not None:
        tally.added += 1
    if line.nft is not None and line.nft["is_for_sale"]:
        tally.listed += 1
    elif line.verdict:
        state = "is not for sale" if line.is_decided else "is not decided yet"
        tally.unlisted.append(f"{nft.token} #{nft.serial_no} {state}: {line.verdict.reason}")


def _stored(token: str, batch: list[Nft]) -> dict:
    """What is stored of these NFTs, by serial number."""
    serials = [nft.serial_no for nft in batch] or [0]
    rows = nfts.list_serial_numbers(read(), token, min(serials), max(serials))
    return {row["serial_no"]: row for row in rows}


def _batches(listed: Iterable[Nft]) -> Iterator[list[Nft]]:
    remaining = iter(listed)
    while batch := list(islice(remaining, BATCH)):
        yield batch


wanted = click.argument("tokens", nargs=-1, required=True, metavar="TOKEN...")


@click.command("import", cls=Command)
@wanted
@with_appcontext
def import_command(tokens):
    """Bring whole collections in, by token id. May be interrupted and run again: it goes on.

    They are stored as the ledger has them; watch and sync complete them with their metadata and images.
    What of them the ledger shows as listed is listed.
    """
    _run(tokens)


@click.command("rebuild", cls=Command)
@wanted
@with_appcontext
def rebuild_command(tokens):
    """Restore collections and their listings from the ledger alone, and say what is not listed, and why.

    It is import, and looks at what is stored, too: for when the database was lost, or is in doubt.
    """
    _run(tokens, force=True)


def _run(tokens: tuple[str, ...], **options) -> None:
    failed = False
    for token in tokens:
        tally = Tally()
        try:
            collection = require_collection(token)
            batches = import_collection(collection, tally, **options)
            with _progress(collection) as progress:
                for size in batches:
                    progress.update(size)
        except (LedgerUnreachable, LedgerAnswerInvalid) as error:
            failed = True
            say(f"\n{token}: {error.message}", err=True)
        except KeyboardInterrupt:
            _tell(token, tally)
            raise click.ClickException("Interrupted: run it again to go on") from None
        _tell(token, tally)
    if failed:
        raise click.ClickException("Not everything was brought in: run it again to go on")


def _progress(collection: dict):
    """How far it is, and how long it will take, on a terminal."""
    name = " ".join(
        printable(collection["name"] or "").split()
    )  # or it would take more than its line
    return click.progressbar(
        length=max(collection["total_supply"] or 0, 1),
        label=f"{collection['token']} {name}",
        show_pos=True,
        hidden=not sys.stdout.isatty(),
    )


def require_collection(token: str) -> dict:
    """Find a collection that a command names. Raises click.ClickException, or the ledger's own errors."""
    if not is_entity_id(token):
        raise click.ClickException(f"{token!r} is not a token id (0.0.1234)")
    asked_at = times.now()
    found = mirror_node().find_token(token, Deadline(UNHURRIED_SECONDS))
    if found is None or not found.is_nft:
        raise click.ClickException(f"{token} is not an NFT collection on the ledger")
    return nft_collections.describe(token, found, asked_at)


def _tell(token: str, tally: Tally) -> None:
    say(f"{token}: added {tally.added:,}, here already {tally.here_already:,}")
    if tally.listed:
        say(f"  {tally.listed:,} listed")
    if tally.burned:
        say(f"  {tally.burned:,} burned")
    for sentence in tally.unlisted:
        say(f"  {sentence}")


def init_app(app: Flask) -> None:
    app.cli.add_command(import_command)
    app.cli.add_command(rebuild_command)
