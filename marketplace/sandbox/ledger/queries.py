"""The SQL of the sandbox's ledger: one function, one statement."""

TREASURY = "0.0.1000"  # holds every NFT that nobody has asked for yet


# Accounts


def get_account(db, account_id):
    sql = "SELECT * FROM account WHERE account_id = :account_id"
    return db.execute(sql, {"account_id": account_id}).fetchone()


def insert_account(db, account_id, balance, now):
    sql = """
        INSERT INTO account (account_id, balance, automatic_associations, created_at)
        VALUES (:account_id, :balance, -1, :now)
        ON CONFLICT (account_id) DO NOTHING
        RETURNING *
    """
    parameters = {"account_id": account_id, "balance": balance, "now": now}
    return db.execute(sql, parameters).fetchone()


def list_accounts(db):
    sql = "SELECT * FROM account ORDER BY account_id"
    return db.execute(sql).fetchall()


def mark_key(db, account_id, key_type, public_key):
    sql = """
        UPDATE account SET key_type = :key_type, public_key = :public_key
        WHERE account_id = :account_id
        RETURNING *
    """
    parameters = {"account_id": account_id, "key_type": key_type, "public_key": public_key}
    return db.execute(sql, parameters).fetchone()


def mark_balance(db, account_id, balance):
    sql = "UPDATE account SET balance = :balance WHERE account_id = :account_id RETURNING *"
    return db.execute(sql, {"account_id": account_id, "balance": balance}).fetchone()


def mark_automatic_associations(db, account_id, automatic_associations):
    sql = """
        UPDATE account SET automatic_associations = :automatic_associations
        WHERE account_id = :account_id
        RETURNING *
    """
    parameters = {"account_id": account_id, "automatic_associations": automatic_associations}
    return db.execute(sql, parameters).fetchone()


def mark_account_deleted(db, account_id, now):
    sql = "UPDATE account SET deleted_at = :now WHERE account_id = :account_id RETURNING *"
    return db.execute(sql, {"account_id": account_id, "now": now}).fetchone()


# Units of tokens that are no NFTs


def get_holding(db, account_id, token):
    sql = "SELECT * FROM holding WHERE account_id = :account_id AND token = :token"
    return db.execute(sql, {"account_id": account_id, "token": token}).fetchone()


def get_holding_of(db, token):
    sql = "SELECT * FROM holding WHERE token = :token LIMIT 1"
    return db.execute(sql, {"token": token}).fetchone()


def upsert_holding(db, account_id, token, balance):
    sql = """
        INSERT INTO holding (token, account_id, balance) VALUES (:token, :account_id, :balance)
        ON CONFLICT (token, account_id) DO UPDATE SET balance = excluded.balance
        RETURNING *
    """
    parameters = {"account_id": account_id, "token": token, "balance": balance}
    return db.execute(sql, parameters).fetchone()


# Custom fees


def get_fee_schedule(db, token):
    sql = "SELECT * FROM fee_schedule WHERE token = :token"
    return db.execute(sql, {"token": token}).fetchone()


def upsert_fee_schedule(db, token, document, since):
    sql = """
        INSERT INTO fee_schedule (token, document, since) VALUES (:token, :document, :since)
        ON CONFLICT (token) DO UPDATE SET document = excluded.document, since = excluded.since
        RETURNING *
    """
    return db.execute(sql, {"token": token, "document": document, "since": since}).fetchone()


# Associations of accounts with tokens


def insert_association(db, account_id, token, is_automatic, now):
    sql = """
        INSERT INTO association (account_id, token, is_automatic, created_at)
        VALUES (:account_id, :token, :is_automatic, :now)
        ON CONFLICT (account_id, token) DO NOTHING
        RETURNING *
    """
    parameters = {
        "account_id": account_id,
        "token": token,
        "is_automatic": is_automatic,
        "now": now,
    }
    return db.execute(sql, parameters).fetchone()


def get_association(db, account_id, token):
    sql = "SELECT * FROM association WHERE account_id = :account_id AND token = :token"
    return db.execute(sql, {"account_id": account_id, "token": token}).fetchone()


def delete_association(db, account_id, token):
    sql = "DELETE FROM association WHERE account_id = :account_id AND token = :token RETURNING *"
    return db.execute(sql, {"account_id": account_id, "token": token}).fetchone()


def count_automatic_associations(db, account_id):
    sql = "SELECT COUNT(*) FROM association WHERE account_id = :account_id AND is_automatic = 1"
    return db.execute(sql, {"account_id": account_id}).fetchone()[0]


def list_associations(db, account_id):
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
    return db.execute(sql, {"account_id": account_id}).fetchall()


# NFTs


