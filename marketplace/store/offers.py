"""The statements about offers: an index of the schedules that the ledger shows."""

from collections.abc import Mapping
from typing import NamedTuple

from marketplace.store.rows import Connection, OfferRow, count, only

UNENDED = "state IN ('unsigned', 'signed')"
ENDED = "state IN ('executed', 'failed', 'withdrawn', 'expired')"
# For ``offer JOIN nft USING (token, serial_no)``: whether the offer can be accepted now. The seller still
# owns the NFT, the NFT is shown, and neither side is blocked.
OPEN = """
    state = 'signed' AND expires_at > :now AND nft.owner = offer.seller
    AND nft.ledger_state <> 'gone' AND nft.is_hidden = 0
    AND NOT EXISTS (SELECT 1 FROM decision WHERE kind = 'blocked' AND id IN (offer.seller, offer.bidder))
"""


def get_offer(db: Connection, schedule_id: str) -> OfferRow | None:
    sql = "SELECT * FROM offer WHERE schedule_id = :schedule_id"
    return db.execute(sql, {"schedule_id": schedule_id}).fetchone()


def get_offer_of_transaction(db: Connection, transaction_id: str) -> OfferRow | None:
    # Of its creation, or its execution.
    sql = "SELECT * FROM offer WHERE transaction_id = :transaction_id"
    return db.execute(sql, {"transaction_id": transaction_id}).fetchone()


def list_open_of_nft(db: Connection, token: str, serial_no: int, now: str) -> list[OfferRow]:
    sql = f"""
        SELECT offer.* FROM offer JOIN nft USING (token, serial_no)
        WHERE token = :token AND serial_no = :serial_no AND {OPEN}
        ORDER BY price DESC, schedule_id
    """
    parameters = {"token": token, "serial_no": serial_no, "now": now}
    return db.execute(sql, parameters).fetchall()


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


def list_unended_of(db: Connection, bidder: str) -> list[str]:
    sql = f"SELECT schedule_id FROM offer WHERE bidder = :bidder AND {UNENDED} ORDER BY schedule_id"
    return [row["schedule_id"] for row in db.execute(sql, {"bidder": bidder})]


def list_to_cover(db: Connection, before: str, limit: int) -> list[OfferRow]:
    # Signed offers whose cover was last checked before a moment, or never: the oldest check first.
    sql = """
        SELECT * FROM offer
        WHERE state = 'signed' AND COALESCE(covered_at, '') <= :before
        ORDER BY COALESCE(covered_at, '')
        LIMIT :limit + 0
    """
    return db.execute(sql, {"before": before, "limit": limit}).fetchall()


def put_offer(db: Connection, offer: Mapping[str, object], state_before: str | None) -> bool:
    # Writes nothing if another process has changed the state since the reconciler read it.
    sql = """
        INSERT INTO offer (
            schedule_id, token, serial_no, seller, bidder, price, transaction_id, created_at, expires_at,
            body, state, state_at, opened_at
        )
        VALUES (
            :schedule_id, :token, :serial_no, :seller, :bidder, :price, :transaction_id, :created_at,
            :expires_at, :body, :state, :state_at, :opened_at
        )
        ON CONFLICT (schedule_id) DO UPDATE
        SET state = :state, state_at = :state_at, opened_at = :opened_at
        WHERE offer.state = :state_before
        RETURNING 1
    """
    return db.execute(sql, {**offer, "state_before": state_before}).fetchone() is not None


def mark_executed(db: Connection, schedule_id: str, executed_at: str | None) -> None:
    sql = """
        UPDATE offer SET state = 'executed', state_at = :executed_at
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


class OfferFilter(NamedTuple):
    """Whose offers to list: those for a token's NFTs or for one NFT, or those of one side."""

    token: str | None = None
    serial_no: int | None = None
    bidder: str | None = None
    seller: str | None = None


