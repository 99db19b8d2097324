"""A collection's past: its floor over time, its sales, and what its artist got of them."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from marketplace.demo import calls
from marketplace.demo.prices import ENDS
from marketplace.hedera.hbar import find_credit

Event = dict[str, Any]

# Of a longer past, the beginning would have to be read, too: then nothing is said.
EVENTS_AT_MOST = 1000
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Past:
    """Its floors, each with the date since which it was that, oldest first; and its sales."""

    floors: list[tuple[str, int | None]]
    sales: list[Event]

    def find_floor(self, at: datetime) -> int | None:
        before = [floor for date, floor in self.floors if datetime.fromisoformat(date) <= at]
        return before[-1] if before else None

    @property
    def floor_a_day_ago(self) -> int | None:
        return self.find_floor(datetime.now(UTC) - DAY)

    @property
    def rows(self) -> list[tuple[str, int | None, int | None]]:
        """Dates, each with the floor since then or the price of a sale, newest first."""
        rows: list[tuple[str, int | None, int | None]] = []
        rows += [(date, floor, None) for date, floor in self.floors]
        rows += [(event["date"], None, event["price"]) for event in self.sales]
        return sorted(rows, reverse=True, key=lambda row: row[0])

    @property
    def floor_path(self) -> str:
        """A line of SVG, 100 wide and 100 high: time from left to right."""
        path, is_listed = "", False
        for date, floor in self.floors:
            x = self._x(date)
            path += f"H{x:g}" if is_listed else ""
            if floor is not None:
                path += f"{'V' if is_listed else f'M{x:g} '}{self._y(floor):g}"
            is_listed = floor is not None
        return path + ("H100" if is_listed else "")

    @property
    def sold_path(self) -> str:
        points = ((self._x(sale["date"]), self._y(sale["price"])) for sale in self.sales)
        return "".join(f"M{x:g} {y:g}h.01" for x, y in points)

    @property
    def highest(self) -> int:
        return max(price or 0 for _, *prices in self.rows for price in prices)

    @property
    def lowest(self) -> int:
        return min(floor for _, floor in self.floors if floor is not None)

    def _x(self, date: str) -> float:
        begin, now = datetime.fromisoformat(self.floors[0][0]), datetime.now(UTC)
        return round(100 * ((datetime.fromisoformat(date) - begin) / (now - begin)), 2)

    def _y(self, price: int) -> float:
        return round(100 - 100 * price / self.highest, 2)


def read_past(token: str) -> Past | None:
    """Read a collection's events; None if it has none, or too many."""
    answer = calls.get("/events", tokenId=token, limit=EVENTS_AT_MOST, order="desc")
    events = answer.rows
    if len(events) == EVENTS_AT_MOST:
        return None
    events = sorted(events, key=lambda event: event["date"])
    floors = find_floors(events)
    sales = [event for event in events if event["kind"] == "SOLD" and event["price"]]
    return Past(floors, sales) if floors else None


def find_floors(events: list[Event]) -> list[tuple[str, int | None]]:
    prices: dict[int, int] = {}
    floors: list[tuple[str, int | None]] = []
    for event in events:
        if event["kind"] in ENDS:
            prices.pop(event["serialNo"], None)
        elif event["kind"] in ("LISTED", "PRICE_CHANGED"):
            prices[event["serialNo"]] = event["price"]
        floor = min(prices.values(), default=None)
        if (floors[-1][1] if floors else None) != floor:
            floors.append((event["date"], floor))
    return floors


def earned(sales: list[Event], royalties: list[dict[str, Any]], fee: int) -> int:
    """Tinybars that the royalties of these sales brought, as the network takes them.

    ``fee`` is the marketplace's, in basis points. Owners pay no royalty to themselves.
    """
    return sum(
        find_credit(sale["price"], fee) * int(one["numerator"]) // int(one["denominator"])
        for sale in sales
        for one in royalties
        if one["accountId"] != sale["from"]["accountId"]
    )
