"""A message to a webhook: how it is written and posted."""

import json
from typing import Any

from marketplace import times
from marketplace.ledger.http_client import FetchError
from marketplace.store.rows import WebhookRow
from marketplace.watcher.strangers.guarded_fetch import Address, Fetcher
from marketplace.watcher.webhooks.signing import sign

SECONDS = 5.0  # for an answer
GONE = "it answered 410"


def write(kind: str, date: str, data: dict[str, Any]) -> bytes:
    message = {"type": kind, "timestamp": date, "data": data}
    return json.dumps(message, separators=(",", ":")).encode()


def post(
    fetcher: Fetcher, webhook: WebhookRow, secret: bytes, message_id: str, body: bytes
) -> str | None:
    """Post a message. Returns why it was not taken; None where it was."""
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
        return type(error).__name__
    return None if 200 <= status < 300 else f"it answered {status}"
