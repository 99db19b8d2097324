"""Keeps the index true without being asked: what ``flask watch`` and ``flask sync`` do."""

import fcntl
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import click
from flask import Flask, current_app
from flask.cli import with_appcontext

from marketplace import confirmation, queries, records, sales, times
from marketplace.db import read, write
from marketplace.errors import (
    Conflict,
    LedgerAnswerInvalid,
    LedgerUnreachable,
    MarketplaceError,
    NotFound,
)
from marketplace.ledger import mirror_node
from marketplace.ledger.answers import Nft

AT_ONCE = 8  # sellers asked about at the same time
COMPLETED_AT_ONCE = 200  # NFTs tried to complete, in one round
COMPLETING_SECONDS = 20  # of one round
OPEN_LISTINGS_AT_ONCE = 50  # of one seller, looked up in one round, newest first
KEPT_DEAD_DAYS = 30  # how long a listing that expired can be told from one never prepared

UNREMARKABLE = {
    "sellers checked",
    "NFTs still listed",
    "NFTs still incomplete",
    "listings not decided yet",
}


def sync(stop: threading.Event | None = None) -> Counter:
    """Bring everything in line with the ledger, once. Returns how often what was done."""
    stop = stop or threading.Event()
    sellers = [row["account_id"] for row in queries.list_sellers(read())]
    counts = sum(_for_each(lambda seller: check_seller(seller, stop), sellers, stop), Counter())
    now = times.now()
    incomplete = queries.list_incomplete(read(), times.to_iso(now), COMPLETED_AT_ONCE)
    enough = time.monotonic() + COMPLETING_SECONDS
    completed = _for_each(complete, incomplete, stop, lambda: time.monotonic() > enough)
    counts = sum(completed, counts)
    with write() as db:
        queries.delete_dead_listings(db, times.to_iso(now - KEPT_DEAD_DAYS * records.DAY))
        if not stop.is_set() and not counts["sellers not checked"]:
            queries.mark_job_finished(db, "sync", times.to_iso(now))
    return counts


def check_seller(account_id: str, stop: threading.Event) -> Counter:
    """Compare all that one account has listed, or may have listed, with the ledger: mostly one request."""
    try:
        return _check_seller(account_id, stop)
    except (LedgerUnreachable, LedgerAnswerInvalid) as error:
        current_app.logger.warning("%s was not checked: %s", account_id, error)
        return Counter({"sellers not checked": 1})


def _check_seller(account_id: str, stop: threading.Event) -> Counter:
    counts = Counter({"sellers checked": 1})
    market = current_app.config["ACCOUNT_ID"]
    spendable = mirror_node().list_nfts_spendable(account_id, market)
    on_ledger = {(nft.token, nft.serial_no): nft for nft in spendable}
    # What left comes first: an abandoned preparation must not keep a sold NFT in the order book.
    for row in queries.list_listed_by_seller(read(), account_id):
        nft = on_ledger.get((row["token"], row["serial_no"]))
        if nft is None or times.to_iso(nft.modified_at) > row["ledger_at"]:
            counts[_recheck(row, nft)] += 1
    now = times.to_iso(times.now())
    for prepared in queries.list_open_listings(read(), account_id, OPEN_LISTINGS_AT_ONCE):
        keys = prepared["token"], prepared["serial_no"]
        if not stop.is_set() and (keys in on_ledger or prepared["expires_at"] < now):
            counts[_confirm(prepared)] += 1
    return counts


def _confirm(prepared) -> str:
    keys = prepared["account_id"], prepared["token"], prepared["serial_no"]
    try:
        listed = confirmation.confirm(*keys, prepared["transaction_id"])
        return "listings confirmed" if listed else "listings not decided yet"
    except (Conflict, NotFound):
        return "listings expired or refused"


def _recheck(row, on_ledger: Nft | None) -> str:
    try:
        if on_ledger is None:
            still_listed = sales.refresh(row["token"], row["serial_no"])["is_for_sale"]
        else:
            still_listed = confirmation.recheck(row, on_ledger)
    except (Conflict, NotFound):
        still_listed = False
    return "NFTs still listed" if still_listed else "NFTs taken off the order book"


def complete(nft) -> Counter:
    """Try again for the metadata and the image that a stored NFT lacks."""
    completed = records.complete(nft)
    with write() as db:
        queries.mark_described(db, completed)
    return Counter({"NFTs still incomplete" if completed["missing"] else "NFTs completed": 1})


def _for_each(
    work: Callable,
    items: list,
    stop: threading.Event,
    is_enough: Callable[[], bool] = lambda: False,
) -> Iterator[Counter]:
    """Do the work for each item, several at once, until told to stop. One that fails ends no round."""
    app = current_app._get_current_object()

    def work_on(item):
        if stop.is_set() or is_enough():
            return Counter()
        with app.app_context():
            try:
                return work(item)
            except Exception:
                app.logger.exception("The watcher failed at one of its items")
                return Counter({"failures": 1})

    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(work_on, items)


def watch(seconds: int, stop: threading.Event) -> None:
    """Sync again and again, with a pause between, until told to stop. Says only what changed."""
    while not stop.is_set():
        try:
            counts = sync(stop)
            if counts.keys() - UNREMARKABLE:
                click.echo(f"{times.to_iso(times.now())[:19]}Z {summary(counts)}")
        except MarketplaceError as error:
            click.echo(f"This round failed: {error.message}", err=True)
        stop.wait(seconds)


def summary(counts: Counter) -> str:
    """What was done, in a line."""
    return ", ".join(f"{what}: {count}" for what, count in sorted(counts.items()))


@contextmanager
def leadership(app: Flask, stop: threading.Event) -> Iterator[None]:
    """Let one watcher of a database work at a time; another one waits for its turn."""
    with open(f"{app.config['DATABASE_URL']}.watch", "w") as lock:
        if not _take(lock):
            click.echo("Another watcher is at work: waiting for it to end")
            while not stop.wait(1) and not _take(lock):
                pass
        yield


def _take(lock) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False


@click.command("sync")
@with_appcontext
def sync_command():
    """Bring everything in line with the ledger, once: for cron.

    Confirms listings that nobody reported, takes what was sold or withdrawn off the order book, and
    completes NFTs whose metadata or image was missing.
    """
    try:
        counts = sync()
    except MarketplaceError as error:
        raise click.ClickException(error.message) from None
    click.echo(summary(counts) or "Nothing to do")
    if counts["sellers not checked"] or counts["failures"]:
        raise click.ClickException("Not everything could be checked: run it again")


@click.command("watch")
@click.option(
    "--every",
    type=click.IntRange(1, 86_400),
    default=30,
    show_default=True,
    help="Seconds between two rounds.",
)
@with_appcontext
def watch_command(every):
    """Do what sync does, again and again, until SIGTERM. One watcher of a database works at a time."""
    stop = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stop.set())
    with leadership(current_app, stop):
        click.echo(f"Watching {current_app.config['NETWORK']}, every {every} s")
        watch(every, stop)
    click.echo("Stopped")


def init_app(app: Flask) -> None:
    app.cli.add_command(sync_command)
    app.cli.add_command(watch_command)
