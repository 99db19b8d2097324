"""The statements about prepared transactions, and about the fees of purchases."""

from collections.abc import Mapping
from typing import Literal, TypedDict

from marketplace.store import properties
from marketplace.store.connection import Connection, count, only

# Of a prepared transaction. The marketplace pays for a purchase.
Kind = Literal[
    "listing",
    "withdrawal",
    "purchase",
    "offer",
    "acceptance",
    "offer_withdrawal",
]


class PreparedTransactionRow(TypedDict):
    transaction_id: str
    kind: Kind
    account_id: str
    prepared_at: str
    expires_at: str
    caller: str
    end_user: str
    schedule_id: str | None
    fee_tinybars: int | None
    is_settled: int | None
    is_sold: int | None
    signed: bytes | None
    charged_to: str | None
    unsigned: bytes | None


class PreparedNftRow(PreparedTransactionRow):
    """One NFT of a prepared transaction, and the transaction."""

    token: str
    serial_no: int
    price: int | None
    seller: str | None


class PriceRow(TypedDict):
    """The price of one NFT of a prepared transaction, and the sum of its seller's, in HBAR."""

    price: int
    of_seller: int


class HeldRow(TypedDict):
    """The use of the fee budget, in tinybars."""

    total: int
    reserved: int


_WITH_NFT = "prepared_transaction JOIN prepared_nft USING (transaction_id)"


def insert_prepared_transaction(
    db: Connection, prepared: Mapping[str, object]
) -> PreparedTransactionRow | None:
    sql = """
        INSERT INTO prepared_transaction (
            transaction_id, kind, account_id, prepared_at, expires_at, caller, end_user, schedule_id,
            fee_tinybars, is_settled, signed, unsigned
        )
        VALUES (
            :transaction_id, :kind, :account_id, :prepared_at, :expires_at, :caller, :end_user, :schedule_id,
            :fee_tinybars, :is_settled, :signed, :unsigned
        )
        ON CONFLICT (transaction_id) DO NOTHING
        RETURNING *
    """
    return db.execute(sql, prepared).fetchone()


def insert_prepared_nft(
    db: Connection, transaction_id: str, prepared_nft: Mapping[str, object]
) -> None:
    sql = """
        INSERT INTO prepared_nft (transaction_id, token, serial_no, price, seller)
        VALUES (:transaction_id, :token, :serial_no, :price, :seller)
    """
    db.execute(sql, {**prepared_nft, "transaction_id": transaction_id})


def get_prepared_transaction(db: Connection, transaction_id: str) -> PreparedTransactionRow | None:
    sql = "SELECT * FROM prepared_transaction WHERE transaction_id = :transaction_id"
    return db.execute(sql, {"transaction_id": transaction_id}).fetchone()


def get_prepared_nft(
    db: Connection, transaction_id: str, token: str, serial_no: int
) -> PreparedNftRow | None:
    sql = f"""
        SELECT * FROM {_WITH_NFT}
        WHERE transaction_id = :transaction_id AND token = :token AND serial_no = :serial_no
    """
    parameters = {"transaction_id": transaction_id, "token": token, "serial_no": serial_no}
    return db.execute(sql, parameters).fetchone()


def get_price_and_sum(
    db: Connection, transaction_id: str, token: str, serial_no: int
) -> PriceRow | None:
    sql = """
        SELECT price, (
            SELECT SUM(price) FROM prepared_nft AS other
            WHERE other.transaction_id = sold.transaction_id AND other.seller = sold.seller
        ) AS of_seller
        FROM prepared_nft AS sold
        WHERE transaction_id = :transaction_id AND token = :token AND serial_no = :serial_no
          AND seller IS NOT NULL
    """
    parameters = {"transaction_id": transaction_id, "token": token, "serial_no": serial_no}
    return db.execute(sql, parameters).fetchone()


