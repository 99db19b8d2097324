"""Delivers events to webhooks: in order, at least once, and to none later because of another one."""

import random
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from flask import Flask

from marketplace import times
from marketplace.api.response_schemas import EventSchema
from marketplace.counts import count
from marketplace.market.feed import Feed, find_feed
from marketplace.market.throttled_log import warn_once_a_minute
from marketplace.services import services
from marketplace.store import webhooks
from marketplace.store.database import read, write
from marketplace.store.rows import EventRow, WebhookRow
from marketplace.watcher.strangers.guarded_fetch import Fetcher
from marketplace.watcher.webhooks import messages
from marketplace.watcher.webhooks.signing import KeyUnusable, find_secret

PAUSE_SECONDS = 0.25  # between two looks for new events
# Events are delivered for so long before that is stored: each commit empties the cached answers.
STORING_SECONDS = 1
EVENTS_AT_ONCE = 100
NOTED_AFTER = 1000  # events of other kinds
AT_ONCE = 32  # webhooks
FIRST_PAUSE = 5 * times.SECOND  # after a failure
LONGEST_PAUSE = 6 * 3600 * times.SECOND
GIVEN_UP_AFTER = 3 * 86_400 * times.SECOND


class Delivered(NamedTuple):
    """The result of some deliveries to a webhook."""

    webhook: WebhookRow  # as it was stored
    events: list[EventRow]  # those that it took
    failed: EventRow | None = None  # the next one
    failure: str | None = None


class Deliveries:
    """The deliveries in progress: each webhook's in a thread of its own."""

    def __init__(self, app: Flask) -> None:
        self._app, self._fetcher = app, Fetcher({})
        self._threads = ThreadPoolExecutor(AT_ONCE, "webhook")
        self._in_progress: dict[str, Future[Delivered]] = {}  # by the hash of the webhook's secret
        self._changed = threading.Event()

    def run(self) -> float:
        """Do what is due, and wait a moment; returns for how many seconds to pause then."""
        self.step(times.now())
        self._changed.wait(PAUSE_SECONDS)
        self._changed.clear()
        return 0

    def step(self, now: int) -> bool:
        """Store what has ended, and begin what is due; returns whether anything is in progress."""
        for key, each in [*self._in_progress.items()]:
            if each.done():
                del self._in_progress[key]
                self._store(each.result(), now)
        rows, present = webhooks.list_webhooks(read()), times.to_iso(now)
        if not rows:
            return bool(self._in_progress)
        feed = find_feed(read())  # after the rows: none of them is ahead of it
        for webhook in rows:
            is_due = (webhook["due_at"] or "") <= present and not webhooks.is_given_up(webhook)
            if is_due and webhook["secret_hash"] not in self._in_progress:
                self._begin(webhook, feed)
        return bool(self._in_progress)

    def _store(self, delivered: Delivered, now: int) -> None:
        webhook, events, failed, failure = delivered
        to = events[-1]["id"] if events else webhook["delivered_to"]
        failed_since = due_at = None
        if failed and failure:
            failed_since = (not events and webhook["failed_since"]) or times.to_iso(now)
            due_at = find_next_try(failure, times.to_nanoseconds(failed_since), now)
            self._app.logger.warning(
                "Webhook %s did not take event %s: %s. %s",
                *(webhook["id"], failed["cursor"], failure),
                f"It is tried again at {due_at}" if due_at else "It is given up",
            )
        with write() as db:
            webhooks.mark_webhook(db, webhook, to, failure, failed_since, due_at)
        count("webhook_deliveries", len(events), outcome="delivered")
        count("webhook_deliveries", failed is not None, outcome="failed")

    def _begin(self, webhook: WebhookRow, feed: Feed) -> None:
        after = webhook["delivered_to"]
        kept = min(max(after, feed.oldest - 1), feed.newest)
        if kept != after:
            warning = "Webhook %s goes on after event %s in place of %s: others are not kept"
            self._app.logger.warning(warning, webhook["id"], kept, after)
            with write() as db:
                webhooks.mark_webhook(db, webhook, kept)
            return
        events = webhooks.list_undelivered_events(read(), webhook, feed.epoch, EVENTS_AT_ONCE)
        if not events:
            if (
                feed.newest - after >= NOTED_AFTER
            ):  # so that none counts as lost once they are deleted
                with write() as db:
                    webhooks.mark_webhook(db, webhook, feed.newest)
            return
        try:
            secret = find_secret(webhook)
        except KeyUnusable as error:
            warn_once_a_minute("Webhook %s gets nothing: %s", webhook["id"], error.message)
            return
        delivery = self._threads.submit(self._deliver, webhook, secret, events)
        delivery.add_done_callback(lambda _: self._changed.set())
        self._in_progress[webhook["secret_hash"]] = delivery

    def _deliver(self, webhook: WebhookRow, secret: bytes, events: list[EventRow]) -> Delivered:
        """Deliver events in order, until one fails or it is time to store how far it is."""
        until = time.monotonic() + STORING_SECONDS
        encode = services(self._app).encoders[EventSchema]
        for position, event in enumerate(events):
            if time.monotonic() > until:
                return Delivered(webhook, events[:position])
            body = messages.write(f"nft.{event['kind'].lower()}", event["date"], encode(event))
            if failure := messages.post(self._fetcher, webhook, secret, event["cursor"], body):
                return Delivered(webhook, events[:position], event, failure)
        return Delivered(webhook, events)


def find_next_try(failure: str, failed_since: int, now: int) -> str | None:
    """When to try again: None where it is given up."""
    end = failed_since + GIVEN_UP_AFTER
    if failure == messages.GONE or now >= end:
        return None
    # The failure lasts twice as long by then; with jitter, as not all are to come back at once.
    pause = max(FIRST_PAUSE, min(now - failed_since, LONGEST_PAUSE)) * random.uniform(0.5, 1)
    return times.to_iso(min(now + int(pause), end))
