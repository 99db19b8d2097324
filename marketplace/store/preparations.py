"""The SQL of prepared transactions, and of what purchases among them cost; as queries.py writes it."""

from marketplace.store import queries


def insert_prepared_transaction(db, prepared):
    sql = """
        INSERT INTO prepared_transaction (
            transaction_id, kind, token, serial_no, account_id, price, memo, wallet,
            prepared_at, expires_at, seller, caller, fee_tinybars, is_settled
        )
        VALUES (
            :transaction_id, :kind, :token, :serial_no, :account_id, :price, :memo, :wallet,
            :prepared_at, :expires_at, :seller, :caller, :fee_tinybars, :is_settled
        )
        ON CONFLICT (transaction_id) DO NOTHING
        RETURNING *
    """
    return db.execute(sql, prepared).fetchone()


def get_prepared_transaction(db, transaction_id):
    sql = "SELECT * FROM prepared_transaction WHERE transaction_id = :transaction_id"
    return db.execute(sql, {"transaction_id": transaction_id}).fetchone()


def list_prepared_transactions(db, token, serial_no, account_id, limit):
    sql = """
        SELECT * FROM prepared_transaction
        WHERE token = :token AND serial_no = :serial_no AND account_id = :account_id
        ORDER BY prepared_at DESC
        LIMIT :limit
    """
    parameters = {
        "token": token,
        "serial_no": serial_no,
        "account_id": account_id,
        "limit": limit,
    }
    return db.execute(sql, parameters).fetchall()


def list_preparers(db):
    # Who may have listed or withdrawn what nobody has reported, or owns what could not be decided yet.
    sql = """
        SELECT account_id FROM prepared_transaction WHERE is_settled IS NULL
        UNION
        SELECT owner FROM nft WHERE ledger_at = '1970-01-01T00:00:00.000000000Z'
    """
    return db.execute(sql).fetchall()


def count_open_preparations(db, now):
    # Listings and withdrawals. Read in an index alone; what has ended is forgotten after some hours.
    sql = """
        SELECT COUNT(*) AS n FROM prepared_transaction
        WHERE is_settled IS NULL AND expires_at > :now
    """
    return db.execute(sql, {"now": now}).fetchone()["n"]


def mark_result(db, transaction_id, result):
    sql = """
        UPDATE prepared_transaction SET result = :result
        WHERE transaction_id = :transaction_id AND result IS NULL
        RETURNING *
    """
    return db.execute(sql, {"transaction_id": transaction_id, "result": result}).fetchone()


def delete_prepared_transactions_beyond(db, token, serial_no, account_id, kept):
    # Keeps the newest ones of an NFT and account; a purchase until its fee has been counted for an hour.
    sql = """
        DELETE FROM prepared_transaction
        WHERE transaction_id IN (
            SELECT transaction_id FROM prepared_transaction
            WHERE token = :token AND serial_no = :serial_no AND account_id = :account_id
              AND is_settled IS NULL
            ORDER BY prepared_at DESC
            LIMIT 100 OFFSET :kept
        )
    """
    parameters = {
        "token": token,
        "serial_no": serial_no,
        "account_id": account_id,
        "kept": kept,
    }
    db.execute(sql, parameters)


def delete_expired_preparations(db, account_id, before, limit):
    sql = """
        DELETE FROM prepared_transaction
        WHERE transaction_id IN (
            SELECT transaction_id FROM prepared_transaction
            WHERE account_id = :account_id AND expires_at < :before AND is_settled IS NULL
            LIMIT :limit
        )
    """
    parameters = {"account_id": account_id, "before": before, "limit": limit}
    return db.execute(sql, parameters).rowcount


def get_expired_preparation(db, account_id, before):
    sql = """
        SELECT transaction_id FROM prepared_transaction
        WHERE account_id = :account_id AND expires_at < :before AND is_settled IS NULL
        LIMIT 1
    """
    return db.execute(sql, {"account_id": account_id, "before": before}).fetchone()


# Purchases, for which the marketplace pays


def lock_purchases(db):
    # Whoever reserves a fee waits for the others, on whatever machine: nobody counts without them.
    queries.mark_property(db, "purchases", b"one at a time")