def get_nft(db, token, serial_no):
    sql = "SELECT * FROM nft WHERE token = :token AND serial_no = :serial_no"
    return db.execute(sql, {"token": token, "serial_no": serial_no}).fetchone()


def insert_nft(db, token, serial_no, owner, now, metadata=None):
    sql = """
        INSERT INTO nft (token, serial_no, owner, metadata, created_at, modified_at)
        VALUES (:token, :serial_no, :owner, :metadata, :now, :now)
        ON CONFLICT (token, serial_no) DO NOTHING
        RETURNING *
    """
    parameters = {
        "token": token,
        "serial_no": serial_no,
        "owner": owner,
        "metadata": metadata,
        "now": now,
    }
    return db.execute(sql, parameters).fetchone()


def list_nfts_of(db, owner, token, spender, low, high):
    sql = """
        SELECT * FROM nft
        WHERE owner = :owner
          AND (CAST(:token AS TEXT) IS NULL OR token = :token)
          AND (CAST(:spender AS TEXT) IS NULL OR spender = :spender)
          AND serial_no BETWEEN :low AND :high
        ORDER BY token, serial_no
    """
    parameters = {"owner": owner, "token": token, "spender": spender, "low": low, "high": high}
    return db.execute(sql, parameters).fetchall()


def list_nfts_in(db, token, low, high):
    sql = """
        SELECT * FROM nft
        WHERE token = :token AND serial_no BETWEEN :low AND :high
        ORDER BY token, serial_no
    """
    return db.execute(sql, {"token": token, "low": low, "high": high}).fetchall()


def count_nfts_in(db, token):
    sql = "SELECT COUNT(*) FROM nft WHERE token = :token"
    return db.execute(sql, {"token": token}).fetchone()[0]


def count_nfts_created(db, token, until):
    sql = "SELECT COUNT(*) FROM nft WHERE token = :token AND created_at <= :until"
    return db.execute(sql, {"token": token, "until": until}).fetchone()[0]


def count_nfts_of(db, owner, token):
    sql = "SELECT COUNT(*) FROM nft WHERE owner = :owner AND token = :token"
    return db.execute(sql, {"owner": owner, "token": token}).fetchone()[0]


def get_highest_serial_no(db, token):
    sql = "SELECT COALESCE(MAX(serial_no), 0) FROM nft WHERE token = :token"
    return db.execute(sql, {"token": token}).fetchone()[0]


def mark_spender(db, token, serial_no, spender, now):
    sql = """
        UPDATE nft SET spender = :spender, modified_at = :now
        WHERE token = :token AND serial_no = :serial_no
        RETURNING *
    """
    parameters = {"token": token, "serial_no": serial_no, "spender": spender, "now": now}
    return db.execute(sql, parameters).fetchone()


def mark_owner(db, token, serial_no, owner, now):
    # Any transfer clears the approval of the serial.
    sql = """
        UPDATE nft SET owner = :owner, spender = NULL, modified_at = :now
        WHERE token = :token AND serial_no = :serial_no
        RETURNING *
    """
    parameters = {"token": token, "serial_no": serial_no, "owner": owner, "now": now}
    return db.execute(sql, parameters).fetchone()


def mark_metadata(db, token, serial_no, metadata):
    sql = """
        UPDATE nft SET metadata = :metadata
        WHERE token = :token AND serial_no = :serial_no
        RETURNING *
    """
    parameters = {"token": token, "serial_no": serial_no, "metadata": metadata}
    return db.execute(sql, parameters).fetchone()


# Deleted tokens


def insert_deleted_token(db, token, now):
    sql = """
        INSERT INTO deleted_token (token, deleted_at) VALUES (:token, :now)
        ON CONFLICT (token) DO NOTHING
        RETURNING *
    """
    return db.execute(sql, {"token": token, "now": now}).fetchone()


def get_deleted_token(db, token):
    sql = "SELECT * FROM deleted_token WHERE token = :token"
    return db.execute(sql, {"token": token}).fetchone()


# Oddities


def insert_oddity(db, token, serial_no, kind):
    sql = """
        INSERT INTO oddity (token, serial_no, kind) VALUES (:token, :serial_no, :kind)
        ON CONFLICT (token, serial_no, kind) DO NOTHING
        RETURNING *
    """
    parameters = {"token": token, "serial_no": serial_no, "kind": kind}
    return db.execute(sql, parameters).fetchone()


def get_oddity(db, token, kind):
    sql = "SELECT * FROM oddity WHERE token = :token AND kind = :kind"
    return db.execute(sql, {"token": token, "kind": kind}).fetchone()


