"""Delivers events to webhooks: in order, at least once, and signed. No webhook waits for another."""

import base64
import hashlib
import hmac
import json
import random
import secrets
import time
from typing import Any, NamedTuple

import requests
from flask import Flask

from marketplace.api.events import EventSchema
from marketplace.hedera import times
from marketplace.ledger.http import FetchError, read_retry_after
from marketplace.metrics import count
from marketplace.services import read, write
from marketplace.store import events, webhooks
from marketplace.store.events import Place
from marketplace.store.webhooks import WebhookRow
from marketplace.watcher.strangers.guarded_fetch import Address, Fetcher
from marketplace.watcher.tasks import Tasks

PAUSE_SECONDS = 0.25  # between two checks for new events
# Progress is stored at this interval only, because each commit empties the response cache.
STORING_SECONDS = 1
EVENTS_AT_ONCE = 100
NOTED_AFTER = 1000  # events of other kinds: then progress is stored without a delivery
AT_ONCE = 32  # webhooks
FIRST_PAUSE = 5 * times.SECOND  # after a failure
LONGEST_PAUSE = 6 * times.HOUR
GIVEN_UP_AFTER = 3 * times.DAY


# Secrets and signatures: Standard Webhooks 1.0

PREFIX = "whsec_"
SECRET_BYTES = 32


