"""The watcher: it follows the ledger, or waits while another watcher does."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress

from flask import Flask, current_app
from gunicorn.systemd import sd_notify

from marketplace.command_line import echo_log
from marketplace.errors import MarketplaceError
from marketplace.hedera import times
from marketplace.market import moderation
from marketplace.market.buying import fees
from marketplace.market.buying.account_key import KeyWatch
from marketplace.market.throttled_log import warn_once_a_minute
from marketplace.services import application, services, write
from marketplace.store import properties
from marketplace.store.connection import explained
from marketplace.text import printable
from marketplace.watcher import maintenance
from marketplace.watcher.collection_figures import count_figures
from marketplace.watcher.done import Done, summary
from marketplace.watcher.enrichment import make_enricher
from marketplace.watcher.follow import Follower, backfill
from marketplace.watcher.maintenance import Ranker
from marketplace.watcher.recheck import Rechecker
from marketplace.watcher.sale_costs import store_sale_costs
from marketplace.watcher.sweep import Sweep

FOLLOWING_SECONDS = 1  # between two requests, if the last page was not full
FAILED_SECONDS = 5  # after a page that could not be read
# What the leading watcher does now and then, each with its interval in seconds.
MAINTENANCE: dict[Callable[[], object], float] = {
    maintenance.refresh_collections: 5,
    moderation.apply_decisions: 5,
    maintenance.delete_prepared: 60,
    maintenance.read_metadata_again: 60,
    maintenance.queue_expired_offers: 10,
    maintenance.cover_offers: 10,
    maintenance.store_network: 600,
    fees.note_balance: 60,
    store_sale_costs: 10,
    maintenance.delete_events: 3600,
    maintenance.delete_offers: 3600,
    maintenance.warn_of_ending_tokens: 86_400,
}
MAINTENANCE_SECONDS = 5  # between two checks what is due
ENDING_SECONDS = 0.5  # for jobs in progress when the watcher ends
# What the log need not count: nothing has changed, or it names each.
UNREMARKABLE = {
    Done.LISTED,
    Done.TAKEN_OFF,
    Done.SELLERS,
    Done.TOKENS,
    Done.OFFER_LISTS,
    Done.UNCHANGED,
    Done.UNDECIDED,
    Done.NOT_CHECKED,
}


class Watch:
    """The jobs of the leading watcher. Each runs in a thread of its own, so that none waits for another."""

    def __init__(self, app: Flask, stop: threading.Event) -> None:
        from marketplace.watcher.webhooks import Deliveries  # not in the web process

        self._app, self._stop = app, stop
        self.leads: bool | None = None  # None: not known yet
        self._rechecker = Rechecker(app)
        self._key_watch = KeyWatch()
        self._follower = Follower(self._rechecker.changed, self._key_watch.look_at)
        self._enricher = make_enricher(app)
        self._sweep = Sweep(app)
        self._done_at = dict.fromkeys(MAINTENANCE, float("-inf"))
        jobs = {
            "Rechecking": self._recheck,
            "The sweep": self._sweep.step,
            "Reading past approvals and offers": lambda: backfill(stop),
            "Maintenance": self._maintain,
            "Ranking collections": Ranker().step,
            "Counting sales": count_figures,
            "Delivering events": Deliveries(app).run,
            "Comparing the signer's key": self._compare_key,
            "Completing NFTs": self._enricher.run,
        }
        self._threads = [
            threading.Thread(target=self._repeat, args=job, daemon=True) for job in jobs.items()
        ]

    def begin(self) -> None:
        for thread in self._threads:
            thread.start()

    def follow(self) -> float:
        """Read a page. Returns how many seconds to pause. Raises the ledger's and the database's errors."""
        try:
            with explained():
                return 0 if self._follower.step() else FOLLOWING_SECONDS
        except (MarketplaceError, OSError):
            # The watcher is running, even if the ledger has never answered.
            with suppress(MarketplaceError, OSError), explained(), write() as db:
                properties.mark_property(
                    db, properties.HEARTBEAT, times.to_iso(times.now()).encode()
                )
            raise

    def _repeat(self, name: str, job: Callable[[], float]) -> None:
        """Repeat a job while this watcher leads. If it fails, log that and go on."""
        while not self._stop.is_set():
            seconds: float = 1
            if self.leads:
                try:
                    with self._app.app_context(), explained():
                        seconds = job()
                except (MarketplaceError, OSError) as error:
                    with self._app.app_context():
                        warn_once_a_minute(f"{name} failed: %s", error)
                except Exception:
                    if not self._stop.is_set():  # then its threads may be closed already
                        self._app.logger.exception("%s failed", name)
            self._stop.wait(seconds)

    def _recheck(self) -> float:
        counts = self._rechecker.step()
        if counts.keys() - UNREMARKABLE:
            echo_log(f"{times.to_second(times.to_iso(times.now()))} {summary(counts)}")
        self._rechecker.wait()
        return 0

    def _maintain(self) -> float:
        """Do what is due. What fails is next done after its interval; the others go on."""
        for maintain, seconds in MAINTENANCE.items():
            if time.monotonic() >= self._done_at[maintain] + seconds:
                self._done_at[maintain] = time.monotonic()
                maintain()
        return MAINTENANCE_SECONDS

    def _compare_key(self) -> float:
        self._key_watch.step()
        return MAINTENANCE_SECONDS

    def close(self) -> None:
        """Stop the jobs, then close what they use."""
        self._stop.set()
        until = time.monotonic() + ENDING_SECONDS
        for thread in self._threads:
            thread.join(max(0, until - time.monotonic()))
        self._rechecker.close()
        self._sweep.close()
        self._enricher.close()


def watch(stop: threading.Event) -> None:
    """Follow the ledger, and run the watcher's other jobs, until ``stop`` is set.

    Only one watcher works at a time, across all machines; others wait for it to end.
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
                    _announce(is_leading)
                work.leads = is_leading
                if is_leading:
                    pause = work.follow()
                if failure:
                    _announce(is_leading)
                failure = None
            except (MarketplaceError, OSError) as error:
                if str(error) != failure:
                    echo_log(f"The ledger was not followed: {error}", err=True)
                    notify(f"STATUS=The ledger was not followed: {error}")
                failure, pause = str(error), FAILED_SECONDS
            notify(
                "WATCHDOG=1"
            )  # after progress, never from a timer: systemd restarts what is silent
            stop.wait(pause)


def _announce(is_leading: bool) -> None:
    status = "Another watcher is at work: waiting for it to end"
    if is_leading:
        status = f"Following {current_app.config['NETWORK']}"
    echo_log(status)
    notify("READY=1", f"STATUS={status}")


# systemd, if it started this process


def notify(*states: str) -> None:
    """Send states of sd_notify(3), such as READY=1. Does nothing if systemd does not listen."""
    # Each state is one line: a stranger's text in a status must not add another.
    sd_notify(
        "\n".join(printable(state).replace("\n", " ") for state in states),
        logging.getLogger(__name__),
    )
