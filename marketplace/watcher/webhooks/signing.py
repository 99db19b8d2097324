"""The secrets of webhooks, and the signatures of messages: Standard Webhooks 1.0.

A secret is derived from a random salt in the database and a key in a file. So nobody can forge a message with
a copy of the database alone.
"""

import base64
import fcntl
import hashlib
import hmac
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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
    """Make the key's file, if there is none yet, or an empty one. Raises OSError.

    It is written beside, and then renamed: a full disk or a kill must not leave an empty file.
    """
    path = find_key_path()
    with _locked(path.parent) as folder:
        if path.exists() and path.stat().st_size:
            return
        handle, name = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name}."
        )  # only for its owner
        try:
            with open(handle, "w") as file:
                file.write(secrets.token_hex(KEY_DIGITS // 2))
                file.flush()
                os.fsync(handle)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
        os.fsync(folder)


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Open a folder, and keep others from making the key in it meanwhile."""
    folder = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield folder
    finally:
        os.close(folder)


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


def format_secret(secret: bytes) -> str:
    """A secret in the form that the receiver's library reads."""
    return f"whsec_{base64.b64encode(secret).decode()}"


def sign(secret: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    signed = f"{message_id}.{timestamp}.".encode() + body
    return f"v1,{base64.b64encode(hmac.digest(secret, signed, 'sha256')).decode()}"