def get_newest_prepared(
    db: Connection,
    token: str,
    serial_no: int,
    account_id: str,
    by: tuple[str, str] | None = None,
    *,
    with_offers: bool = False,
) -> PreparedNftRow | None:
    # All callers' newest listing, withdrawal, purchase or, if asked for, offer; or one caller's: ``by`` is an
    # access token and its end user.
    sql = f"""
        SELECT * FROM {_WITH_NFT}
        WHERE token = :token AND serial_no = :serial_no AND account_id = :account_id
          AND kind IN ('listing', 'withdrawal', 'purchase'{", 'offer'" if with_offers else ""})
          {"AND caller = :caller AND end_user = :end_user" if by else ""}
        ORDER BY prepared_at DESC
        LIMIT 1
    """
    parameters = {"token": token, "serial_no": serial_no, "account_id": account_id}
    caller, end_user = by or ("", "")
    return db.execute(sql, parameters | {"caller": caller, "end_user": end_user}).fetchone()


def list_prepared(db: Connection, token: str, serial_no: int, limit: int) -> list[PreparedNftRow]:
    # Of an NFT, the newest first.
    sql = f"""
        SELECT * FROM {_WITH_NFT}
        WHERE token = :token AND serial_no = :serial_no
        ORDER BY prepared_at DESC
        LIMIT :limit + 0
    """
    parameters = {"token": token, "serial_no": serial_no, "limit": limit}
    return db.execute(sql, parameters).fetchall()


def list_sellers(db: Connection) -> list[str]:
    # The accounts that have listed NFTs, that own an undecided NFT, or that may have listed or withdrawn one
    # without a report.
    sql = """
        SELECT owner FROM nft WHERE is_listed = 1
        UNION
        SELECT owner FROM nft WHERE is_for_sale = 1 AND is_listed = 0
        UNION
        SELECT owner FROM nft WHERE ledger_state = 'undecided'
        UNION
        SELECT account_id FROM prepared_transaction
        WHERE is_settled IS NULL AND kind IN ('listing', 'withdrawal')
    """
    return [row["owner"] for row in db.execute(sql)]


def delete_prepared_beyond(
    db: Connection, prepared: Mapping[str, object], of_user: int, of_token: int
) -> None:
    # For each NFT of a prepared transaction, keeps the newest listings or withdrawals: ``of_user`` per end
    # user, ``of_token`` per access token. A transaction of several NFTs is deleted when any of them exceeds a
    # limit. Purchases stay until their fee was counted for an hour.
    sql = """
        DELETE FROM prepared_transaction
        WHERE transaction_id IN (
            SELECT transaction_id
            FROM (
                SELECT transaction_id,
                    ROW_NUMBER() OVER (
                        PARTITION BY token, serial_no, end_user ORDER BY prepared_at DESC
                    ) AS of_user,
                    ROW_NUMBER() OVER (
                        PARTITION BY token, serial_no ORDER BY prepared_at DESC
                    ) AS of_token
                FROM (
                    SELECT token, serial_no FROM prepared_nft WHERE transaction_id = :transaction_id
                ) AS prepared
                JOIN prepared_nft USING (token, serial_no)
                JOIN prepared_transaction USING (transaction_id)
                WHERE account_id = :account_id AND kind = :kind AND caller = :caller
            ) AS found
            WHERE of_user > :of_user OR of_token > :of_token
        )
    """
    db.execute(sql, {**prepared, "of_user": of_user, "of_token": of_token})


# Conditions for transactions that the user pays for, that the marketplace pays for, and of the latter, those
# with an unknown fee. Each has an index.
PREPARATIONS = "is_settled IS NULL"
PURCHASES = "is_settled IS NOT NULL"
UNSETTLED = "is_settled = 0"


def count_open(db: Connection, which: str, now: str) -> int:
    # Reads only an index. Expired rows are deleted after some hours.
    sql = f"SELECT COUNT(*) AS n FROM prepared_transaction WHERE {which} AND expires_at > :now"
    return count(db, sql, {"now": now})


def is_any_expired(db: Connection, which: str, before: str) -> bool:
    sql = f"SELECT 1 FROM prepared_transaction WHERE {which} AND expires_at < :before LIMIT 1"
    return db.execute(sql, {"before": before}).fetchone() is not None


def delete_expired(db: Connection, which: str, before: str, limit: int) -> int:
    sql = f"""
        DELETE FROM prepared_transaction
        WHERE transaction_id IN (
            SELECT transaction_id FROM prepared_transaction
            WHERE {which} AND expires_at < :before
            LIMIT :limit + 0
        )
    """
    return db.execute(sql, {"before": before, "limit": limit}).rowcount


# Purchases, whose fees the marketplace pays