def get_open_purchases_of_nft(db, token, serial_no, caller, now):
    # How many are signed and may still be submitted, when the first of them expires, how many are a caller's.
    sql = """
        SELECT COUNT(*) AS n, MIN(expires_at) AS first_end,
            COUNT(CASE WHEN caller = :caller THEN 1 END) AS of_caller
        FROM prepared_transaction
        WHERE is_settled = 0 AND expires_at > :now AND token = :token AND serial_no = :serial_no
    """
    parameters = {"token": token, "serial_no": serial_no, "caller": caller, "now": now}
    return db.execute(sql, parameters).fetchone()


def get_open_purchases_of_buyer(db, account_id, caller, now):
    sql = """
        SELECT COUNT(*) AS n, MIN(expires_at) AS first_end,
            COUNT(CASE WHEN caller = :caller THEN 1 END) AS of_caller
        FROM prepared_transaction
        WHERE is_settled = 0 AND expires_at > :now AND account_id = :account_id
    """
    return db.execute(sql, {"account_id": account_id, "caller": caller, "now": now}).fetchone()


def get_open_purchases_of_caller(db, caller, now):
    sql = """
        SELECT COUNT(*) AS n, MIN(expires_at) AS first_end FROM prepared_transaction
        WHERE is_settled = 0 AND expires_at > :now AND caller = :caller
    """
    return db.execute(sql, {"caller": caller, "now": now}).fetchone()


def count_open_purchases(db, now):
    sql = """
        SELECT COUNT(*) AS n FROM prepared_transaction
        WHERE is_settled = 0 AND expires_at > :now
    """
    return db.execute(sql, {"now": now}).fetchone()["n"]


def get_fees(db, since):
    # What may have been charged since then: in tinybars, and how much of it is known.
    sql = """
        SELECT COALESCE(SUM(fee_tinybars), 0) AS total,
            COALESCE(SUM(CASE WHEN is_settled = 1 THEN fee_tinybars END), 0) AS charged
        FROM prepared_transaction
        WHERE is_settled IS NOT NULL AND expires_at > :since
    """
    return db.execute(sql, {"since": since}).fetchone()


def list_fees(db, since, limit):
    sql = """
        SELECT fee_tinybars, expires_at, is_settled FROM prepared_transaction
        WHERE is_settled IS NOT NULL AND expires_at > :since
        ORDER BY expires_at
        LIMIT :limit
    """
    return db.execute(sql, {"since": since, "limit": limit}).fetchall()


def list_purchases_unsettled(db, before, limit):
    sql = """
        SELECT * FROM prepared_transaction
        WHERE is_settled = 0 AND expires_at < :before
        ORDER BY expires_at
        LIMIT :limit
    """
    return db.execute(sql, {"before": before, "limit": limit}).fetchall()


def mark_settled(db, transaction_id, fee_tinybars):
    # Of two who ask the ledger at once, the one whom it tells a fee wins.
    sql = """
        UPDATE prepared_transaction SET fee_tinybars = :fee_tinybars, is_settled = 1
        WHERE transaction_id = :transaction_id AND (is_settled = 0 OR fee_tinybars = 0)
        RETURNING *
    """
    parameters = {"transaction_id": transaction_id, "fee_tinybars": fee_tinybars}
    return db.execute(sql, parameters).fetchone()


def delete_purchase(db, transaction_id):
    # One that was never signed.
    sql = "DELETE FROM prepared_transaction WHERE transaction_id = :transaction_id"
    db.execute(sql, {"transaction_id": transaction_id})


def get_expired_purchase(db, before):
    sql = """
        SELECT transaction_id FROM prepared_transaction
        WHERE is_settled IS NOT NULL AND expires_at < :before AND is_settled = 1
        LIMIT 1
    """
    return db.execute(sql, {"before": before}).fetchone()


def delete_expired_purchases(db, before, limit):
    sql = """
        DELETE FROM prepared_transaction
        WHERE transaction_id IN (
            SELECT transaction_id FROM prepared_transaction
            WHERE is_settled IS NOT NULL AND expires_at < :before AND is_settled = 1
            LIMIT :limit
        )
    """
    return db.execute(sql, {"before": before, "limit": limit}).rowcount
