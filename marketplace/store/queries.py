"""SQL by hand, here and beside: one function, one statement, in the subset SQLite and PostgreSQL share.

The name tells the shape: get_ a row or None, list_ rows, insert_ and mark_ the row written or None,
count_ a number.
"""

# NFTs


def get_nft(db, token, serial_no):
    sql = "SELECT * FROM nft WHERE token = :token AND serial_no = :serial_no"
    return db.execute(sql, {"token": token, "serial_no": serial_no}).fetchone()


def list_orderbook(db, limit):
    sql = """
        SELECT * FROM nft
        WHERE is_for_sale = 1
        ORDER BY listed_order DESC, token, serial_no
        LIMIT :limit
    """
    return db.execute(sql, {"limit": limit}).fetchall()


def get_orderbook_position(db, offset):
    # What a page at an offset comes after: read in the index alone, where PostgreSQL would fetch whole rows.
    sql = """
        SELECT listed_order, token, serial_no FROM nft
        WHERE is_for_sale = 1
        ORDER BY listed_order DESC, token, serial_no
        LIMIT 1 OFFSET :passed
    """
    return db.execute(sql, {"passed": offset - 1}).fetchone()


def list_orderbook_after(db, limit, listed_order, token, serial_no):
    sql = """
        SELECT * FROM nft
        WHERE is_for_sale = 1
          AND listed_order <= :listed_order
          AND (listed_order < :listed_order OR (token, serial_no) > (:token, :serial_no))
        ORDER BY listed_order DESC, token, serial_no
        LIMIT :limit
    """
    parameters = {
        "limit": limit,
        "listed_order": listed_order,
        "token": token,
        "serial_no": serial_no,
    }
    return db.execute(sql, parameters).fetchall()


def list_listed_in_collection_after(db, token, serial_no, limit):
    # In parts: a collection may have tens of thousands listed.
    sql = """
        SELECT * FROM nft
        WHERE is_for_sale = 1 AND token = :token AND serial_no > :serial_no
        ORDER BY serial_no
        LIMIT :limit
    """
    return db.execute(sql, {"token": token, "serial_no": serial_no, "limit": limit}).fetchall()


def list_listed_by_owner(db, owner, limit):
    sql = """
        SELECT * FROM nft
        WHERE is_for_sale = 1 AND owner = :owner
        ORDER BY listed_order DESC, token, serial_no
        LIMIT :limit
    """
    return db.execute(sql, {"owner": owner, "limit": limit}).fetchall()


def get_position_by_owner(db, owner, offset):
    sql = """
        SELECT listed_order, token, serial_no FROM nft
        WHERE is_for_sale = 1 AND owner = :owner
        ORDER BY listed_order DESC, token, serial_no
        LIMIT 1 OFFSET :passed
    """
    return db.execute(sql, {"owner": owner, "passed": offset - 1}).fetchone()


def list_listed_by_owner_after(db, owner, limit, listed_order, token, serial_no):
    sql = """
        SELECT * FROM nft
        WHERE is_for_sale = 1
          AND owner = :owner
          AND listed_order <= :listed_order
          AND (listed_order < :listed_order OR (token, serial_no) > (:token, :serial_no))
        ORDER BY listed_order DESC, token, serial_no
        LIMIT :limit
    """
    parameters = {
        "owner": owner,
        "limit": limit,
        "listed_order": listed_order,
        "token": token,
        "serial_no": serial_no,
    }
    return db.execute(sql, parameters).fetchall()


def count_listed(db):
    return db.execute("SELECT COUNT(*) AS n FROM nft WHERE is_for_sale = 1").fetchone()["n"]


def count_incomplete(db):
    return db.execute("SELECT COUNT(*) AS n FROM nft WHERE retry_at IS NOT NULL").fetchone()["n"]


def list_serial_numbers(db, token, low, high):
    sql = """
        SELECT serial_no, is_for_sale FROM nft
        WHERE token = :token AND serial_no BETWEEN :low AND :high
    """
    return db.execute(sql, {"token": token, "low": low, "high": high}).fetchall()


def list_known_of_seller(db, owner):
    # What an account has listed, and what of it could not be decided yet.
    sql = """
        SELECT token, serial_no, is_for_sale, ledger_at FROM nft
        WHERE owner = :owner
          AND (is_for_sale = 1 OR ledger_at = '1970-01-01T00:00:00.000000000Z')
    """
    return db.execute(sql, {"owner": owner}).fetchall()


def list_sellers(db):
    sql = "SELECT DISTINCT owner AS account_id FROM nft WHERE is_for_sale = 1"
    return db.execute(sql).fetchall()


def list_collections_incomplete(db, now):
    # One step of the index for each collection, however many of its NFTs are incomplete.
    sql = """
        WITH RECURSIVE incomplete (token) AS (
            SELECT MIN(token) FROM nft WHERE retry_at IS NOT NULL
            UNION ALL
            SELECT (SELECT MIN(n.token) FROM nft AS n
                    WHERE n.retry_at IS NOT NULL AND n.token > incomplete.token)
            FROM incomplete
            WHERE incomplete.token IS NOT NULL
        )
        SELECT token FROM incomplete
        WHERE token IS NOT NULL
          AND EXISTS (SELECT 1 FROM nft AS n
                      WHERE n.token = incomplete.token AND n.retry_at <= :now)
    """
    return db.execute(sql, {"now": now}).fetchall()