def lock_purchases(db: Connection) -> None:
    # This write makes purchases wait for each other, on all machines, so that each counts all others.
    properties.mark_property(db, properties.PURCHASES, b"")


def list_in_progress(db: Connection, since: str) -> list[PreparedNftRow]:
    # All NFTs of the submitted purchases whose fee is not known yet, and that expire after a moment.
    sql = f"""
        SELECT * FROM {_WITH_NFT}
        WHERE is_settled = 0 AND kind = 'purchase' AND expires_at > :since
    """
    return db.execute(sql, {"since": since}).fetchall()


def list_failed(db: Connection, account_id: str, since: str) -> list[str]:
    # When the purchases of an account expired that failed at consensus since a moment, the oldest first.
    sql = """
        SELECT expires_at FROM prepared_transaction
        WHERE is_settled = 1 AND is_sold = 0 AND fee_tinybars > 0 AND kind = 'purchase'
          AND expires_at > :since AND account_id = :account_id
        ORDER BY expires_at
    """
    return [
        row["expires_at"] for row in db.execute(sql, {"account_id": account_id, "since": since})
    ]


def get_held(db: Connection, since: str) -> HeldRow:
    # In tinybars: all fees of purchases that expire after a moment, and those of them that are not known yet.
    sql = """
        SELECT CAST(COALESCE(SUM(fee_tinybars), 0) AS BIGINT) AS total,
            CAST(COALESCE(SUM(CASE WHEN is_settled = 0 THEN fee_tinybars END), 0) AS BIGINT) AS reserved
        FROM prepared_transaction
        WHERE is_settled IS NOT NULL AND expires_at > :since
    """
    row: HeldRow = only(db, sql, {"since": since})
    return row


def list_unsettled(db: Connection) -> list[str]:
    sql = f"SELECT transaction_id FROM prepared_transaction WHERE {UNSETTLED} ORDER BY expires_at"
    return [row["transaction_id"] for row in db.execute(sql)]


def mark_never_submitted(db: Connection, before: str) -> None:
    # For purchases that expired before a moment, and that the ledger does not show.
    sql = f"""
        UPDATE prepared_transaction SET fee_tinybars = 0, is_settled = 1, is_sold = 0, signed = NULL
        WHERE {UNSETTLED} AND expires_at < :before
    """
    db.execute(sql, {"before": before})


def mark_charged(
    db: Connection,
    purchase: Mapping[str, object],
    fee_tinybars: int,
    is_sold: bool,
    charged_to: str,
) -> None:
    # Adds to earlier rows' fees. If two processes count the same rows, the second one changes nothing.
    sql = """
        UPDATE prepared_transaction
        SET fee_tinybars = CASE WHEN is_settled = 1 THEN fee_tinybars ELSE 0 END + :fee_tinybars,
            is_settled = 1,
            is_sold = COALESCE(is_sold, 0) | :is_sold,
            charged_to = :charged_to,
            signed = NULL
        WHERE transaction_id = :transaction_id
          AND COALESCE(charged_to, '') = COALESCE(:charged_to_before, '')
    """
    settled = {"fee_tinybars": fee_tinybars, "is_sold": int(is_sold), "charged_to": charged_to}
    known = {
        "transaction_id": purchase["transaction_id"],
        "charged_to_before": purchase["charged_to"],
    }
    db.execute(sql, known | settled)


def delete_purchase(db: Connection, transaction_id: str) -> None:
    # Of a purchase that no node has taken.
    sql = "DELETE FROM prepared_transaction WHERE transaction_id = :transaction_id"
    db.execute(sql, {"transaction_id": transaction_id})


# Offers


def get_newest_of_schedule(
    db: Connection, schedule_id: str, account_id: str, by: tuple[str, str] | None = None
) -> PreparedNftRow | None:
    # The newest transaction that an account was to sign about an offer; all callers', or one's, as above.
    sql = f"""
        SELECT * FROM {_WITH_NFT}
        WHERE schedule_id = :schedule_id AND account_id = :account_id
          {"AND caller = :caller AND end_user = :end_user" if by else ""}
        ORDER BY prepared_at DESC
        LIMIT 1
    """
    caller, end_user = by or ("", "")
    parameters = {"schedule_id": schedule_id, "account_id": account_id}
    return db.execute(sql, parameters | {"caller": caller, "end_user": end_user}).fetchone()
