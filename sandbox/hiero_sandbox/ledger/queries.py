"""The SQL of the sandbox's ledger: one function, one statement."""

from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any

from hiero_sandbox.storage import Connection

NOBODY = ""  # the owner of NFTs that were burned or wiped
LAST_NUMBER = 1_000_000  # accounts and tokens that transactions create have higher numbers

Row = Mapping[Any, Any]  # by name, or by position


def put(db: Connection, table: str, **columns: object) -> None:
    """Insert a row, or replace the row with the same primary key."""
    names, values = ", ".join(columns), ", ".join(f":{name}" for name in columns)
    db.execute(f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({values})", columns)


def get(db: Connection, table: str, **columns: object) -> Row | None:
    """One row of a table that has these values, or None."""
    return next(iter(select(db, table, **columns)), None)


def delete(db: Connection, table: str, **columns: object) -> None:
    db.execute(f"DELETE FROM {table} WHERE {_equal(columns)}", columns)


def select(db: Connection, table: str, **columns: object) -> list[Row]:
    """The rows of a table that have these values."""
    return _rows(db, f"SELECT * FROM {table} WHERE {_equal(columns)}", **columns)


def count(db: Connection, table: str, **columns: object) -> int:
    """How many rows of a table have these values."""
    return _number(db, f"SELECT COUNT(*) FROM {table} WHERE {_equal(columns)}", **columns)


def get_highest(db: Connection, column: str, table: str, **columns: object) -> int:
    """The highest number in a column of the rows that have these values; 0 if there are none."""
    return _number(db, f"SELECT MAX({column}) FROM {table} WHERE {_equal(columns)}", **columns)


def _equal(columns: Iterable[str]) -> str:
    return " AND ".join(f"{name} = :{name}" for name in columns) or "TRUE"


def _rows(db: Connection, sql: str, **parameters: object) -> list[Row]:
    return db.execute(sql, parameters).fetchall()


def _number(db: Connection, sql: str, **parameters: object) -> int:
    row = db.execute(sql, parameters).fetchone()
    return row[0] or 0 if row else 0


# Accounts


def list_aliases(db: Connection, account_id: str) -> list[bytes]:
    return sorted(row["alias"] for row in select(db, "alias", account_id=account_id))


def new_id(db: Connection) -> str:
    """Take the next id for what a transaction creates."""
    while True:
        number = max(LAST_NUMBER, get_highest(db, "number", "created")) + 1
        put(db, "created", number=number)
        entity_id = f"0.0.{number}"
        if not _is_used(db, entity_id):
            return entity_id


def _is_used(db: Connection, entity_id: str) -> bool:
    tables = ("token", "nft", "association", "holding", "deleted_token")
    ids = {"account": "account_id"} | dict.fromkeys(tables, "token")
    return any(get(db, table, **{column: entity_id}) for table, column in ids.items())


# Fungible tokens


def count_units_of(db: Connection, account_id: str, token: str) -> int:
    return get_highest(db, "balance", "holding", account_id=account_id, token=token)


def list_holders(db: Connection, token: str) -> list[Row]:
    # The accounts that are associated with a token or have some, with how many NFTs or units of it.
    sql = """
        SELECT account_id, SUM(balance) AS balance
        FROM (
            SELECT account_id, 0 AS balance FROM association WHERE token = :token
            UNION ALL
            SELECT account_id, balance FROM holding WHERE token = :token
            UNION ALL
            SELECT owner, 1 FROM nft WHERE token = :token AND owner <> ''
        )
        GROUP BY account_id
    """
    return _rows(db, sql, token=token)


def has_tokens(db: Connection, account_id: str) -> bool:
    """Whether an account has any NFT, or units of any token."""
    sql = "SELECT MAX(balance) FROM holding WHERE account_id = :account_id"
    return bool(count(db, "nft", owner=account_id) or _number(db, sql, account_id=account_id))


# Tokens


def list_tokens(db: Connection) -> list[str]:
    # Those that transactions have created or changed, and those that somebody holds.
    sql = "SELECT token FROM token UNION SELECT token FROM nft UNION SELECT token FROM holding"
    return [row["token"] for row in _rows(db, sql)]


def is_deleted(db: Connection, token: str) -> bool:
    return get(db, "deleted_token", token=token) is not None


def get_deleted_at(db: Connection, token: str) -> int:
    # 0: it was not deleted.
    return get_highest(db, "deleted_at", "deleted_token", token=token)


# Associations of accounts with tokens


def list_associations(db: Connection, account_id: str) -> list[Row]:
    # Each with how many NFTs or units of the token the account has.
    sql = """
        SELECT association.*, COALESCE(holding.balance, (
            SELECT COUNT(*) FROM nft
            WHERE nft.owner = association.account_id AND nft.token = association.token
        )) AS balance
        FROM association
        LEFT JOIN holding USING (token, account_id)
        WHERE association.account_id = :account_id
        ORDER BY token
    """
    return _rows(db, sql, account_id=account_id)


# Schedules


def get_due_schedule(db: Connection, now: int) -> Row | None:
    # The open schedule that expires first, if it has.
    sql = """
        SELECT * FROM schedule WHERE state = 'open' AND expires_at <= :now
        ORDER BY expires_at, schedule_id
        LIMIT 1
    """
    return next(iter(_rows(db, sql, now=now)), None)


# Files


def list_file_parts(db: Connection, file_id: str, since: int) -> list[bytes]:
    # In the order in which they were added.
    sql = """
        SELECT content FROM file_part WHERE file_id = :file_id AND consensus_at >= :since
        ORDER BY consensus_at
    """
    return [row["content"] for row in _rows(db, sql, file_id=file_id, since=since)]


# Topics


def list_messages(db: Connection, topic: str, low: int, high: int, limit: int) -> list[Row]:
    # Those of a topic from a time on, and before another, in nanoseconds.
    sql = """
        SELECT * FROM topic_message
        WHERE topic = :topic AND consensus_at >= :low AND consensus_at < :high
        ORDER BY sequence_no
        LIMIT :limit
    """
    return _rows(db, sql, topic=topic, low=low, high=high, limit=limit)


# Transactions


def get_last_consensus(db: Connection) -> int:
    return get_highest(db, "consensus_at", "transaction_record")


def get_first_consensus(db: Connection) -> int:
    # 0: there is no transaction.
    return _number(db, "SELECT COALESCE(MIN(consensus_at), 0) FROM transaction_record")


def list_transactions(db: Connection, transaction_id: str) -> list[Row]:
    # All rows under one id, in the order of consensus.
    rows = select(db, "transaction_record", transaction_id=transaction_id)
    return sorted(rows, key=itemgetter("consensus_at"))


def list_transactions_of_hash(db: Connection, transaction_hash: bytes) -> list[Row]:
    # All rows with one hash, in the order of consensus.
    rows = select(db, "transaction_record", hash=transaction_hash)
    return sorted(rows, key=itemgetter("consensus_at"))


def list_nft_transactions(db: Connection, token: str, serial_no: int) -> list[Row]:
    # The records of the transactions that changed an NFT, or its approval; and that deleted its token.
    sql = """
        SELECT * FROM transaction_record
        WHERE consensus_at IN (
            SELECT consensus_at FROM nft_transaction WHERE token = :token AND serial_no = :serial_no
            UNION SELECT deleted_at FROM deleted_token WHERE token = :token
        )
    """
    return _rows(db, sql, token=token, serial_no=serial_no)


def list_paid_transactions(db: Connection, payer: str, since: int) -> list[Row]:
    # Those that reached consensus since a time in nanoseconds.
    sql = """
        SELECT * FROM transaction_record
        WHERE consensus_at >= :since AND transaction_id LIKE :payer || '-%'
        ORDER BY consensus_at
    """
    return _rows(db, sql, payer=payer, since=since)


def iterate_transactions(db: Connection, low: int, high: int, is_ascending: bool) -> Iterator[Row]:
    sql = f"""
        SELECT * FROM transaction_record
        WHERE consensus_at BETWEEN :low AND :high
        ORDER BY consensus_at {"ASC" if is_ascending else "DESC"}
    """
    return iter(db.execute(sql, {"low": low, "high": high}))


def count_transactions(db: Connection, low: int, high: int) -> int:
    sql = "SELECT COUNT(*) FROM transaction_record WHERE consensus_at BETWEEN :low AND :high"
    return _number(db, sql, low=low, high=high)
