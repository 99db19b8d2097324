"""Brings whole collections in: what ``flask import`` does."""

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import click
import sqlite_utils
from flask import Flask, current_app
from flask.cli import with_appcontext

from marketplace import queries, records
from marketplace.db import read, write
from marketplace.errors import MarketplaceError
from marketplace.ids import is_entity_id
from marketplace.ledger import Deadline, mirror_node
from marketplace.ledger.answers import Nft, Token

AT_ONCE = 16  # NFTs whose metadata and image are fetched at the same time
BATCH = 200  # NFTs held in memory, and written in one transaction
LEDGER_SECONDS = 8
LINE_EVERY_SECONDS = 5  # where there is no terminal


def import_collection(
    token: str, token_name: str, *, with_images: bool = True
) -> Iterator[Counter]:
    """Store what is missing of a collection, batch by batch; yields what became of each batch.

    May be stopped at any moment and begun again: what is stored is left alone, and asked for no more.
    Raises the ledger's errors.
    """
    app = current_app._get_current_object()

    def build(nft: Nft) -> dict:
        with app.app_context():
            row = records.build(nft, with_image=with_images)
            return row | {"name": row["name"] or records.name_after(token_name, nft)}

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for batch in _batches(mirror_node().list_nfts(token)):
            alive = [nft for nft in batch if not nft.is_deleted and nft.owner]
            stored = _stored(token, batch)
            rows = list(pool.map(build, (nft for nft in alive if nft.serial_no not in stored)))
            with write() as db:
                sqlite_utils.Database(db)["nft"].insert_all(rows, ignore=True)
            counts = Counter(
                {"added": len(rows), "burned": len(batch) - len(alive), "here already": len(stored)}
            )
            counts.update(f"incomplete: {row['missing']}" for row in rows if row["missing"])
            yield counts


def _stored(token: str, batch: list[Nft]) -> set[int]:
    serials = [nft.serial_no for nft in batch]
    rows = queries.list_serial_numbers(read(), token, min(serials), max(serials))
    return {row["serial_no"] for row in rows}


def _batches(nfts: Iterable[Nft]) -> Iterator[list[Nft]]:
    nfts = iter(nfts)
    while batch := list(islice(nfts, BATCH)):
        yield batch


class Progress:
    """Tells how far the work is, how fast it goes and how long it will take: a bar, or plain lines."""

    def __init__(self, label: str, total: int) -> None:
        self._label, self._total, self._done = label, total, 0
        self._started = self._told = time.monotonic()

    def advance(self, count: int) -> None:
        self._done += count
        now = time.monotonic()
        if sys.stdout.isatty():
            click.echo(f"\r\x1b[K{self._bar()} {self._line(now)}", nl=False)
        elif now - self._told >= LINE_EVERY_SECONDS:
            click.echo(self._line(now))
            self._told = now

    def finish(self) -> None:
        if sys.stdout.isatty():
            click.echo()

    def _bar(self) -> str:
        filled = 24 * self._done // max(self._total, self._done, 1)
        return f"[{'#' * filled}{'-' * (24 - filled)}]"

    def _line(self, now: float) -> str:
        rate = self._done / max(now - self._started, 0.001)
        left = max(self._total - self._done, 0) / max(rate, 0.001)
        return (
            f"{self._label}: {self._done:,} of {self._total:,}, {rate:,.0f}/s, {left:,.0f} s left"
        )


@click.command("import")
@click.argument("tokens", nargs=-1, required=True, metavar="TOKEN...")
@click.option("--images/--no-images", default=True, help="Fetch images too; the default.")
@with_appcontext
def import_command(tokens, images):
    """Bring whole collections in, by token id. May be interrupted and run again: it goes on.

    NFTs whose metadata or image can't be had are stored with what is known; sync and watch complete them.
    """
    failed = False
    for token in tokens:
        counts = Counter()
        try:
            described = require_collection(token)
            progress = Progress(f"{token} {described.name}", described.total_supply)
            for batch in import_collection(token, described.name, with_images=images):
                counts += batch
                progress.advance(batch["added"] + batch["here already"])
            progress.finish()
        except MarketplaceError as error:
            failed = True
            click.echo(f"\n{token}: {error.message}", err=True)
        except KeyboardInterrupt:
            _tell(token, counts)
            raise click.ClickException("Interrupted: run it again to go on") from None
        _tell(token, counts)
    if failed:
        raise click.ClickException("Not everything was imported: run it again to go on")


def require_collection(token: str) -> Token:
    """Find a collection that a command names. Raises click.ClickException, or the ledger's own errors."""
    if not is_entity_id(token):
        raise click.ClickException(f"{token!r} is not a token id (0.0.1234)")
    described = mirror_node().find_token(token, Deadline(LEDGER_SECONDS))
    if described is None or not described.is_nft:
        raise click.ClickException(f"{token} is not an NFT collection on the ledger")
    return described


def _tell(token: str, counts: Counter) -> None:
    click.echo(f"{token}: added {counts['added']:,}, here already {counts['here already']:,}")
    for what, count in counts.most_common():
        if what.startswith("incomplete: ") or what == "burned":
            click.echo(f"  {count:,} {what}")


def init_app(app: Flask) -> None:
    app.cli.add_command(import_command)
