"""The statements about webhooks: their URLs, and how far each has received the events."""

from collections.abc import Mapping
from typing import TypedDict

from marketplace.store import events
from marketplace.store.connection import Connection
from marketplace.store.events import StoredEventRow


class WebhookRow(TypedDict):
    id: str
    url: str
    kinds: str
    is_private: int
    secret: str
    delivered_to: int
    failure: str | None
    failed_since: str | None
    due_at: str | None


def is_given_up(webhook: WebhookRow) -> bool:
    return webhook["failure"] is not None and webhook["due_at"] is None


def insert_webhook(db: Connection, webhook: Mapping[str, object]) -> None:
    sql = """
        INSERT INTO webhook (id, url, kinds, is_private, secret, delivered_to)
        VALUES (
            :id, :url, :kinds, :is_private, :secret, (SELECT COALESCE(MAX(id), 0) FROM event)
        )
    """
    db.execute(sql, webhook)


def get_webhook(db: Connection, webhook_id: str) -> WebhookRow | None:
    return db.execute("SELECT * FROM webhook WHERE id = :id", {"id": webhook_id}).fetchone()


def list_webhooks(db: Connection) -> list[WebhookRow]:
    return db.execute("SELECT * FROM webhook ORDER BY url, id").fetchall()


def select(webhook: WebhookRow) -> events.EventFilter:
    return events.EventFilter(kinds=tuple(webhook["kinds"].split()))


def get_undelivered_event(db: Connection, webhook: WebhookRow) -> StoredEventRow | None:
    return events.get_next_event(db, select(webhook), webhook["delivered_to"])


def mark_webhook(
    db: Connection,
    webhook: WebhookRow,
    delivered_to: int,
    failure: str | None = None,
    failed_since: str | None = None,
    due_at: str | None = None,
) -> None:
    # Changes nothing if the webhook was removed, or another watcher has delivered meanwhile.
    sql = """
        UPDATE webhook
        SET delivered_to = :to, failure = :failure, failed_since = :failed_since, due_at = :due_at
        WHERE id = :id AND delivered_to = :delivered_to
    """
    marks = {"to": delivered_to, "failure": failure, "failed_since": failed_since, "due_at": due_at}
    db.execute(sql, {**webhook, **marks})


def delete_webhook(db: Connection, webhook_id: str) -> None:
    db.execute("DELETE FROM webhook WHERE id = :id", {"id": webhook_id})
