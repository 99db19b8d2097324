"""``flask watch`` and ``flask sync``: follow the ledger, or compare everything with it once."""

import os
import signal
import threading
import time
from contextlib import closing

import click
from flask import current_app

from marketplace import metrics
from marketplace.cli.command import Command
from marketplace.command_line import echo, echo_log
from marketplace.services import application
from marketplace.watcher.done import is_complete, summary
from marketplace.watcher.enrichment import COMPLETING_SECONDS, make_enricher
from marketplace.watcher.loop import notify, watch
from marketplace.watcher.maintenance import Ranker
from marketplace.watcher.sweep import sync

ENDED_AFTER_SECONDS = 1  # after the signal to end


@click.command("sync", cls=Command)
def sync_command() -> None:
    """Compare everything with the ledger once: for cron.

    Lists the NFTs that are for sale on the ledger, reported or not. Removes sold and withdrawn NFTs from the
    order book. Adds missing metadata and images.
    """
    counts = sync()
    with closing(make_enricher(application())) as enricher:
        counts += enricher.drain(COMPLETING_SECONDS)
    Ranker().step()
    echo(summary(counts) or "Nothing to do")
    if not is_complete(counts):
        raise click.ClickException("Not everything could be checked: run it again")


@click.command("watch", cls=Command)
def watch_command() -> None:
    """Follow the ledger, add metadata and images, and deliver events, until SIGTERM.

    Only one watcher works at a time, across all machines; others wait for it to end.
    """
    stop = threading.Event()

    def end(*_: object) -> None:
        # In another thread: this one may hold the lock of stop.wait(), which stop.set() needs.
        threading.Thread(target=_end, args=(stop,), daemon=True).start()
        notify("STOPPING=1")

    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, end)
    metrics.share(current_app.config["DATA_DIR"], metrics.WATCHER)
    watch(stop)
    echo_log("Stopped")


def _end(stop: threading.Event) -> None:
    """Stop the watcher without waiting for silent hosts: work in progress is repeated at the next start."""
    stop.set()
    time.sleep(ENDED_AFTER_SECONDS)
    os._exit(0)