def list_open(
    db: Connection, chosen: OfferFilter, after: tuple[int, str], limit: int, now: str
) -> list[OfferRow]:
    # Open ones, the highest first. ``after``: the price and the id of the offer that ended the last page.
    columns = [name for name, value in chosen._asdict().items() if value is not None]
    sql = f"""
        SELECT offer.*, price AS key FROM offer JOIN nft USING (token, serial_no)
        WHERE {" AND ".join(f"offer.{name} = :{name}" for name in columns)}
          AND price <= :price AND (price < :price OR schedule_id > :schedule_id) AND {OPEN}
        ORDER BY price DESC, schedule_id
        LIMIT :limit + 0
    """
    price, schedule_id = after
    parameters = {"price": price, "schedule_id": schedule_id, "limit": limit, "now": now}
    return db.execute(sql, chosen._asdict() | parameters).fetchall()


def get_best(db: Connection, token: str, now: str) -> OfferRow | None:
    # The highest open offer for any NFT of a token, of those whose bidder can pay.
    sql = f"""
        SELECT offer.* FROM offer JOIN nft USING (token, serial_no)
        WHERE offer.token = :token AND is_covered = 1 AND {OPEN}
        ORDER BY price DESC, schedule_id
        LIMIT 1
    """
    return db.execute(sql, {"token": token, "now": now}).fetchone()


def get_open_price(db: Connection, token: str, serial_no: int, place: int, now: str) -> int | None:
    # The price of an NFT's open offer at a place, counted from the highest one.
    sql = f"""
        SELECT price FROM offer JOIN nft USING (token, serial_no)
        WHERE offer.token = :token AND offer.serial_no = :serial_no AND {OPEN}
        ORDER BY price DESC, schedule_id
        LIMIT 1 OFFSET :place - 1
    """
    parameters = {"token": token, "serial_no": serial_no, "place": place, "now": now}
    row = db.execute(sql, parameters).fetchone()
    return row["price"] if row else None


def count_of_bidder(db: Connection, bidder: str, now: str) -> int:
    sql = """
        SELECT COUNT(*) AS n FROM offer
        WHERE bidder = :bidder AND state = 'signed' AND expires_at > :now
    """
    return count(db, sql, {"bidder": bidder, "now": now})


def count_of_caller(
    db: Connection, caller: str, end_user: str, now: str, since: str, bidder: str | None = None
) -> tuple[int, int]:
    # Counts the offers that an access token and its end user asked for: the signed ones, and the unsigned
    # ones prepared since a moment; for all bidders, or for one.
    sql = f"""
        SELECT COALESCE(SUM(CASE WHEN state = 'signed' AND offer.expires_at > :now THEN 1 END), 0) AS signed,
            COALESCE(SUM(CASE WHEN COALESCE(state, 'unsigned') = 'unsigned' AND prepared_at > :since
                AND COALESCE(is_sold, 1) = 1 THEN 1 END), 0) AS unsigned
        FROM prepared_transaction LEFT JOIN offer
            ON offer.transaction_id = prepared_transaction.transaction_id
        WHERE schedule_expires_at IS NOT NULL AND caller = :caller AND end_user = :end_user
          {"AND account_id = :bidder" if bidder else ""}
    """
    parameters = {"caller": caller, "end_user": end_user, "now": now, "since": since}
    row = only(db, sql, parameters | {"bidder": bidder})
    return int(row["signed"]), int(row["unsigned"])


def is_open(db: Connection, offer: OfferRow) -> bool:
    # Applies OPEN's conditions on the NFT and both sides to a signed, unexpired offer.
    sql = """
        SELECT 1 FROM nft
        WHERE token = :token AND serial_no = :serial_no AND owner = :seller
          AND ledger_state <> 'gone' AND is_hidden = 0
          AND NOT EXISTS (SELECT 1 FROM decision WHERE kind = 'blocked' AND id IN (:seller, :bidder))
    """
    return db.execute(sql, {**offer}).fetchone() is not None
