"""``flask watch``, which leads or waits for its turn, and follows the ledger; and ``flask sync``."""

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress

import click
from flask import Flask, current_app

from marketplace import times
from marketplace.cli.command import Command, echo, echo_log
from marketplace.cli.systemd import notify, notify_alive
from marketplace.errors import MarketplaceError
from marketplace.services import application, services
from marketplace.store import following
from marketplace.store.database import write
from marketplace.store.database_errors import explained
from marketplace.watcher import chores
from marketplace.watcher.enrichment import COMPLETING_SECONDS, make_enricher
from marketplace.watcher.follow import Follower, backfill
from marketplace.watcher.rechecker import Rechecker
from marketplace.watcher.sweep import sweep_step, sync
from marketplace.watcher.webhooks import commands as webhooks
from marketplace.watcher.work import Done, is_complete, summary

FOLLOWING_SECONDS = 1  # between two questions, where the last page was not full
FAILED_SECONDS = 5  # after a page that could not be had
# Seconds between two times that each is done.
CHORES: dict[Callable[[], object], float] = {
    chores.refresh_collections: 5,
    chores.forget_prepared: 60,
    chores.store_network: 600,
    chores.forget_events: 3600,
}
CHORES_SECONDS = 5  # between two looks which of them is to be done
ENDING_SECONDS = 0.5  # for what is in progress when the watcher ends
# After the signal to end. It is less than run.py gives before it kills.
ENDED_AFTER_SECONDS = 1
UNREMARKABLE = {Done.SELLERS, Done.TOKENS, Done.UNCHANGED, Done.UNDECIDED, Done.NOT_CHECKED}


class Watch:
    """The jobs that run side by side while this watcher leads: none of them waits for another."""

    def __init__(self, app: Flask, stop: threading.Event) -> None:
        from marketplace.watcher.webhooks.deliveries import Deliveries  # not in the web process

        self._app, self._stop = app, stop
        self.leads: bool | None = None  # None: not known yet
        self._rechecker = Rechecker(app)
        self._follower, self._enricher = Follower(self._rechecker.changed), make_enricher(app)
        self._done_at = dict.fromkeys(CHORES, float("-inf"))
        jobs = {
            "Rechecking": self._recheck,
            "The sweep": sweep_step,
            "Reading past approvals": lambda: backfill(stop),
            "A chore": self._do_chores,
            "Delivering events": Deliveries(app).run,
            "Completing NFTs": self._enricher.run,
        }
        self._threads = [
            threading.Thread(target=self._repeat, args=job, daemon=True) for job in jobs.items()
        ]

    def begin(self) -> None:
        for thread in self._threads:
            thread.start()

    def follow(self) -> float:
        """Read a page; returns for how many seconds to pause then. Raises what makes it fail."""
        try:
            with explained():
                return 0 if self._follower.step() else FOLLOWING_SECONDS
        except (MarketplaceError, OSError):
            # A watcher is at work, though the ledger may be silent.
            with suppress(MarketplaceError, OSError), explained(), write() as db:
                following.mark_follow(db, "heartbeat_at", times.to_iso(times.now()))
            raise

    def _repeat(self, name: str, job: Callable[[], float]) -> None:
        """Do a job again and again while this watcher leads. A failed one is tried again."""
        while not self._stop.is_set():
            seconds: float = 1
            if self.leads:
                try:
                    with self._app.app_context(), explained():
                        seconds = job()
                except (MarketplaceError, OSError) as error:
                    self._app.logger.warning("%s failed: %s", name, error)
                except Exception:
                    if not self._stop.is_set():  # its threads may be gone by then
                        self._app.logger.exception("%s failed", name)
            self._stop.wait(seconds)

    def _recheck(self) -> float:
        counts = self._rechecker.step()
        if counts.keys() - UNREMARKABLE:
            echo_log(f"{times.to_second(times.to_iso(times.now()))} {summary(counts)}")
        self._rechecker.wait()
        return 0

    def _do_chores(self) -> float:
        """One that fails is done again at its time, and keeps none of the others from being done."""
        for chore, seconds in CHORES.items():
            if time.monotonic() >= self._done_at[chore] + seconds:
                self._done_at[chore] = time.monotonic()
                chore()
        return CHORES_SECONDS

    def close(self) -> None:
        """End the jobs, and only then what they use."""
        self._stop.set()
        until = time.monotonic() + ENDING_SECONDS
        for thread in self._threads:
            thread.join(max(0, until - time.monotonic()))
        self._rechecker.close()
        self._enricher.close()


def watch(stop: threading.Event) -> None:
    """Follow the ledger, and do all else that the watcher does, until told to stop.

    One watcher works at a time, on whatever machine; another one waits for its turn.
    """
    failure = None
    app = application()
    leadership = services(app).database.leadership("watch")
    with closing(leadership), closing(Watch(app, stop)) as work:
        work.begin()
        while not stop.is_set():
            pause: float = 1
            try:
                is_leading = leadership.take()
                if is_leading != work.leads:
                    _say_so(is_leading)
                work.leads = is_leading
                if is_leading:
                    pause = work.follow()
                failure = None
            except (MarketplaceError, OSError) as error:
                if str(error) != failure:
                    echo_log(f"The ledger was not followed: {error}", err=True)
                    notify(f"STATUS=The ledger was not followed: {error}")
                failure, pause = str(error), FAILED_SECONDS
            notify_alive()
            stop.wait(pause)


def _say_so(is_leading: bool) -> None:
    described = "Another watcher is at work: waiting for it to end"
    if is_leading:
        described = f"Following {current_app.config['NETWORK']}"
    echo_log(described)
    notify("READY=1", f"STATUS={described}")


@click.command("sync", cls=Command)
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
