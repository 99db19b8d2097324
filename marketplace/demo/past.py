"""What was: the prices of an NFT over time, and the floor, the sales and the earnings of a collection.

The API has no figures of the past: each is one bounded statement, or made of an NFT's events.
"""

from bisect import bisect_left, insort
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from marketplace.demo import figures
from marketplace.demo.chart import Chart, Row
from marketplace.demo.figures import ListingChangeRow
from marketplace.hedera.hbar import find_credit
from marketplace.store.database import read

CHANGES_AT_MOST = 1_000
SALES_AT_MOST = 10_000
DAY = timedelta(days=1)
# What ends a listing.
ENDS = {"WITHDRAWN", "SOLD", "TRANSFERRED", "BURNED", "HIDDEN"}
NAMES = {
    "LISTED": "Listed",
    "PRICE_CHANGED": "Price changed",
    "SOLD": "Sold",
    "SHOWN": "Shown again",
}
CHARTED = {*NAMES, *ENDS}


def chart_nft(events: list[dict[str, Any]]) -> Chart | None:
    """The chart of an NFT's events, oldest first; None if there is nothing to compare.

    All steps are equally wide, so that minutes are seen beside weeks.
    """
    charted = [one for one in events if one["kind"] in CHARTED]
    moments = [one for one in charted if one["price"] is not None or one["kind"] in ENDS]
    priced = [one for one in moments if one["price"] is not None]
    if len(priced) < 2:
        return None
    prices = [one["price"] for one in priced]
    is_listed = moments[-1]["kind"] not in ENDS
    widths = len(moments) - (0 if is_listed else 1)
    placed = [(round(100 * i / widths, 2), one) for i, one in enumerate(moments)]
    return Chart(
        title="Prices over time",
        line="Asked for",
        facts=[("Lowest", min(prices)), ("Highest", max(prices)), ("Last", prices[-1])],
        steps=[(x, None if one["kind"] in ENDS else one["price"]) for x, one in placed],
        dots=[(x, one["price"]) for x, one in placed if one["kind"] == "SOLD" and one["price"]],
        rows=[(one["date"], NAMES[one["kind"]], one["price"]) for one in priced],
        begin=moments[0]["date"],
        end=None if is_listed else moments[-1]["date"],
        ticks=[x for x, _ in placed],
        hint="One step for each event, not to scale of time",
    )


@dataclass(frozen=True)
class Past:
    """A collection's floors, each with the date since which it was that, and its sales, oldest first."""

    before: int | None  # the floor before the first of them
    floors: list[tuple[str, int | None]]
    sales: list[tuple[str, int]]
    is_cut: bool = False  # whether there was more, earlier

    def find_floor(self, at: datetime) -> int | None:
        """The floor at a moment; None if nothing was listed, or if that is not known."""
        known = [floor for date, floor in self.floors if datetime.fromisoformat(date) <= at]
        return known[-1] if known else None if self.is_cut else self.before

    @property
    def floor_a_day_ago(self) -> int | None:
        return self.find_floor(datetime.now(UTC) - DAY)

    def chart(self) -> Chart | None:
        """None if there is nothing to compare."""
        if len(self.floors) + len(self.sales) < 2:
            return None
        begin, now = datetime.fromisoformat(self.floors[0][0]), datetime.now(UTC)

        def place(date: str) -> float:
            return round(100 * ((datetime.fromisoformat(date) - begin) / (now - begin)), 2)

        lowest = min((floor for _, floor in self.floors if floor is not None), default=None)
        cut = f"The newest {CHANGES_AT_MOST:,} changes: what was before is left out"
        rows: list[Row] = [(date, "Floor", floor) for date, floor in self.floors]
        rows += [(date, "Sold", price) for date, price in self.sales]
        return Chart(
            title="Floor and sales over time",
            line="Floor",
            facts=[
                ("Floor", self.floors[-1][1]),
                ("A day ago", self.floor_a_day_ago),
                ("Lowest", lowest),
            ],
            steps=[(place(date), floor) for date, floor in self.floors],
            dots=[(place(date), price) for date, price in self.sales],
            rows=sorted(rows, key=lambda row: row[0], reverse=True),
            begin=self.floors[0][0],
            hint=cut if self.is_cut else "",
        )


def read_past(token: str) -> Past | None:
    """The past of a collection; None if none of it was ever for sale, as far as its events are kept."""
    rows = figures.list_listing_changes(read(), token, CHANGES_AT_MOST)
    if not rows:
        return None
    return find_past(rows, is_cut=len(rows) == CHANGES_AT_MOST)


def find_past(rows: list[ListingChangeRow], is_cut: bool = False) -> Past:
    changes = sorted(rows, key=lambda row: (row["date"], row["id"]))
    listed: dict[int, int | None] = {}
    for row in reversed(changes):
        listed[row["serial_no"]] = row["previous_price"]
    # The prices of all that is listed, as far as they could be the lowest.
    prices = sorted(price for price in [*listed.values(), rows[0]["steady_price"]] if price)
    before = prices[0] if prices else None
    floors: list[tuple[str, int | None]] = []
    for row in changes:
        if former := listed[row["serial_no"]]:
            prices.pop(bisect_left(prices, former))
        now = listed[row["serial_no"]] = None if row["kind"] in ENDS else row["price"]
        if now:
            insort(prices, now)
        floor = prices[0] if prices else None
        if not floors or floors[-1][1] != floor:
            floors.append((row["date"], floor))
    sales = [(row["date"], row["price"]) for row in changes if row["kind"] == "SOLD"]
    return Past(before, floors, [(date, price) for date, price in sales if price], is_cut)


def read_earned(collection: dict[str, Any], fee: int) -> int | None:
    """Tinybars that the royalties of a collection's sales brought; None if that is not known.

    Each is that of today, of all sales but those by its own receiver. ``fee``: the marketplace's, in basis
    points.
    """
    if collection["royalties"] is None:
        return None
    parts = [_earn(collection, royalty, fee) for royalty in collection["royalties"]]
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _earn(collection: dict[str, Any], royalty: dict[str, Any], fee: int) -> int | None:
    sold = figures.get_sales(read(), collection["token"], royalty["accountId"], SALES_AT_MOST)
    if sold["sales"] < collection["sales"]:
        return None
    credit = find_credit(sold["volume_of_others"], fee)
    return int(credit * int(royalty["numerator"]) // int(royalty["denominator"]))
