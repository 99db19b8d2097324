"""The statements about what an account owns, sold and bought, by collection."""

from typing import Literal, TypedDict

from marketplace.store.connection import Connection


class HoldingRow(TypedDict):
    """A collection, and how many of its NFTs an account owns."""

    token: str
    name: str | None
    nfts: int
    listed: int
    floor_price: int | None


class TradedRow(TypedDict):
    """A collection, and how many of its NFTs an account sold or bought, for how many HBAR."""

    token: str
    name: str | None
    number: int
    volume: int
    floor_price: int | None


_FLOOR = "(SELECT MIN(listing_price) FROM nft WHERE is_listed = 1 AND nft.token = found.token)"


def list_holdings(db: Connection, owner: str) -> list[HoldingRow]:
    # In no order.
    sql = f"""
        SELECT found.token, collection.name, found.nfts, found.listed, {_FLOOR} AS floor_price
        FROM (
            SELECT token, COUNT(*) AS nfts, CAST(SUM(is_listed) AS BIGINT) AS listed FROM nft
            WHERE owner = :owner AND ledger_state <> 'gone' AND is_hidden = 0
            GROUP BY token
        ) AS found
        LEFT JOIN collection ON collection.token = found.token
    """
    return db.execute(sql, {"owner": owner}).fetchall()


def list_traded(
    db: Connection, side: Literal["from_account", "to_account"], account_id: str
) -> list[TradedRow]:
    # What an account sold, or bought, in no order.
    sql = f"""
        SELECT found.token, collection.name, found.number, found.volume, {_FLOOR} AS floor_price
        FROM (
            SELECT token, COUNT(*) AS number, CAST(SUM(price) AS BIGINT) AS volume FROM event
            WHERE {side} = :account_id AND kind = 'SOLD' AND is_hidden = 0
            GROUP BY token
        ) AS found
        LEFT JOIN collection ON collection.token = found.token
    """
    return db.execute(sql, {"account_id": account_id}).fetchall()
