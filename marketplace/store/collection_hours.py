"""The statements about each collection's hours: its sales and its floor price, which the watcher counts.

An hour is text that sorts: 2026-11-20T12. It has a row if something changed what was for sale.
"""

from collections.abc import Iterable
from typing import TypedDict

from marketplace.hedera import times
from marketplace.store.connection import Connection, only


class HourRow(TypedDict):
    """An hour of a collection. Prices are null if nothing was sold, or if nothing is for sale at its end."""

    hour: str
    sales: int
    volume: int
    lowest_price: int | None
    highest_price: int | None
    floor_price: int | None


class CollectionDay(TypedDict):
    """A day of a collection in UTC, as its hours add up."""

    date: str
    floor_price: int | None  # at its end
    sales: int
    volume: int
    lowest_price: int | None  # of its sales
    highest_price: int | None


class ChangedRow(TypedDict):
    """A collection that has new events."""

    token: str
    since: str | None  # the earliest date of which the figures change; null if of none
    newest: int  # an event's id


class ListingChangeRow(TypedDict):
    """An event that changes what of a collection is for sale."""

    id: int
    kind: str
    serial_no: int
    price: int | None
    previous_price: int | None
    date: str


class SteadyRow(TypedDict):
    floor_price: int | None
    newest: int


READ_TO = "figures_read_to"  # the property with the id of the last event that was counted

_KINDS = (
    "'LISTED', 'PRICE_CHANGED', 'WITHDRAWN', 'SOLD', 'TRANSFERRED', 'BURNED', 'HIDDEN', 'SHOWN'"
)
# An NFT is listed again from the moment at which the operator shows it or unblocks its owner.
_DATE = """CASE WHEN kind = 'SHOWN' OR (kind = 'LISTED' AND transaction_id IS NULL) THEN seen_at
    ELSE COALESCE(consensus_at, seen_at) END"""
# Hidden NFTs have no past, as if they had never been here.
_OF_TOKEN = f"""
    token = :token AND id > :after AND is_hidden = 0 AND kind IN ({_KINDS})
    AND serial_no NOT IN (SELECT serial_no FROM nft WHERE token = :token AND is_hidden = 1)
"""


def list_changed(db: Connection, after: int, limit: int) -> list[ChangedRow]:
    # The collections of the next events after this id. A decision of the operator changes an NFT's past.
    sql = f"""
        SELECT token, MAX(id) AS newest, MIN(
            CASE WHEN kind IN ('HIDDEN', 'SHOWN') THEN (
                SELECT MIN(COALESCE(own.consensus_at, own.seen_at)) FROM event AS own
                WHERE own.token = event.token AND own.serial_no = event.serial_no
            ) WHEN kind IN ({_KINDS}) THEN {_DATE} END
        ) AS since
        FROM (SELECT * FROM event WHERE id > :after ORDER BY id LIMIT :limit + 0) AS event
        GROUP BY token
        ORDER BY token
    """
    return db.execute(sql, {"after": after, "limit": limit}).fetchall()


def get_event_date(db: Connection, after: int) -> tuple[int, str] | None:
    # The first event after this id, and when it was written.
    sql = "SELECT id, seen_at FROM event WHERE id > :after ORDER BY id LIMIT 1"
    row = db.execute(sql, {"after": after}).fetchone()
    return row and (row["id"], row["seen_at"])


def get_newest_id(db: Connection) -> int:
    newest: int = only(db, "SELECT COALESCE(MAX(id), 0) AS newest FROM event")["newest"]
    return newest


def list_listing_changes(
    db: Connection, token: str, after: int, limit: int
) -> list[ListingChangeRow]:
    sql = f"""
        SELECT id, kind, serial_no, price, previous_price, {_DATE} AS date
        FROM event
        WHERE {_OF_TOKEN}
        ORDER BY id
        LIMIT :limit + 0
    """
    return db.execute(sql, {"token": token, "after": after, "limit": limit}).fetchall()


def get_steady(db: Connection, token: str, after: int) -> SteadyRow:
    # The lowest price of the listed NFTs that no event after this id is about, and the newest such event.
    sql = f"""
        SELECT
            (SELECT MIN(listing_price) FROM nft
             WHERE is_listed = 1 AND token = :token AND serial_no NOT IN (
                 SELECT serial_no FROM event WHERE {_OF_TOKEN}
             )) AS floor_price,
            (SELECT COALESCE(MAX(id), 0) FROM event WHERE {_OF_TOKEN}) AS newest
    """
    row: SteadyRow = only(db, sql, {"token": token, "after": after})
    return row


