"""The statements about offers: an index of the schedules that the ledger shows."""

from collections.abc import Mapping

from marketplace.store.rows import Connection, OfferRow

UNENDED = "state IN ('unsigned', 'signed')"
# Whether an offer can be accepted now, of ``offer JOIN nft USING (token, serial_no)``: the NFT belongs to its
# seller still, and is shown, and nobody of the two is blocked.
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


def list_unended(db: Connection, before: str, limit: int) -> list[OfferRow]:
    # Those that have expired before a moment, and whose end is not known yet.
    sql = f"""
        SELECT * FROM offer WHERE {UNENDED} AND expires_at <= :before
        ORDER BY expires_at
        LIMIT :limit + 0
    """
    return db.execute(sql, {"before": before, "limit": limit}).fetchall()


def list_unended_of(db: Connection, bidder: str) -> list[str]:
    sql = f"SELECT schedule_id FROM offer WHERE bidder = :bidder AND {UNENDED} ORDER BY schedule_id"
    return [row["schedule_id"] for row in db.execute(sql, {"bidder": bidder})]


def list_to_cover(db: Connection, before: str, limit: int) -> list[OfferRow]:
    # Those that are signed, and whose cover was looked at before a moment, or never: longest ago first.
    sql = """
        SELECT * FROM offer
        WHERE state = 'signed' AND COALESCE(covered_at, '') <= :before
        ORDER BY COALESCE(covered_at, '')
        LIMIT :limit + 0
    """
    return db.execute(sql, {"before": before, "limit": limit}).fetchall()


def put_offer(db: Connection, offer: Mapping[str, object], state_before: str | None) -> bool:
    # As a reconciler compared it: nothing is written if another process wrote another state meanwhile.
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


def mark_covered(db: Connection, schedule_id: str, is_covered: bool, covered_at: str) -> None:
    sql = """
        UPDATE offer SET is_covered = :is_covered, covered_at = :covered_at
        WHERE schedule_id = :schedule_id
    """
    parameters = {"schedule_id": schedule_id, "is_covered": int(is_covered)}
    db.execute(sql, parameters | {"covered_at": covered_at})
