"""The statements about what an account owns, sold and bought, by collection."""

from typing import TypedDict

from marketplace.store.connection import Connection, only


class AccountCollectionRow(TypedDict):
    """A collection of which an account owns, sold or bought NFTs. Volumes are in HBAR."""

    token: str
    name: str | None
    floor_price: int | None
    nfts: int
    listed: int
    sales: int
    sales_volume: int
    purchases: int
    purchases_volume: int
    # Of all of the account's collections
    all_nfts: int
    all_listed: int
    all_sales: int
    all_sales_volume: int
    all_purchases: int
    all_purchases_volume: int
    floor_value: int


COUNTS = ("nfts", "listed", "sales", "sales_volume", "purchases", "purchases_volume")


def list_account_collections(
    db: Connection, account_id: str, limit: int
) -> list[AccountCollectionRow]:
    # Those of which it owns the most NFTs come first. Each floor is looked up once.
    added = ", ".join(f"CAST(SUM({name}) AS BIGINT) AS {name}" for name in COUNTS)
    totals = ", ".join(f"CAST(SUM({name}) OVER () AS BIGINT) AS all_{name}" for name in COUNTS)
    sql = f"""
        WITH first ({", ".join(("token", *COUNTS))}) AS (
            SELECT token, COUNT(*), SUM(is_listed), 0, 0, 0, 0 FROM nft
            WHERE owner = :account_id AND ledger_state <> 'gone' AND is_hidden = 0
            GROUP BY token
            UNION ALL
            SELECT token, 0, 0, COUNT(*), SUM(price), 0, 0 FROM event
            WHERE from_account = :account_id AND kind = 'SOLD' AND is_hidden = 0
            GROUP BY token
            UNION ALL
            SELECT token, 0, 0, 0, 0, COUNT(*), SUM(price) FROM event
            WHERE to_account = :account_id AND kind = 'SOLD' AND is_hidden = 0
            GROUP BY token
        ), sold AS (
            SELECT token, {added} FROM first GROUP BY token
        ), found AS MATERIALIZED (
            SELECT sold.*, (
                SELECT MIN(listing_price) FROM nft WHERE is_listed = 1 AND nft.token = sold.token
            ) AS floor_price
            FROM sold
        ), page AS (
            SELECT found.*, {totals},
                CAST(SUM(nfts * COALESCE(floor_price, 0)) OVER () AS BIGINT) AS floor_value
            FROM found
            ORDER BY nfts DESC, token
            LIMIT :limit + 0
        )
        SELECT page.*, collection.name
        FROM page LEFT JOIN collection ON collection.token = page.token
        ORDER BY page.nfts DESC, page.token
    """
    return db.execute(sql, {"account_id": account_id, "limit": limit}).fetchall()


def get_volume_of_seller(db: Connection, account_id: str, token: str) -> int:
    sql = """
        SELECT CAST(COALESCE(SUM(price), 0) AS BIGINT) AS volume FROM event
        WHERE from_account = :account_id AND kind = 'SOLD' AND is_hidden = 0 AND token = :token
    """
    volume: int = only(db, sql, {"account_id": account_id, "token": token})["volume"]
    return volume