def list_hours(db: Connection, token: str, since: str) -> list[HourRow]:
    # The hour before is the last one with a floor that may still hold.
    sql = """
        SELECT hour, sales, volume, lowest_price, highest_price, floor_price FROM collection_hour
        WHERE token = :token AND hour >= COALESCE(
            (SELECT MAX(hour) FROM collection_hour WHERE token = :token AND hour < :since), ''
        )
        ORDER BY hour
    """
    return db.execute(sql, {"token": token, "since": since}).fetchall()


def add_up_days(hours: Iterable[HourRow], begin: int, today: int) -> list[CollectionDay]:
    """List the days from ``begin`` to ``today``, without those before the first hour.

    ``hours``: in their order. One that is before ``begin`` says only what the floor was then.
    """
    of_day: dict[str, list[HourRow]] = {}
    for hour in hours:
        of_day.setdefault(hour["hour"][:10], []).append(hour)
    first = min(of_day, default="9")
    earlier = [rows[-1] for date, rows in of_day.items() if date < _date(begin)]
    floor = earlier[-1]["floor_price"] if earlier else None
    days = []
    for moment in range(begin, today + 1, times.DAY):
        rows = of_day.get(date := _date(moment), [])
        floor = rows[-1]["floor_price"] if rows else floor
        if date >= first:
            days.append(_add_up(date, rows, floor))
    return days


def _date(moment: int) -> str:
    return times.to_iso(moment)[:10]


def _add_up(date: str, rows: list[HourRow], floor: int | None) -> CollectionDay:
    sold = [row for row in rows if row["sales"]]
    return {
        "date": date,
        "floor_price": floor,
        "sales": sum(row["sales"] for row in sold),
        "volume": sum(row["volume"] for row in sold),
        "lowest_price": min((row["lowest_price"] or 0 for row in sold), default=None),
        "highest_price": max((row["highest_price"] or 0 for row in sold), default=None),
    }


def delete_hours(db: Connection, token: str, since: str) -> None:
    sql = "DELETE FROM collection_hour WHERE token = :token AND hour >= :since"
    db.execute(sql, {"token": token, "since": since})


def insert_hour(db: Connection, token: str, hour: HourRow) -> None:
    sql = """
        INSERT INTO collection_hour (token, hour, sales, volume, lowest_price, highest_price, floor_price)
        VALUES (:token, :hour, :sales, :volume, :lowest_price, :highest_price, :floor_price)
        ON CONFLICT (token, hour) DO NOTHING
    """
    db.execute(sql, {"token": token, **hour})


def list_figures_due(db: Connection, now: str, limit: int) -> list[str]:
    # The collections of which figures change because time passes.
    sql = """
        SELECT token FROM collection WHERE figures_due_at <= :now
        ORDER BY figures_due_at
        LIMIT :limit + 0
    """
    return [row["token"] for row in db.execute(sql, {"now": now, "limit": limit})]


def mark_figures(db: Connection, token: str, day: str, week: str, month: str, due_at: str) -> None:
    # The hours are those of a day, a week and a month ago.
    sold = """(SELECT CAST(COALESCE(SUM({0}), 0) AS BIGINT) FROM collection_hour
        WHERE collection_hour.token = :token AND hour >= :{1})"""
    sql = f"""
        UPDATE collection
        SET sales_7d = {sold.format("sales", "week")},
            volume_7d = {sold.format("volume", "week")},
            sales_30d = {sold.format("sales", "month")},
            volume_30d = {sold.format("volume", "month")},
            owners = (SELECT COUNT(*) FROM (
                SELECT 1 FROM nft
                WHERE nft.token = :token AND ledger_state <> 'gone' AND is_hidden = 0
                GROUP BY owner
            ) AS found),
            floor_price = COALESCE((
                SELECT MIN(listing_price) FROM nft WHERE is_listed = 1 AND nft.token = :token
            ), 0),
            floor_price_24h_ago = COALESCE((
                SELECT collection_hour.floor_price FROM collection_hour
                WHERE collection_hour.token = :token AND hour < :day
                ORDER BY hour DESC LIMIT 1
            ), 0),
            figures_due_at = CASE WHEN EXISTS (
                SELECT 1 FROM collection_hour WHERE collection_hour.token = :token AND hour >= :month
            ) THEN :due_at END
        WHERE token = :token
    """
    parameters = {"token": token, "day": day, "week": week, "month": month, "due_at": due_at}
    db.execute(sql, parameters)
