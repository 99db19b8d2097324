"""The secrets of webhooks, and the signatures of messages: Standard Webhooks 1.0."""

import base64
import hashlib
import hmac
import secrets

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
