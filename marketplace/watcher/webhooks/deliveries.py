"""Delivers events to webhooks: in order, at least once, and to none later because of another one."""

import random
import threading
from concurrent.futures import Future
from typing import NamedTuple

from flask import Flask

from marketplace import times
from marketplace.api.response_schemas import EventSchema
from marketplace.counts import count
from marketplace.ledger.deadline import Deadline
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
FIRST_PAUSE = 5 * times.SECOND  # after a failure
LONGEST_PAUSE = 6 * 3600 * times.SECOND
GIVEN_UP_AFTER = 3 * 86_400 * times.SECOND
NOTED_AFTER = 100  # events of other kinds, that there was nothing to deliver among them


class Delivery(NamedTuple):
    """An event on its way."""

    webhook: WebhookRow  # as it was stored
    event: EventRow
    status: Future[int]
    deadline: Deadline


class Deliveries:
    """The deliveries in progress: one for each webhook at most, and each in a thread of its own."""

    def __init__(self, app: Flask) -> None:
        self._app, self._fetcher = app, Fetcher({})
        self._in_progress: dict[str, Delivery] = {}  # by the hash of the webhook's secret
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
            if each.status.done() or not each.deadline.left:
                self._store(each, now)
                del self._in_progress[key]
        rows, present = webhooks.list_webhooks(read()), times.to_iso(now)
        if not rows:
            return bool(self._in_progress)
        feed = find_feed(read())  # after the rows: none of them is ahead of it
        for webhook in rows:
            is_due = (webhook["due_at"] or "") <= present and not webhooks.is_given_up(webhook)
            if is_due and webhook["secret_hash"] not in self._in_progress:
                self._begin_next(webhook, feed)
        return bool(self._in_progress)

    def _store(self, delivery: Delivery, now: int) -> None:
        webhook, event = delivery.webhook, delivery.event
        failure = messages.find_failure(delivery.status)
        if failure is None:
            with write() as db:
                webhooks.mark_webhook_delivered(db, webhook, event["id"])
        else:
            failed_since = webhook["failed_since"] or times.to_iso(now)
            due_at = find_next_try(failure, times.to_nanoseconds(failed_since), now)
            with write() as db:
                webhooks.mark_webhook_failed(db, webhook, failure, failed_since, due_at)
            self._app.logger.warning(
                "Webhook %s did not take event %s: %s. %s",
                *(webhook["id"], event["cursor"], failure),
                f"It is tried again at {due_at}" if due_at else "It is given up",
            )
        count("webhook_deliveries", outcome="failed" if failure else "delivered")

    def _begin_next(self, webhook: WebhookRow, feed: Feed) -> None:
        after = webhook["delivered_to"]
        kept = min(max(after, feed.oldest - 1), feed.newest)
        event = webhooks.get_undelivered_event(read(), webhook, feed.epoch)
        if kept != after:
            warning = (
                "Webhook %s goes on after event %s in place of %s: what is between them is lost"
            )
            self._app.logger.warning(warning, webhook["id"], kept, after)
        elif event is None and feed.newest >= after + NOTED_AFTER:
            kept = feed.newest
        if kept != after:
            with write() as db:
                webhooks.mark_webhook_delivered(db, webhook, kept)
        elif event is not None:
            self._begin(webhook, event)

    def _begin(self, webhook: WebhookRow, event: EventRow) -> None:
        try:
            secret = find_secret(webhook)
        except KeyUnusable as error:
            warn_once_a_minute("Webhook %s gets nothing: %s", webhook["id"], error.message)
            return
        data = services().encoders[EventSchema](event)
        body = messages.write(f"nft.{event['kind'].lower()}", event["date"], data)
        status = messages.post(self._fetcher, webhook, secret, event["cursor"], body)
        status.add_done_callback(lambda _: self._changed.set())
        deadline = Deadline(messages.ABANDONED_SECONDS)
        self._in_progress[webhook["secret_hash"]] = Delivery(webhook, event, status, deadline)


def find_next_try(failure: str, failed_since: int, now: int) -> str | None:
    """When to try again: None where it is given up."""
    end = failed_since + GIVEN_UP_AFTER
    if failure == messages.GONE or now >= end:
        return None
    # The failure lasts twice as long by then; with jitter, as not all are to come back at once.
    pause = max(FIRST_PAUSE, min(now - failed_since, LONGEST_PAUSE)) * random.uniform(0.5, 1)
    return times.to_iso(min(now + int(pause), end))
