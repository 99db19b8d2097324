"""Access tokens: made, and kept as their hashes only."""

import hashlib
import secrets

from marketplace import times
from marketplace.store import queries
from marketplace.store.database import write

SCOPES = ("read", "write", "metrics")
ON_BEHALF = "on-behalf"  # the scope of a token that may name end users


def create(
    name: str, scopes: tuple[str, ...], seconds: int | None, rate: str | None = None
) -> str | None:
    """Store a new access token and return it, or None where the name is taken by a living one.

    It may write as often as ``rate`` says, such as 600/m or off; where that is None, as the settings say.
    """
    token = f"nftm_{secrets.token_urlsafe(32)}"
    now = times.now()
    access_token = {
        "hash": hash_token(token),
        "name": name,
        "scopes": " ".join(sorted(set(scopes))),
        "created_at": times.to_iso(now),
        "expires_at": None if seconds is None else times.to_iso(now + seconds * times.SECOND),
        "rate": rate,
    }
    with write() as db:
        row = queries.insert_access_token(db, access_token)
    return token if row else None


def hash_token(token: str) -> str:
    """The only form in which a token is kept: SHA-256, hexadecimal."""
    return hashlib.sha256(token.encode()).hexdigest()
