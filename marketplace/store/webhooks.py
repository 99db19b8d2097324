"""The statements about webhooks: their URLs, and how far each has received the events."""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from pathlib import Path

from flask import current_app

from marketplace.errors import StartRefused
from marketplace.store import events
from marketplace.store.rows import Connection, StoredEventRow, WebhookRow


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


def store_secrets(db: Connection) -> None:
    """For the upgrade, compute earlier webhooks' secrets from their salts and the file webhook.key.

    Raises StartRefused if there are webhooks whose secrets the file cannot produce.
    """
    for webhook in db.execute("SELECT * FROM earlier").fetchall():
        path = Path(current_app.config["DATA_DIR"], "webhook.key")
        key = path.read_bytes().strip() if path.is_file() else b""
        secret = hmac.digest(key, webhook["salt"].encode(), "sha256")
        if hashlib.sha256(secret).hexdigest()[:8] != webhook["id"]:
            raise StartRefused(
                f"{path} is not the file that generated the webhooks' secrets. Copy that file from the"
                " watcher's machine. If it is lost, remove all webhooks with the earlier version (flask"
                " webhook remove ID), upgrade, and add them again"
            )
        sql = """
            INSERT INTO webhook
                (id, url, kinds, is_private, secret, delivered_to, failure, failed_since, due_at)
            VALUES (
                :id, :url, :kinds, :is_private, :secret, :delivered_to, :failure, :failed_since, :due_at
            )
        """
        db.execute(sql, {**webhook, "secret": f"whsec_{base64.b64encode(secret).decode()}"})
    db.execute("DROP TABLE earlier")
