"""A collection's past by days in UTC, put together of its hours."""

from collections.abc import Iterable
from typing import TypedDict

from marketplace.hedera import times
from marketplace.store.collection_hours import HourRow


class CollectionDay(TypedDict):
    date: str
    floor_price: int | None  # at its end
    sales: int
    volume: int
    lowest_price: int | None  # of its sales
    highest_price: int | None


def list_days(hours: Iterable[HourRow], begin: int, today: int) -> list[CollectionDay]:
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
