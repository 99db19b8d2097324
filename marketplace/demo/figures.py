"""The statements about figures that only the demo shows: a collection's past, and what an account owns."""

from typing import Literal, NamedTuple, TypedDict

from marketplace.store.connection import Connection, only


class ListingChangeRow(TypedDict):
    """An event that changes what of a collection is for sale."""

    id: int
    kind: str
    serial_no: int
    price: int | None
    previous_price: int | None
    date: str
    steady_price: int | None  # the same in each row


class SalesBySellerRow(TypedDict):
    sales: int
    volume_of_others: int  # without what one account sold


class TradesRow(TypedDict):
    """How many NFTs changed hands, and for how many HBAR in all."""

    number: int
    volume: int


class CollectionFiguresRow(TypedDict):
    """The figures of a collection that the API's list does not have."""

    token: str
    owners: int
    volume: int
    volume_7d: int


class HoldingRow(TypedDict):
    """How many NFTs of a collection an account owns."""

    token: str
    name: str | None
    owned: int
    listed: int
    floor_price: int | None


# An account's NFTs: by collection; for sale first; and of the collection with the highest floor first.
ORDERS = {
    "": "token, serial_no",
    "price": "is_listed DESC, listing_price, token, serial_no",
    "-price": "is_listed DESC, listing_price DESC, token, serial_no",
    "value": """
        COALESCE((SELECT MIN(listing_price) FROM nft WHERE is_listed = 1 AND token = found.token), 0) DESC,
        token, serial_no
    """,
}


def list_listing_changes(db: Connection, token: str, limit: int) -> list[ListingChangeRow]:
    # The newest events that change what of a collection is for sale, in no order. steady_price is the lowest
    # price of the NFTs that are for sale, and that none of these events is about.
    sql = """
        WITH page AS (
            SELECT kind, serial_no, price, previous_price, id,
                CASE WHEN kind = 'SHOWN' THEN seen_at ELSE COALESCE(consensus_at, seen_at) END AS date
            FROM event
            WHERE token = :token
              AND is_hidden = 0
              AND kind IN (
                  'LISTED', 'PRICE_CHANGED', 'WITHDRAWN', 'SOLD', 'TRANSFERRED', 'BURNED', 'HIDDEN', 'SHOWN'
              )
            ORDER BY id DESC
            LIMIT :limit + 0
        )
        SELECT page.*, (
            SELECT listing_price FROM nft
            WHERE is_listed = 1 AND token = :token AND serial_no NOT IN (SELECT serial_no FROM page)
            ORDER BY listing_price
            LIMIT 1
        ) AS steady_price
        FROM page
    """
    return db.execute(sql, {"token": token, "limit": limit}).fetchall()


def get_sales(db: Connection, token: str, account_id: str, limit: int) -> SalesBySellerRow:
    # The sales of a collection, as far as their events are kept, and what others than this account were paid.
    sql = """
        SELECT
            COUNT(*) AS sales,
            COALESCE(SUM(CASE WHEN from_account = :account_id THEN 0 ELSE price END), 0) AS volume_of_others
        FROM (
            SELECT from_account, price FROM event
            WHERE token = :token AND sold_at IS NOT NULL
            LIMIT :limit + 0
        ) AS sold
    """
    parameters = {"token": token, "account_id": account_id, "limit": limit}
    row: SalesBySellerRow = only(db, sql, parameters)
    return row


def get_trades(
    db: Connection, side: Literal["from_account", "to_account"], account_id: str, limit: int
) -> TradesRow:
    # What an account sold, or bought, of the newest events on this side.
    sql = f"""
        SELECT COUNT(*) AS number, COALESCE(SUM(price), 0) AS volume
        FROM (
            SELECT kind, price FROM event WHERE {side} = :account_id AND is_hidden = 0
            ORDER BY id DESC LIMIT :limit + 0
        ) AS page
        WHERE kind = 'SOLD'
    """
    row: TradesRow = only(db, sql, {"account_id": account_id, "limit": limit})
    return row


def list_collection_figures(
    db: Connection, tokens: list[str], since: str
) -> list[CollectionFiguresRow]:
    # In no order. volume_7d counts sales from since on.
    named = {f"token_{n}": token for n, token in enumerate(tokens)}
    sql = f"""
        SELECT token, volume,
            (SELECT COUNT(*) FROM (
                SELECT 1 FROM nft
                WHERE token = collection.token AND ledger_state <> 'gone' AND is_hidden = 0
                GROUP BY owner
            ) AS found) AS owners,
            (SELECT CAST(COALESCE(SUM(price), 0) AS BIGINT) FROM event
             WHERE event.token = collection.token AND sold_at >= :since) AS volume_7d
        FROM collection
        WHERE token IN ({", ".join(f":{name}" for name in named)})
    """
    return db.execute(sql, {"since": since, **named}).fetchall() if tokens else []


def list_holdings(db: Connection, owner: str) -> list[HoldingRow]:
    # The collections of which an account owns NFTs, in no order.
    sql = """
        SELECT
            found.token, collection.name, found.owned, found.listed,
            (SELECT MIN(listing_price) FROM nft WHERE is_listed = 1 AND token = found.token) AS floor_price
        FROM (
            SELECT token, COUNT(*) AS owned, SUM(is_listed) AS listed FROM nft
            WHERE owner = :owner AND ledger_state <> 'gone' AND is_hidden = 0
            GROUP BY token
        ) AS found
        LEFT JOIN collection ON collection.token = found.token
    """
    return db.execute(sql, {"owner": owner}).fetchall()


class Owned(NamedTuple):
    """Which NFTs of an account, in which of ORDERS."""

    owner: str
    token: str | None = None
    only_listed: bool = False
    order: str = ""


def list_ids_of_owner(
    db: Connection, wanted: Owned, limit: int, offset: int = 0
) -> list[tuple[str, int]]:
    chosen = "AND token = :token" if wanted.token else ""
    sql = f"""
        WITH found AS MATERIALIZED (
            SELECT token, serial_no, is_listed, listing_price FROM nft
            WHERE owner = :owner AND ledger_state <> 'gone' AND is_hidden = 0 {chosen}
        )
        SELECT token, serial_no FROM found
        WHERE is_listed >= :only_listed
        ORDER BY {ORDERS.get(wanted.order, ORDERS[""])}
        LIMIT :limit + 0 OFFSET :offset + 0
    """
    parameters = wanted._asdict() | {
        "only_listed": int(wanted.only_listed),
        "limit": limit,
        "offset": offset,
    }
    return [(row["token"], row["serial_no"]) for row in db.execute(sql, parameters)]
