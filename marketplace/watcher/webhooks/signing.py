"""The secrets of webhooks, and the signatures of messages: Standard Webhooks 1.0.

A secret is derived from a random salt in the database and a key in a file. So nobody can forge a message with
a copy of the database alone.
"""

import base64
import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

import click
from flask import current_app

from marketplace.store.rows import WebhookRow

KEY_DIGITS = 64


class KeyUnusable(click.ClickException):
    """Nothing can be signed for a webhook. The message is the reason."""


def find_key_path() -> Path:
    return Path(current_app.config["DATA_DIR"], "webhook.key")


def make_key() -> None:
    """Make the key's file, if there is none yet. Raises OSError."""
    with suppress(FileExistsError):
        file = os.open(find_key_path(), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(file, secrets.token_hex(KEY_DIGITS // 2).encode())
        os.fsync(file)
        os.close(file)


def make_secret(salt: str) -> bytes:
    """Derive a secret from its salt. Raises KeyUnusable."""
    path = find_key_path()
    try:
        key, mode = path.read_bytes().strip(), path.stat().st_mode
    except OSError as error:
        raise KeyUnusable(f"{path} can not be read: {error.strerror}") from error
    if len(key) != KEY_DIGITS or mode & 0o077:
        raise KeyUnusable(f"{path} holds no key, or others may read it: chmod 600")
    return hmac.digest(key, salt.encode(), "sha256")


def find_id(secret: bytes) -> str:
    """The id of the webhook that has this secret."""
    return hashlib.sha256(secret).hexdigest()[:8]


def find_secret(webhook: WebhookRow) -> bytes:
    """Return the secret of a webhook. Raises KeyUnusable, also if the key would make another secret."""
    secret = make_secret(webhook["salt"])
    if find_id(secret) != webhook["id"]:
        raise KeyUnusable(f"{find_key_path()} is not the file that its secret was made with")
    return secret


def written(secret: bytes) -> str:
    """A secret in the form that the receiver's library reads."""
    return f"whsec_{base64.b64encode(secret).decode()}"


def sign(secret: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    signed = f"{message_id}.{timestamp}.".encode() + body
    return f"v1,{base64.b64encode(hmac.digest(secret, signed, 'sha256')).decode()}"
