"""Visitors' tokens: what the storefront's pages send in place of an access token.

A token is signed and not stored, and works for an hour. It names nobody: the end user is the visitor's
address. All pages of a minute carry the same one, so that caches have few of them.
"""

import hashlib
import secrets
from typing import Any

from flask import Blueprint
from itsdangerous import BadSignature, Signer

from marketplace.hedera import times
from marketplace.services import read, write
from marketplace.store import properties
from marketplace.store.access_tokens import VISITORS, AccessTokenRow
from marketplace.store.connection import Connection

PREFIX = "nftv_"

blp = Blueprint("visitors", __name__)


@blp.get("/visitor-token")
def show_visitor_token() -> tuple[dict[str, Any], dict[str, str]]:
    """Give a page a new visitor's token. Pages of other origins cannot read it."""
    return {"token": make_token()}, {"Cache-Control": "no-store"}


def make_token() -> str:
    """The visitors' token of this minute."""
    now = times.now()
    expires_at = now - now % times.MINUTE + times.HOUR
    return _signer(find_secret()).sign(f"{PREFIX}{expires_at}").decode()


def get_visitor(db: Connection, token: str) -> AccessTokenRow | None:
    """A visitor's token as the row of an access token; None if this service has not signed it."""
    secret = properties.get_property(db, properties.VISITORS_SECRET)
    if secret is None:
        return None
    try:
        signed = _signer(secret).unsign(token).decode()
    except BadSignature:
        return None
    expires_at = times.to_iso(int(signed.removeprefix(PREFIX)))
    return {
        "hash": "",
        "name": VISITORS,
        "scopes": "read write",
        "created_at": "",
        "expires_at": expires_at,
        "revoked_at": None,
        "rate": None,
        "last_used_at": expires_at,
    }


def find_secret() -> bytes:
    """The database's secret. The first process that needs it makes it for all machines."""
    name = properties.VISITORS_SECRET
    if secret := properties.get_property(read(), name):
        return secret
    with write() as db:
        properties.insert_property(db, name, secrets.token_bytes())
        secret = properties.get_property(db, name)
    assert secret is not None  # noqa: S101
    return secret


def _signer(secret: bytes) -> Signer:
    return Signer(secret, salt=VISITORS, digest_method=hashlib.sha256)
