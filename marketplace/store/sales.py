"""The statements about what sales cost, and about the exchange rates."""

from collections.abc import Mapping
from typing import TypedDict

from marketplace.store.connection import Connection


class SoldRow(TypedDict):
    """An event of a sale, which always has these."""

    id: int
    token: str
    serial_no: int
    from_account: str
    to_account: str
    price: int
    transaction_id: str
    consensus_at: str


class RateRow(TypedDict):
    """An exchange rate: an amount of US cents for an amount of HBAR."""

    read_at: str
    cents: int
    hbar: int


READ_TO = "sales_read_to"  # the property with the id of the last event whose sale was looked up


def list_sold_after(db: Connection, after: int, limit: int) -> list[SoldRow]:
    sql = """
        SELECT id, token, serial_no, from_account, to_account, price, transaction_id, consensus_at
        FROM event
        WHERE kind = 'SOLD' AND id > :after AND transaction_id IS NOT NULL AND consensus_at IS NOT NULL
        ORDER BY id
        LIMIT :limit + 0
    """
    return db.execute(sql, {"after": after, "limit": limit}).fetchall()


def insert_sale(db: Connection, sale: Mapping[str, object]) -> None:
    sql = """
        INSERT INTO sale (
            event_id, way, part_tinybars, royalties, network_tinybars, association_tinybars, rate_cents,
            rate_hbar
        )
        VALUES (
            :event_id, :way, :part_tinybars, :royalties, :network_tinybars, :association_tinybars,
            :rate_cents, :rate_hbar
        )
        ON CONFLICT (event_id) DO NOTHING
    """
    db.execute(sql, sale)


def insert_rate(db: Connection, read_at: str, cents: int, hbar: int) -> None:
    sql = """
        INSERT INTO exchange_rate (read_at, cents, hbar) VALUES (:read_at, :cents, :hbar)
        ON CONFLICT (read_at) DO NOTHING
    """
    db.execute(sql, {"read_at": read_at, "cents": cents, "hbar": hbar})


def get_rate(db: Connection, moment: str) -> RateRow | None:
    # The one that was read last before a moment.
    sql = """
        SELECT read_at, cents, hbar FROM exchange_rate
        WHERE read_at <= :moment
        ORDER BY read_at DESC
        LIMIT 1
    """
    return db.execute(sql, {"moment": moment}).fetchone()