def make_secret() -> str:
    """A new secret, in the form that the receiver's library reads."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def find_id(secret: str) -> str:
    """The id of the webhook that has this secret."""
    return hashlib.sha256(_decode(secret)).hexdigest()[:8]


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    signed = f"{message_id}.{timestamp}.".encode() + body
    signature = hmac.digest(_decode(secret), signed, "sha256")
    return f"v1,{base64.b64encode(signature).decode()}"


def _decode(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix(PREFIX))


# A message

ANSWER_SECONDS = 5.0  # for an answer
GONE = "it answered 410"
# Errors of requests, and what they mean. The first match counts.
FAILURES = {
    requests.exceptions.SSLError: "its TLS certificate is not valid",
    requests.Timeout: "it did not answer in time",
    requests.ConnectionError: "it cannot be reached",
}


class Refusal(NamedTuple):
    """Why a message was not accepted, and for how many seconds the receiver wants to be left alone."""

    reason: str
    retry_after: int = 0

    def __str__(self) -> str:
        return self.reason


def write_message(kind: str, date: str, data: dict[str, Any]) -> bytes:
    message = {"type": kind, "timestamp": date, "data": data}
    return json.dumps(message, separators=(",", ":")).encode()


def post_test(webhook: WebhookRow) -> Refusal | None:
    """Post a message of the type webhook.test. Returns None if it was accepted."""
    body = write_message("webhook.test", f"{times.to_iso(times.now())[:23]}Z", {})
    return post(Fetcher({}), webhook, f"test-{secrets.token_hex(8)}", body)


def post(fetcher: Fetcher, webhook: WebhookRow, message_id: str, body: bytes) -> Refusal | None:
    """Post a message. Returns None if it was accepted."""
    timestamp = times.now() // times.SECOND
    headers = {
        "Content-Type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(webhook["secret"], message_id, timestamp, body),
    }
    address = Address(webhook["url"], is_ours=bool(webhook["is_private"]))
    try:
        status, answered = fetcher.post(address, body, headers, ANSWER_SECONDS)
    except FetchError as error:
        return Refusal(str(error))
    except (OSError, ValueError) as error:
        matches = (words for kind, words in FAILURES.items() if isinstance(error, kind))
        return Refusal(next(matches, type(error).__name__))
    if 200 <= status < 300:
        return None
    return Refusal(f"it answered {status}", read_retry_after(answered))


class Deliveries:
    """The deliveries in progress: each webhook's in a thread of its own."""

    def __init__(self, app: Flask) -> None:
        self._app, self._fetcher = app, Fetcher({})
        # By the webhook's id. Each returns the webhook as it was, the last delivered event, and a failure.
        self._deliveries: Tasks[str, tuple[WebhookRow, int, Refusal | None]] = Tasks(
            AT_ONCE, "webhook"
        )

    def run(self) -> float:
        """Begin the deliveries that are due. Returns how many seconds to pause."""
        self.step(times.now())
        return PAUSE_SECONDS

    def step(self, now: int) -> bool:
        """Store ended deliveries, and begin due ones. Returns whether any is in progress."""
        for ended in self._deliveries.take_ended():
            self._store(*ended, now)
        for webhook in webhooks.list_webhooks(read()):
            is_due = (webhook["due_at"] or "") <= times.to_iso(now)
            is_idle = webhook["id"] not in self._deliveries
            if is_due and is_idle and not webhooks.is_given_up(webhook):
                self._begin(webhook)
        return bool(self._deliveries)

    def _store(self, webhook: WebhookRow, to: int, refusal: Refusal | None, now: int) -> None:
        failed_since = due_at = failure = None
        if refusal:
            failure = refusal.reason
            is_same = to == webhook["delivered_to"]
            failed_since = (is_same and webhook["failed_since"]) or times.to_iso(now)
            due_at = find_next_try(refusal, times.to_nanoseconds(failed_since), now)
            self._app.logger.warning(
                "Webhook %s accepted events up to %s, but not the next: %s. %s",
                *(webhook["id"], to, failure),
                f"It is tried again at {due_at}" if due_at else "It is given up",
            )
            count("webhook_deliveries", outcome="failed")
        with write() as db:
            webhooks.mark_webhook(db, webhook, to, failure, failed_since, due_at)

    def _begin(self, webhook: WebhookRow) -> None:
        """Begin to deliver the next events. If there are none, store the progress from time to time."""
        selection, after = webhooks.select(webhook), webhook["delivered_to"]
        feed, page = events.list_page(read(), selection, Place(after, EVENTS_AT_ONCE))
        to = min(max(after, feed["oldest"] - 1), feed["newest"])
        if to != after:
            warning = "Webhook %s goes on after event %s instead of %s: others are not stored"
            self._app.logger.warning(warning, webhook["id"], to, after)
        elif not page and feed["newest"] - after >= NOTED_AFTER:
            to = feed["newest"]  # otherwise, these events would count as lost once they are deleted
        if to != after:
            with write() as db:
                webhooks.mark_webhook(db, webhook, to)
        elif page:
            following = EventSchema(many=True).dump(page)
            self._deliveries.begin(webhook["id"], self._deliver, webhook, following)

    def _deliver(
        self, webhook: WebhookRow, following: list[dict[str, Any]]
    ) -> tuple[WebhookRow, int, Refusal | None]:
        """Deliver events in order, until one fails or it is time to store the progress."""
        until, to = time.monotonic() + STORING_SECONDS, webhook["delivered_to"]
        with self._app.app_context():
            for event in following:
                if time.monotonic() > until:
                    break
                body = write_message(f"nft.{event['kind'].lower()}", event["date"], event)
                if refusal := post(self._fetcher, webhook, event["id"], body):
                    return webhook, to, refusal
                to = int(event["id"].rpartition("-")[2])
                count("webhook_deliveries", outcome="delivered")
        return webhook, to, None


def find_next_try(refusal: Refusal, failed_since: int, now: int) -> str | None:
    """When to try again; None if the webhook is given up."""
    end = failed_since + GIVEN_UP_AFTER
    if refusal.reason == GONE or now >= end:
        return None
    if asked := refusal.retry_after * times.SECOND:
        return times.to_iso(min(now + max(FIRST_PAUSE, min(asked, LONGEST_PAUSE)), end))
    # Pause as long as the failure has lasted. Jitter keeps webhooks from retrying at the same moment.
    pause = max(FIRST_PAUSE, min(now - failed_since, LONGEST_PAUSE)) * random.uniform(0.5, 1)
    return times.to_iso(min(now + int(pause), end))
