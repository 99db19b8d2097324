"""Creates access tokens, and holds the statements about them. Only their hashes are stored."""

import hashlib
import secrets
from collections.abc import Mapping
from typing import NamedTuple, TypedDict

from marketplace.hedera import times
from marketplace.services import write
from marketplace.store.connection import Connection


class AccessTokenRow(TypedDict):
    hash: str
    name: str
    scopes: str
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    rate: str | None
    last_used_at: str | None  # the day


class AccessTokenUsageRow(AccessTokenRow):
    replaced_at: str | None


SCOPES = ("read", "write", "metrics")
VISITORS = "visitors"  # the name of all visitors' tokens, which are not stored
ENDING = 14 * times.DAY  # how long before a token's expiry the operator is warned


def create(
    name: str, scopes: tuple[str, ...], seconds: int | None, rate: str | None = None
) -> str | None:
    """Store a new access token and return it; None if an unrevoked token has this name.

    ``rate`` limits its writes: 600/m, or off. If it is None, the setting WRITE_LIMIT applies.
    """
    token, row = _make(name, " ".join(sorted(set(scopes))), seconds, rate)
    with write() as db:
        inserted = insert_access_token(db, row)
    return token if inserted else None


def _make(
    name: str, scopes: str, seconds: int | None, rate: str | None
) -> tuple[str, dict[str, object]]:
    """Make a token, and the row to store."""
    token, now = f"nftm_{secrets.token_urlsafe(32)}", times.now()
    expires_at = None if seconds is None else times.to_iso(now + seconds * times.SECOND)
    row: dict[str, object] = {
        "hash": hash_token(token),
        "name": name,
        "scopes": scopes,
        "created_at": times.to_iso(now),
        "expires_at": expires_at,
        "rate": rate,
    }
    return token, row


class Rotation(NamedTuple):
    token: str  # the new one
    earlier_ends_at: str


def rotate(name: str, overlap: int) -> Rotation | None:
    """Replace a token with a new one that has the same name, scopes, rate and lifetime.

    The old token works for ``overlap`` more seconds, unless it expires sooner. Returns None if there is no
    such token, or if the token that it replaced still works.
    """
    now = times.now()
    until = times.to_iso(now + overlap * times.SECOND)
    with write() as db:
        earlier = mark_access_token_replaced(db, name, times.to_iso(now), until)
        if earlier is None:
            return None
        token, row = _make(name, earlier["scopes"], _find_life(earlier), earlier["rate"])
        insert_access_token(db, row)
    return Rotation(token, min(until, earlier["expires_at"] or until))


def _find_life(row: AccessTokenRow) -> int | None:
    """A token's lifetime at its creation, in seconds; None: unlimited."""
    if row["expires_at"] is None:
        return None
    life = times.to_nanoseconds(row["expires_at"]) - times.to_nanoseconds(row["created_at"])
    return life // times.SECOND


def hash_token(token: str) -> str:
    """The SHA-256 of a token, hexadecimal: the only form that is stored."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def insert_access_token(
    db: Connection, access_token: Mapping[str, object]
) -> AccessTokenRow | None:
    sql = """
        INSERT INTO access_token (hash, name, scopes, created_at, expires_at, rate)
        VALUES (:hash, :name, :scopes, :created_at, :expires_at, :rate)
        ON CONFLICT (name) WHERE revoked_at IS NULL AND replaced_at IS NULL DO NOTHING
        RETURNING *
    """
    return db.execute(sql, access_token).fetchone()


def get_access_token(db: Connection, token_hash: str) -> AccessTokenRow | None:
    sql = """
        SELECT hash, name, scopes, created_at, expires_at, revoked_at, rate, last_used_at
        FROM access_token WHERE hash = :hash
    """
    return db.execute(sql, {"hash": token_hash}).fetchone()


def list_access_tokens(db: Connection) -> list[AccessTokenUsageRow]:
    sql = "SELECT * FROM access_token ORDER BY created_at, name"
    return db.execute(sql).fetchall()


def find_ending(db: Connection) -> list[AccessTokenUsageRow]:
    """The tokens that expire soon and were not replaced, in the order of their expiry."""
    now = times.now()
    return list_ending_tokens(db, times.to_iso(now), times.to_iso(now + ENDING))


def list_ending_tokens(db: Connection, now: str, until: str) -> list[AccessTokenUsageRow]:
    # Tokens that expire between two moments and were not replaced.
    sql = """
        SELECT * FROM access_token
        WHERE revoked_at IS NULL AND replaced_at IS NULL AND expires_at > :now AND expires_at <= :until
        ORDER BY expires_at, name
    """
    return db.execute(sql, {"now": now, "until": until}).fetchall()


def mark_access_token_replaced(
    db: Connection, name: str, now: str, until: str
) -> AccessTokenUsageRow | None:
    # Returns the earlier row. A token is replaced once at most, so at most two tokens of a name work.
    sql = """
        SELECT * FROM access_token
        WHERE name = :name AND revoked_at IS NULL AND replaced_at IS NULL
          AND (expires_at IS NULL OR expires_at > :now)
          AND NOT EXISTS (
              SELECT 1 FROM access_token AS earlier
              WHERE earlier.name = :name AND earlier.revoked_at IS NULL AND earlier.replaced_at IS NOT NULL
                AND earlier.expires_at > :now
          )
    """
    row: AccessTokenUsageRow | None = db.execute(sql, {"name": name, "now": now}).fetchone()
    if row is None:
        return None
    sql = """
        UPDATE access_token
        SET replaced_at = :now, expires_at = CASE WHEN expires_at < :until THEN expires_at ELSE :until END
        WHERE hash = :hash AND replaced_at IS NULL
        RETURNING hash
    """
    marked = db.execute(sql, {"hash": row["hash"], "now": now, "until": until}).fetchone()
    return row if marked else None


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
    rows = db.execute(sql, {"name": name, "revoked_at": revoked_at}).fetchall()
    return rows[0] if rows else None
