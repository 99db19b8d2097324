"""Writes and posts messages to webhooks."""

import json
from typing import Any

import requests

from marketplace.hedera import times
from marketplace.ledger.bounded_headers import MAX_HEADER_BYTES, HeadersTooLarge
from marketplace.ledger.http_client import FetchError
from marketplace.store.rows import WebhookRow
from marketplace.watcher.strangers.guarded_fetch import Address, Fetcher
from marketplace.watcher.webhooks.signing import sign

SECONDS = 5.0  # for an answer
GONE = "it answered 410"
# Errors of requests, and what they mean. The first match counts.
FAILURES = {
    requests.exceptions.SSLError: "its TLS certificate is not valid",
    requests.Timeout: "it did not answer in time",
    requests.ConnectionError: "it can not be reached",
    HeadersTooLarge: f"its headers are larger than {MAX_HEADER_BYTES} bytes",
}


def write(kind: str, date: str, data: dict[str, Any]) -> bytes:
    message = {"type": kind, "timestamp": date, "data": data}
    return json.dumps(message, separators=(",", ":")).encode()


def post(
    fetcher: Fetcher, webhook: WebhookRow, secret: bytes, message_id: str, body: bytes
) -> str | None:
    """Post a message. Returns the reason if it was not accepted, otherwise None."""
    timestamp = times.now() // times.SECOND
    headers = {
        "Content-Type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(secret, message_id, timestamp, body),
    }
    address = Address(webhook["url"], is_ours=bool(webhook["is_private"]))
    try:
        status = fetcher.post(address, body, headers, SECONDS)
    except FetchError as error:
        return str(error)
    except (OSError, ValueError) as error:
        matches = (words for kind, words in FAILURES.items() if isinstance(error, kind))
        return next(matches, type(error).__name__)
    return None if 200 <= status < 300 else f"it answered {status}"
