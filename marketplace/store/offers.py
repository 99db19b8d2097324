"""The statements about offers: an index of the schedules that the ledger shows."""

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypedDict

from marketplace.hedera.ids import MAX_HBAR
from marketplace.store.connection import Connection

OfferState = Literal["open", "closed", "executed", "failed", "withdrawn", "expired"]


class OfferRow(TypedDict):
    schedule_id: str
    token: str
    serial_no: int
    seller: str
    bidder: str
    price: int
    transaction_id: str
    created_at: str
    expires_at: str
    body: bytes
    state: OfferState
    state_at: str
    accepted_at: str | None
    is_covered: int
    covered_at: str | None


class MadeOfferRow(OfferRow):
    """An offer in a list."""

    key: int  # its price, by which the list is sorted
    is_acceptable: int  # whether it can be accepted now, if it is covered


UNENDED = "state IN ('open', 'closed')"
ENDED = "state IN ('executed', 'failed', 'withdrawn', 'expired')"
# For ``offer JOIN nft USING (token, serial_no)``: whether the offer can be accepted now, if it is covered.
# The seller still owns the NFT, the NFT is shown, and neither side is blocked.
ACCEPTABLE = """
    state = 'open' AND expires_at > :now AND nft.owner = offer.seller
    AND nft.ledger_state <> 'gone' AND nft.is_hidden = 0
    AND NOT EXISTS (SELECT 1 FROM decision WHERE kind = 'blocked' AND id IN (offer.seller, offer.bidder))
"""
OPEN = f"is_covered = 1 AND {ACCEPTABLE}"  # what counts, anywhere


def get_offer(db: Connection, schedule_id: str) -> OfferRow | None:
    sql = "SELECT * FROM offer WHERE schedule_id = :schedule_id"
    return db.execute(sql, {"schedule_id": schedule_id}).fetchone()


def get_made(db: Connection, schedule_id: str, now: str) -> MadeOfferRow | None:
    # The offer, and whether it can be accepted now if it is covered.
    sql = f"""
        SELECT offer.*, price AS key, CASE WHEN {ACCEPTABLE} THEN 1 ELSE 0 END AS is_acceptable
        FROM offer LEFT JOIN nft USING (token, serial_no)
        WHERE schedule_id = :schedule_id
    """
    return db.execute(sql, {"schedule_id": schedule_id, "now": now}).fetchone()


def get_offer_of_transaction(db: Connection, transaction_id: str) -> OfferRow | None:
    # Of its creation, or its execution.
    sql = "SELECT * FROM offer WHERE transaction_id = :transaction_id"
    return db.execute(sql, {"transaction_id": transaction_id}).fetchone()


def list_expired(db: Connection, before: str, limit: int) -> list[OfferRow]:
    # Offers that expired before a moment, whose end is unknown, and whose expiry is not queued.
    sql = f"""
        SELECT * FROM offer
        WHERE {UNENDED} AND expires_at <= :before AND NOT EXISTS (
            SELECT 1 FROM recheck
            WHERE kind = 'offer' AND id = schedule_id AND serial_no = 0 AND changed_at >= expires_at
        )
        ORDER BY expires_at
        LIMIT :limit + 0
    """
    return db.execute(sql, {"before": before, "limit": limit}).fetchall()


def list_unended(db: Connection) -> list[OfferRow]:
    sql = f"SELECT * FROM offer WHERE {UNENDED} ORDER BY expires_at"
    return db.execute(sql).fetchall()


def list_unended_of(db: Connection, bidder: str) -> list[str]:
    sql = f"SELECT schedule_id FROM offer WHERE bidder = :bidder AND {UNENDED} ORDER BY schedule_id"
    return [row["schedule_id"] for row in db.execute(sql, {"bidder": bidder})]


def list_to_cover(db: Connection, before: str, limit: int) -> list[OfferRow]:
    # Open offers whose cover was last checked before a moment, or never: the oldest check first.
    sql = """
        SELECT * FROM offer
        WHERE state = 'open' AND COALESCE(covered_at, '') <= :before
        ORDER BY COALESCE(covered_at, '')
        LIMIT :limit + 0
    """
    return db.execute(sql, {"before": before, "limit": limit}).fetchall()