def list_oddities(db, token, serial_no):
    sql = "SELECT kind FROM oddity WHERE token = :token AND serial_no = :serial_no"
    return db.execute(sql, {"token": token, "serial_no": serial_no}).fetchall()


# Approvals for all


def insert_approval_for_all(db, owner, spender, token, now):
    sql = """
        INSERT INTO approval_for_all (owner, spender, token, approved_at)
        VALUES (:owner, :spender, :token, :now)
        ON CONFLICT (owner, spender, token) DO NOTHING
        RETURNING *
    """
    parameters = {"owner": owner, "spender": spender, "token": token, "now": now}
    return db.execute(sql, parameters).fetchone()


def delete_approval_for_all(db, owner, spender, token):
    sql = """
        DELETE FROM approval_for_all
        WHERE owner = :owner AND spender = :spender AND token = :token
        RETURNING *
    """
    return db.execute(sql, {"owner": owner, "spender": spender, "token": token}).fetchone()


def get_approval_for_all(db, owner, spender, token):
    sql = """
        SELECT * FROM approval_for_all
        WHERE owner = :owner AND spender = :spender AND token = :token
    """
    return db.execute(sql, {"owner": owner, "spender": spender, "token": token}).fetchone()


def list_approvals_for_all(db, owner):
    sql = "SELECT * FROM approval_for_all WHERE owner = :owner ORDER BY spender, token"
    return db.execute(sql, {"owner": owner}).fetchall()


# Transactions


def get_last_consensus(db):
    sql = "SELECT COALESCE(MAX(consensus_at), 0) FROM transaction_record"
    return db.execute(sql).fetchone()[0]


def get_transaction(db, transaction_id):
    # The first one of those that share the id.
    sql = """
        SELECT * FROM transaction_record
        WHERE transaction_id = :transaction_id
        ORDER BY consensus_at
        LIMIT 1
    """
    return db.execute(sql, {"transaction_id": transaction_id}).fetchone()


def list_first_transactions(db, low, high, limit):
    sql = """
        SELECT consensus_at, document FROM transaction_record
        WHERE consensus_at BETWEEN :low AND :high
        ORDER BY consensus_at
        LIMIT :limit
    """
    return db.execute(sql, {"low": low, "high": high, "limit": limit}).fetchall()


def list_last_transactions(db, low, high, limit):
    sql = """
        SELECT consensus_at, document FROM transaction_record
        WHERE consensus_at BETWEEN :low AND :high
        ORDER BY consensus_at DESC
        LIMIT :limit
    """
    return db.execute(sql, {"low": low, "high": high, "limit": limit}).fetchall()


def get_lag(db):
    # How many nanoseconds behind the mirror node's list of transactions is.
    row = db.execute("SELECT value FROM property WHERE name = 'lag'").fetchone()
    return int(row["value"]) if row else 0


def mark_lag(db, nanoseconds):
    sql = """
        INSERT INTO property (name, value) VALUES ('lag', :value)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value
    """
    db.execute(sql, {"value": str(nanoseconds).encode()})


def insert_transaction(db, consensus_at, transaction_id, document):
    sql = """
        INSERT INTO transaction_record (consensus_at, transaction_id, document)
        VALUES (:consensus_at, :transaction_id, :document)
        RETURNING *
    """
    parameters = {
        "consensus_at": consensus_at,
        "transaction_id": transaction_id,
        "document": document,
    }
    return db.execute(sql, parameters).fetchone()


def list_transactions(db, transaction_id):
    # All rows under one id, in the order of consensus.
    sql = """
        SELECT consensus_at, document FROM transaction_record
        WHERE transaction_id = :transaction_id
        ORDER BY consensus_at
    """
    return db.execute(sql, {"transaction_id": transaction_id}).fetchall()


def insert_nft_transaction(db, token, serial_no, consensus_at, document):
    sql = """
        INSERT INTO nft_transaction (token, serial_no, consensus_at, document)
        VALUES (:token, :serial_no, :consensus_at, :document)
        ON CONFLICT (token, serial_no, consensus_at) DO NOTHING
        RETURNING *
    """
    parameters = {
        "token": token,
        "serial_no": serial_no,
        "consensus_at": consensus_at,
        "document": document,
    }
    return db.execute(sql, parameters).fetchone()


def list_nft_transactions(db, token, serial_no, after, before):
    # In the order of consensus, between two moments.
    sql = """
        SELECT * FROM nft_transaction
        WHERE token = :token AND serial_no = :serial_no
          AND consensus_at > :after AND consensus_at < :before
        ORDER BY consensus_at
    """
    parameters = {"token": token, "serial_no": serial_no, "after": after, "before": before}
    return db.execute(sql, parameters).fetchall()
