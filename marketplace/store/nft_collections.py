"""The statements about collections: their facts from the ledger, and when to read these again."""

from collections.abc import Mapping

from marketplace.store.rows import CollectionOnSaleRow, CollectionRow, Connection, OwnerRow


def get_collection(db: Connection, token: str) -> CollectionRow | None:
    return db.execute("SELECT * FROM collection WHERE token = :token", {"token": token}).fetchone()


def get_collection_on_sale(db: Connection, token: str) -> CollectionOnSaleRow | None:
    # A collection with a stored NFT, and a summary of its listings. Unknown columns are null.
    sql = """
        SELECT
            asked.token, name, symbol, total_supply, treasury, royalties, fixed_fees,
            COALESCE(sales, 0) AS sales, COALESCE(volume, 0) AS volume, last_sale_price, last_sale_at,
            COALESCE(listed, 0) AS listed, description, banner, logo, links,
            (SELECT MIN(listing_price) FROM nft WHERE is_for_sale = 1 AND token = :token) AS floor_price,
            (SELECT COUNT(*) FROM (
                SELECT 1 FROM nft WHERE token = :token AND ledger_state <> 'gone' GROUP BY owner
            ) AS found) AS owners
        FROM (SELECT CAST(:token AS TEXT) AS token) AS asked
        LEFT JOIN collection ON collection.token = asked.token
        WHERE EXISTS (SELECT 1 FROM nft WHERE token = :token)
    """
    return db.execute(sql, {"token": token}).fetchone()


def list_owners(
    db: Connection, token: str, after: tuple[int, str] | None, limit: int
) -> list[OwnerRow]:
    # The accounts with the most NFTs first. A page begins after a key and an account, which is where lists of
    # collections have a token.
    sql = """
        SELECT -COUNT(*) AS key, owner AS account_id, COUNT(*) AS nfts FROM nft
        WHERE token = :token AND ledger_state <> 'gone'
        GROUP BY owner
        HAVING -COUNT(*) > :key OR (-COUNT(*) = :key AND owner > :account_id)
        ORDER BY -COUNT(*), owner
        LIMIT :limit + 0
    """
    key, account_id = after or (-(2**63), "")
    parameters = {"token": token, "key": key, "account_id": account_id, "limit": limit}
    return db.execute(sql, parameters).fetchall()


def list_collections(db: Connection) -> list[str]:
    return [row["token"] for row in db.execute("SELECT token FROM collection")]


def list_collections_due(db: Connection, now: str, limit: int) -> list[str]:
    sql = """
        SELECT token FROM collection WHERE retry_at <= :now
        ORDER BY retry_at, token
        LIMIT :limit + 0
    """
    return [row["token"] for row in db.execute(sql, {"now": now, "limit": limit})]


def mark_collection_asked(db: Connection, token: str, until: str) -> None:
    # No other process asks until then. If it becomes due meanwhile, mark_collection_read() notices.
    sql = "UPDATE collection SET retry_at = :until WHERE token = :token"
    db.execute(sql, {"token": token, "until": until})


def mark_collection_read(
    db: Connection, collection: Mapping[str, object], until: str | None = None
) -> CollectionRow | None:
    # Keeps the stored row if nothing was read, or if it is newer. If it became due meanwhile, it stays due.
    sql = """
        INSERT INTO collection (
            token, name, symbol, total_supply, treasury, royalties, fixed_fees, read_at, attempts, retry_at,
            sort_name, metadata, describe_at, listed
        )
        VALUES (
            :token, :name, :symbol, :total_supply, :treasury, :royalties, :fixed_fees, :read_at, :attempts,
            :retry_at, :sort_name, :metadata, CASE WHEN CAST(:metadata AS TEXT) IS NOT NULL THEN :read_at END,
            (SELECT COUNT(*) FROM nft WHERE is_for_sale = 1 AND token = :token)
        )
        ON CONFLICT (token) DO UPDATE
        SET name = excluded.name,
            symbol = excluded.symbol,
            sort_name = excluded.sort_name,
            total_supply = excluded.total_supply,
            treasury = excluded.treasury,
            royalties = excluded.royalties,
            fixed_fees = excluded.fixed_fees,
            metadata = excluded.metadata,
            describe_at = CASE WHEN COALESCE(collection.metadata, '') = COALESCE(excluded.metadata, '')
                THEN collection.describe_at ELSE excluded.read_at END,
            describe_attempts = CASE WHEN COALESCE(collection.metadata, '') = COALESCE(excluded.metadata, '')
                THEN collection.describe_attempts ELSE 0 END,
            read_at = excluded.read_at,
            attempts = excluded.attempts,
            retry_at = CASE WHEN collection.retry_at <> :until THEN collection.retry_at
                ELSE excluded.retry_at END
        WHERE excluded.read_at IS NOT NULL
          AND (collection.read_at IS NULL OR collection.read_at < excluded.read_at)
        RETURNING *
    """
    return db.execute(sql, {**collection, "until": until}).fetchone()


def list_collections_to_describe(db: Connection, now: str, limit: int) -> list[CollectionRow]:
    sql = """
        SELECT * FROM collection WHERE describe_at <= :now
        ORDER BY describe_at
        LIMIT :limit + 0
    """
    return db.execute(sql, {"now": now, "limit": limit}).fetchall()


def mark_collection_described(db: Connection, collection: Mapping[str, object]) -> None:
    # Unless its pointer has changed since.
    sql = """
        UPDATE collection
        SET description = :description,
            banner = :banner,
            logo = :logo,
            links = :links,
            describe_at = :describe_at,
            describe_attempts = :describe_attempts
        WHERE token = :token AND COALESCE(metadata, '') = COALESCE(:metadata, '')
    """
    db.execute(sql, collection)


def mark_collection_unread(db: Connection, token: str, attempts: int, retry_at: str) -> None:
    # An attempt that began before another one ended must not count.
    sql = """
        UPDATE collection SET attempts = :attempts, retry_at = :retry_at
        WHERE token = :token AND attempts = :attempts - 1
    """
    db.execute(sql, {"token": token, "attempts": attempts, "retry_at": retry_at})


def add_sale(db: Connection, token: str, price: int, sold_at: str) -> None:
    # Sales may be seen in a different order than on the ledger.
    sql = """
        UPDATE collection
        SET sales = sales + 1,
            volume = volume + :price,
            last_sale_price = CASE WHEN last_sale_at > :sold_at THEN last_sale_price ELSE :price END,
            last_sale_at = CASE WHEN last_sale_at > :sold_at THEN last_sale_at ELSE :sold_at END
        WHERE token = :token
    """
    db.execute(sql, {"token": token, "price": price, "sold_at": sold_at})


def add_listed(db: Connection, token: str, change: int) -> None:
    # Counts the listed NFTs. For another price of a listed one, the change is 0.
    sql = """
        UPDATE collection SET listed = listed + :change, listings_version = listings_version + 1
        WHERE token = :token
    """
    db.execute(sql, {"token": token, "change": change})


def mark_collection_due(db: Connection, token: str, soon: str, beyond: str) -> None:
    # Only if it would otherwise be read after `beyond`.
    sql = """
        UPDATE collection SET retry_at = :soon
        WHERE token = :token AND retry_at > :beyond AND attempts = 0
    """
    db.execute(sql, {"token": token, "soon": soon, "beyond": beyond})
