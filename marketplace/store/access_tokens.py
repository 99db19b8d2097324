"""Access tokens: how they are made, and the statements about them. Only their hashes are stored."""

import hashlib
import secrets
from collections.abc import Mapping

from marketplace.hedera import times
from marketplace.store.database import write
from marketplace.store.rows import AccessTokenRow, AccessTokenUsageRow, Connection

SCOPES = ("read", "write", "metrics")
ON_BEHALF = "on-behalf"  # the scope of a token that may name end users


def create(
    name: str, scopes: tuple[str, ...], seconds: int | None, rate: str | None = None
) -> str | None:
    """Store a new access token and return it, or None if a token that is not revoked has this name.

    ``rate`` limits its writes: 600/m, or off. If it is None, the setting WRITE_LIMIT applies.
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
        row = insert_access_token(db, access_token)
    return token if row else None


def hash_token(token: str) -> str:
    """The SHA-256 of a token, hexadecimal: the only form that is stored."""
    return hashlib.sha256(token.encode()).hexdigest()


def insert_access_token(
    db: Connection, access_token: Mapping[str, object]
) -> AccessTokenRow | None:
    sql = """
        INSERT INTO access_token (hash, name, scopes, created_at, expires_at, rate)
        VALUES (:hash, :name, :scopes, :created_at, :expires_at, :rate)
        ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING
        RETURNING *
    """
    return db.execute(sql, access_token).fetchone()


def get_access_token(db: Connection, token_hash: str) -> AccessTokenRow | None:
    # Without last_used_at: the row must stay the same, as the response cache compares it.
    sql = """
        SELECT hash, name, scopes, created_at, expires_at, revoked_at, rate
        FROM access_token WHERE hash = :hash
    """
    return db.execute(sql, {"hash": token_hash}).fetchone()


def list_access_tokens(db: Connection) -> list[AccessTokenUsageRow]:
    sql = "SELECT * FROM access_token ORDER BY created_at, name"
    return db.execute(sql).fetchall()


def mark_access_token_used(db: Connection, token_hash: str, used_at: str) -> int:
    sql = """
        UPDATE access_token
        SET last_used_at = :used_at
        WHERE hash = :hash AND (last_used_at IS NULL OR last_used_at < :used_at)
    """
    return db.execute(sql, {"hash": token_hash, "used_at": used_at}).rowcount


def mark_access_token_revoked(
    db: Connection, name: str, revoked_at: str
) -> AccessTokenUsageRow | None:
    sql = """
        UPDATE access_token
        SET revoked_at = :revoked_at
        WHERE name = :name AND revoked_at IS NULL
        RETURNING *
    """
    return db.execute(sql, {"name": name, "revoked_at": revoked_at}).fetchone()