def put_offer(db: Connection, offer: Mapping[str, object], replaced: OfferRow | None) -> bool:
    # Writes nothing if another process has changed it since the reconciler read it.
    sql = """
        INSERT INTO offer (
            schedule_id, token, serial_no, seller, bidder, price, transaction_id, created_at, expires_at,
            body, state, state_at, accepted_at
        )
        VALUES (
            :schedule_id, :token, :serial_no, :seller, :bidder, :price, :transaction_id, :created_at,
            :expires_at, :body, :state, :state_at, :accepted_at
        )
        ON CONFLICT (schedule_id) DO UPDATE
        SET state = :state, state_at = :state_at, accepted_at = :accepted_at
        WHERE offer.state = :state_before
          AND COALESCE(offer.accepted_at, '') = COALESCE(:accepted_before, '')
        RETURNING 1
    """
    state, accepted_at = (replaced["state"], replaced["accepted_at"]) if replaced else (None, None)
    known = {"state_before": state, "accepted_before": accepted_at}
    return db.execute(sql, {**offer, **known}).fetchone() is not None


def mark_executed(db: Connection, schedule_id: str, executed_at: str | None) -> None:
    sql = """
        UPDATE offer SET state = 'executed', state_at = :executed_at, accepted_at = NULL
        WHERE schedule_id = :schedule_id AND state <> 'executed'
    """
    db.execute(sql, {"schedule_id": schedule_id, "executed_at": executed_at})


def mark_covered(db: Connection, schedule_id: str, is_covered: bool, covered_at: str) -> None:
    sql = """
        UPDATE offer SET is_covered = :is_covered, covered_at = :covered_at
        WHERE schedule_id = :schedule_id
    """
    parameters = {"schedule_id": schedule_id, "is_covered": int(is_covered)}
    db.execute(sql, parameters | {"covered_at": covered_at})


def delete_ended(db: Connection, before: str, limit: int) -> int:
    # Those that ended, and would have expired before a moment.
    sql = f"""
        DELETE FROM offer WHERE schedule_id IN (
            SELECT schedule_id FROM offer WHERE {ENDED} AND expires_at < :before LIMIT :limit + 0
        )
    """
    return db.execute(sql, {"before": before, "limit": limit}).rowcount


BEFORE_ALL = (MAX_HBAR + 1, "")  # the position of no offer, before the highest one


class OfferFilter(NamedTuple):
    """Which offers to list: those for a token's NFTs, for one NFT, or for an owner's NFTs."""

    token: str | None = None
    serial_no: int | None = None
    seller: str | None = None


def list_open(
    db: Connection, chosen: OfferFilter, after: tuple[int, str], limit: int, now: str
) -> list[MadeOfferRow]:
    # Open ones, the highest first. ``after``: the price and the id of the offer that ended the last page.
    columns = [name for name, value in chosen._asdict().items() if value is not None]
    sql = f"""
        SELECT offer.*, price AS key, 1 AS is_acceptable FROM offer JOIN nft USING (token, serial_no)
        WHERE {" AND ".join(f"offer.{name} = :{name}" for name in columns)}
          AND price <= :price AND (price < :price OR schedule_id > :schedule_id) AND {OPEN}
        ORDER BY price DESC, schedule_id
        LIMIT :limit + 0
    """
    price, schedule_id = after
    parameters = {"price": price, "schedule_id": schedule_id, "limit": limit, "now": now}
    return db.execute(sql, chosen._asdict() | parameters).fetchall()


def list_made(
    db: Connection, bidder: str, after: tuple[int, str], limit: int, now: str
) -> list[MadeOfferRow]:
    # All offers of a bidder, whatever became of them, as above.
    sql = f"""
        SELECT offer.*, price AS key, CASE WHEN {ACCEPTABLE} THEN 1 ELSE 0 END AS is_acceptable
        FROM offer LEFT JOIN nft USING (token, serial_no)
        WHERE bidder = :bidder AND price <= :price AND (price < :price OR schedule_id > :schedule_id)
          AND COALESCE(nft.is_hidden, 0) = 0
        ORDER BY price DESC, schedule_id
        LIMIT :limit + 0
    """
    price, schedule_id = after
    parameters = {"price": price, "schedule_id": schedule_id, "limit": limit, "now": now}
    return db.execute(sql, {"bidder": bidder} | parameters).fetchall()


def get_best(db: Connection, token: str, now: str) -> OfferRow | None:
    # The highest open offer for any NFT of a token.
    sql = f"""
        SELECT offer.* FROM offer JOIN nft USING (token, serial_no)
        WHERE offer.token = :token AND {OPEN}
        ORDER BY price DESC, schedule_id
        LIMIT 1
    """
    return db.execute(sql, {"token": token, "now": now}).fetchone()