def list_incomplete(db, token, now, is_first, limit):
    # Of one collection: those that were never tried for, or the others.
    sql = """
        SELECT * FROM nft
        WHERE token = :token AND retry_at <= :now
          AND (attempts = 0) = :is_first
        ORDER BY retry_at
        LIMIT :limit
    """
    parameters = {"token": token, "now": now, "is_first": is_first, "limit": limit}
    return db.execute(sql, parameters).fetchall()


def insert_nft(db, nft):
    # Two adds at once make one record: the second finds it there and changes nothing.
    sql = """
        INSERT INTO nft (
            token, serial_no, name, file_type, attributes, image, original_image_url,
            owner, ledger_at, metadata, missing, attempts, retry_at
        )
        VALUES (
            :token, :serial_no, :name, :file_type, :attributes, :image, :original_image_url,
            :owner, :ledger_at, :metadata, :missing, :attempts, :retry_at
        )
        ON CONFLICT (token, serial_no) DO NOTHING
        RETURNING *
    """
    return db.execute(sql, nft).fetchone()


def mark_enriched(db, nft, stored):
    # An attempt that began before another one ended, or before the pointer changed, knows less.
    sql = """
        UPDATE nft
        SET name = :name,
            file_type = :file_type,
            attributes = :attributes,
            image = :image,
            original_image_url = :original_image_url,
            missing = :missing,
            attempts = :attempts,
            retry_at = :retry_at
        WHERE token = :token AND serial_no = :serial_no
          AND missing IS NOT NULL AND attempts = :attempts_before
          AND COALESCE(metadata, '') = COALESCE(:metadata_before, '')
        RETURNING *
    """
    parameters = {"attempts_before": stored["attempts"], "metadata_before": stored["metadata"]}
    return db.execute(sql, nft | parameters).fetchone()


def mark_reconciled(db, state):
    # What was seen of an older state of the ledger never wins.
    sql = """
        UPDATE nft
        SET is_for_sale = :is_for_sale,
            listing_price = :listing_price,
            owner = :owner,
            last_listed_at = COALESCE(:last_listed_at, last_listed_at),
            ledger_at = :ledger_at
        WHERE token = :token AND serial_no = :serial_no AND ledger_at <= :seen_at
        RETURNING *
    """
    return db.execute(sql, state).fetchone()


def mark_pointer(db, token, serial_no, metadata, now):
    # What the last pointer led to stays, until there is what this one leads to.
    sql = """
        UPDATE nft
        SET metadata = :metadata, missing = 'its metadata changed', attempts = 0, retry_at = :now
        WHERE token = :token AND serial_no = :serial_no
        RETURNING *
    """
    parameters = {"token": token, "serial_no": serial_no, "metadata": metadata, "now": now}
    return db.execute(sql, parameters).fetchone()


# Access tokens


def insert_access_token(db, access_token):
    sql = """
        INSERT INTO access_token (hash, name, scopes, created_at, expires_at, rate)
        VALUES (:hash, :name, :scopes, :created_at, :expires_at, :rate)
        ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING
        RETURNING *
    """
    return db.execute(sql, access_token).fetchone()


def get_access_token(db, token_hash):
    # All but last_used_at: whoever keeps the row finds the same one in the next hour.
    sql = """
        SELECT hash, name, scopes, created_at, expires_at, revoked_at, rate
        FROM access_token WHERE hash = :hash
    """
    return db.execute(sql, {"hash": token_hash}).fetchone()


def list_access_tokens(db):
    sql = "SELECT * FROM access_token ORDER BY created_at, name"
    return db.execute(sql).fetchall()


def mark_access_token_used(db, token_hash, used_at):
    sql = """
        UPDATE access_token
        SET last_used_at = :used_at
        WHERE hash = :hash AND (last_used_at IS NULL OR last_used_at < :used_at)
        RETURNING *
    """
    return db.execute(sql, {"hash": token_hash, "used_at": used_at}).fetchone()


def mark_access_token_revoked(db, name, revoked_at):
    sql = """
        UPDATE access_token
        SET revoked_at = :revoked_at
        WHERE name = :name AND revoked_at IS NULL
        RETURNING *
    """
    return db.execute(sql, {"name": name, "revoked_at": revoked_at}).fetchone()


# Jobs


def list_jobs(db):
    return db.execute("SELECT * FROM job").fetchall()


def mark_job_finished(db, name, finished_at):
    sql = """
        INSERT INTO job (name, finished_at) VALUES (:name, :finished_at)
        ON CONFLICT (name) DO UPDATE SET finished_at = excluded.finished_at
        RETURNING *
    """
    return db.execute(sql, {"name": name, "finished_at": finished_at}).fetchone()


def delete_job(db, name):
    db.execute("DELETE FROM job WHERE name = :name", {"name": name})


# Properties


def insert_property(db, name, value):
    # The first process to start decides, for all.
    sql = """
        INSERT INTO property (name, value) VALUES (:name, :value)
        ON CONFLICT (name) DO NOTHING
        RETURNING *
    """
    return db.execute(sql, {"name": name, "value": value}).fetchone()


def mark_property(db, name, value):
    sql = """
        INSERT INTO property (name, value) VALUES (:name, :value)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value
    """
    db.execute(sql, {"name": name, "value": value})


def get_property(db, name):
    return db.execute("SELECT * FROM property WHERE name = :name", {"name": name}).fetchone()
