"""The statements about webhooks: the addresses that events are delivered to, and how far."""

from collections.abc import Mapping

from marketplace.store import events
from marketplace.store.rows import Connection, EventRow, WebhookRow, only

# Not where it was removed, or where another watcher has delivered meanwhile.
UNCHANGED = "id = :id AND secret_hash = :secret_hash AND delivered_to = :delivered_to"


def is_given_up(webhook: WebhookRow) -> bool:
    return webhook["failure"] is not None and webhook["due_at"] is None


def insert_webhook(db: Connection, webhook: Mapping[str, object]) -> WebhookRow:
    # While nobody else inserts one: Engine.order_events().
    sql = """
        INSERT INTO webhook (id, url, kinds, is_private, salt, secret_hash, delivered_to)
        VALUES (
            (SELECT COALESCE(MAX(id), 0) + 1 FROM webhook), :url, :kinds, :is_private, :salt,
            :secret_hash, (SELECT COALESCE(MAX(id), 0) FROM event)
        )
        RETURNING *
    """
    row: WebhookRow = only(db, sql, webhook)
    return row


def get_webhook(db: Connection, webhook_id: int) -> WebhookRow | None:
    return db.execute("SELECT * FROM webhook WHERE id = :id", {"id": webhook_id}).fetchone()


def list_webhooks(db: Connection) -> list[WebhookRow]:
    return db.execute("SELECT * FROM webhook ORDER BY id").fetchall()


def get_undelivered_event(db: Connection, webhook: WebhookRow, epoch: str = "") -> EventRow | None:
    # The first. The epoch is of its cursor.
    selection = events.Selection(kinds=tuple(webhook["kinds"].split()))
    found = events.list_events(db, selection, epoch, webhook["delivered_to"], limit=1)
    return found[0] if found else None


def mark_webhook_delivered(db: Connection, webhook: WebhookRow, event_id: int) -> None:
    sql = f"""
        UPDATE webhook
        SET delivered_to = :event_id, failure = NULL, failed_since = NULL, due_at = NULL
        WHERE {UNCHANGED}
    """
    db.execute(sql, {**webhook, "event_id": event_id})


def mark_webhook_failed(
    db: Connection, webhook: WebhookRow, failure: str, failed_since: str, due_at: str | None
) -> None:
    sql = f"""
        UPDATE webhook SET failure = :failure, failed_since = :failed_since, due_at = :due_at
        WHERE {UNCHANGED}
    """
    failed = {"failure": failure, "failed_since": failed_since, "due_at": due_at}
    db.execute(sql, {**webhook, **failed})


def delete_webhook(db: Connection, webhook_id: int) -> None:
    db.execute("DELETE FROM webhook WHERE id = :id", {"id": webhook_id})
