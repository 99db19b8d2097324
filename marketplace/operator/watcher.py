"""Keeps the index true without being asked: ``flask watch`` and ``flask sync``, which go their rounds."""

import signal
import threading
import time
from contextlib import closing, suppress

import click
from flask import Flask, current_app
from flask.cli import with_appcontext

from marketplace import times
from marketplace.errors import MarketplaceError
from marketplace.market.shares import ALL, Share
from marketplace.operator.command import Command, say
from marketplace.operator.notify import tell, tell_alive
from marketplace.operator.rounds import Done, summary, sync
from marketplace.store.faults import explained

STILL_SECONDS = 10  # between two signs of life while nothing is to be done
UNREMARKABLE = {
    Done.SELLERS,
    Done.UNCHANGED,
    Done.UNDECIDED,
    Done.INCOMPLETE,
    Done.COLLECTIONS,
    Done.COLLECTIONS_LATE,
}


def watch(seconds: int, stop: threading.Event, share: Share = ALL) -> None:
    """Sync again and again, with a pause between, until told to stop. Says only what changed.

    One watcher of a share works at a time, on whatever machine; another one waits for its turn.
    """
    was_leading = None
    database = current_app.extensions["database"]
    with closing(database.leadership(share.name("watch"))) as leadership:
        while not stop.is_set():
            try:
                is_leading = leadership.take()
                if is_leading != was_leading:
                    described = _describe(is_leading, seconds, share)
                    _print(described)
                    tell("READY=1", f"STATUS={described}")
                was_leading = is_leading
                if is_leading:
                    _go_round(stop, share)
                _pause(seconds if is_leading else 1, stop)
            except (MarketplaceError, OSError) as error:
                _print(f"This round failed: {error}", err=True)
                tell(f"STATUS=The last round failed: {error}")
                # Who has only waited goes on waiting soon, however long the pause between two rounds.
                _pause(seconds if was_leading else min(seconds, 30), stop)


def _describe(is_leading: bool, seconds: int, share: Share) -> str:
    if is_leading:
        part = "" if share == ALL else f", share {share}"
        return f"Watching {current_app.config['NETWORK']}{part}, every {seconds} s"
    return "Another watcher is at work: waiting for it to end"


def _pause(seconds: float, stop: threading.Event) -> None:
    """Do nothing for so long, or until told to stop; a pause is no hang."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0 and not stop.is_set():
        tell_alive()
        stop.wait(min(left, STILL_SECONDS))


def _go_round(stop: threading.Event, share: Share) -> None:
    with explained():
        counts = sync(stop, share)
    line = f"{times.to_iso(times.now())[:19]}Z {summary(counts) or 'nothing to do'}"
    tell(f"STATUS={line}")
    if counts.keys() - UNREMARKABLE:
        _print(line)


def _print(line: str, **options) -> None:
    """Print a line of the log. One without room, or that nobody reads on, ends no watcher."""
    with suppress(OSError):
        say(line, **options)


def _share(text: str) -> Share:
    try:
        return Share.parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


shared = click.option(
    "--share",
    type=_share,
    metavar="N/M",
    default=str(ALL),
    help="Only the Nth of M equal parts, where M watchers share everything out among them.",
)


@click.command("sync", cls=Command)
@shared
@with_appcontext
def sync_command(share):
    """Bring everything in line with the ledger, once: for cron.

    Lists what the ledger shows as listed, reported or not, takes what was sold or withdrawn off the order
    book, and completes NFTs whose metadata or image was missing.
    """
    counts = sync(share=share)
    say(summary(counts) or "Nothing to do")
    if not all(done.is_final for done in counts):
        raise click.ClickException("Not everything could be checked: run it again")


@click.command("watch", cls=Command)
@click.option(
    "--every",
    type=click.IntRange(1, 86_400),
    default=30,
    show_default=True,
    help="Seconds between two rounds.",
)
@shared
@with_appcontext
def watch_command(every, share):
    """Do what sync does, again and again, until SIGTERM. One watcher of a share works at a time."""
    stop = threading.Event()

    def end(*_):
        # Not in this thread: a signal comes between any two steps of it, and stop.wait() may hold the lock
        # that set() asks for.
        threading.Thread(target=stop.set).start()
        tell("STOPPING=1")

    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, end)
    watch(every, stop, share)
    _print("Stopped")


def init_app(app: Flask) -> None:
    app.cli.add_command(sync_command)
    app.cli.add_command(watch_command)
