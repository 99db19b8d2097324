"""The commands ``flask watch`` and ``flask sync``."""

import os
import signal
import threading
import time
from contextlib import closing

import click
from flask import Flask
from flask.cli import with_appcontext

from marketplace.cli.command import Command, echo, echo_log
from marketplace.cli.systemd import notify
from marketplace.services import application
from marketplace.watcher.enrichment import COMPLETING_SECONDS, make_enricher
from marketplace.watcher.loop import watch
from marketplace.watcher.sweep import sync
from marketplace.watcher.webhooks import commands as webhooks
from marketplace.watcher.work import is_complete, summary

# After the signal to end. It is less than run.py gives before it kills.
ENDED_AFTER_SECONDS = 1


@click.command("sync", cls=Command)
@with_appcontext
def sync_command() -> None:
    """Reconcile everything with the ledger, once: for cron.

    Lists what the ledger shows as listed, reported or not, takes what was sold or withdrawn off the order
    book, and completes NFTs whose metadata or image was missing.
    """
    counts = sync()
    with closing(make_enricher(application())) as enricher:
        counts += enricher.drain(COMPLETING_SECONDS)
    echo(summary(counts) or "Nothing to do")
    if not is_complete(counts):
        raise click.ClickException("Not everything could be checked: run it again")


@click.command("watch", cls=Command)
@with_appcontext
def watch_command() -> None:
    """Follow the ledger, and complete, refresh and settle what is due, until SIGTERM.

    One watcher works at a time, on whatever machine; others wait for their turn.
    """
    stop = threading.Event()

    def end(*_: object) -> None:
        # In another thread: this one may be in stop.wait(), and hold the lock that stop.set() needs.
        threading.Thread(target=_end, args=(stop,), daemon=True).start()
        notify("STOPPING=1")

    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, end)
    watch(stop)
    echo_log("Stopped")


def _end(stop: threading.Event) -> None:
    """Stop the watcher, and do not wait for hosts that are silent: what was in progress is done again."""
    stop.set()
    time.sleep(ENDED_AFTER_SECONDS)
    os._exit(0)


def init_app(app: Flask) -> None:
    app.cli.add_command(sync_command)
    app.cli.add_command(watch_command)
    app.cli.add_command(webhooks.cli)
