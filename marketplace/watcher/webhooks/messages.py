"""Writes and posts messages to webhooks."""

import json
import secrets
from typing import Any, NamedTuple

import requests

from marketplace.hedera import times
from marketplace.ledger.http import FetchError, read_retry_after
from marketplace.store.webhooks import WebhookRow
from marketplace.watcher.strangers.guarded_fetch import Address, Fetcher
from marketplace.watcher.webhooks.signing import sign

SECONDS = 5.0  # for an answer
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


def write(kind: str, date: str, data: dict[str, Any]) -> bytes:
    message = {"type": kind, "timestamp": date, "data": data}
    return json.dumps(message, separators=(",", ":")).encode()


def post_test(webhook: WebhookRow) -> Refusal | None:
    """Post a message of the type webhook.test. Returns None if it was accepted."""
    body = write("webhook.test", f"{times.to_iso(times.now())[:23]}Z", {})
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
        status, answered = fetcher.post(address, body, headers, SECONDS)
    except FetchError as error:
        return Refusal(str(error))
    except (OSError, ValueError) as error:
        matches = (words for kind, words in FAILURES.items() if isinstance(error, kind))
        return Refusal(next(matches, type(error).__name__))
    if 200 <= status < 300:
        return None
    return Refusal(f"it answered {status}", read_retry_after(answered))
