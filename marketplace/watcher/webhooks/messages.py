"""A message to a webhook: how it is written, posted and answered."""

import threading
from concurrent.futures import Future

from marketplace import times
from marketplace.ledger.http_client import FetchError
from marketplace.store.rows import WebhookRow
from marketplace.watcher.strangers.guarded_fetch import Address, Fetcher
from marketplace.watcher.webhooks.signing import sign

SECONDS = 5.0  # for an answer
# Then the thread is left alone: the receiver sends its headers byte by byte.
ABANDONED_SECONDS = 6.0
GONE = "it answered 410"


def write(kind: str, date: str, data: str) -> bytes:
    """``data``: JSON."""
    return f'{{"type":"{kind}","timestamp":"{date[:23]}Z","data":{data}}}'.encode()


def post(
    fetcher: Fetcher, webhook: WebhookRow, secret: bytes, message_id: str, body: bytes
) -> Future[int]:
    """Begin to post a message, in a thread that no process waits for at its end: its answer's status."""
    timestamp = times.now() // times.SECOND
    headers = {
        "Content-Type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(secret, message_id, timestamp, body),
    }
    address, status = Address(webhook["url"], is_ours=bool(webhook["is_private"])), Future[int]()

    def run() -> None:
        try:
            status.set_result(fetcher.post(address, body, headers, SECONDS))
        except Exception as error:
            status.set_exception(error)

    threading.Thread(target=run, name="webhook", daemon=True).start()
    return status


def find_failure(status: Future[int]) -> str | None:
    """Say why a message was not taken; None where it was."""
    if not status.done():
        return "it took too long"
    if error := status.exception():
        return str(error) if isinstance(error, FetchError) else type(error).__name__
    return None if 200 <= status.result() < 300 else f"it answered {status.result()}"
