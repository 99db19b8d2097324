"""A chart of prices: a line in steps and dots, as paths of SVG, and the same as the rows of a table."""

from dataclasses import dataclass, field
from math import log
from typing import Any

SPREAD = 10  # between the lowest price and the highest, above which a linear scale would flatten the line
Row = tuple[str, str, int | None]  # the date, what happened, and the price


@dataclass(frozen=True)
class Chart:
    """It is 100 wide and 100 high. A step or a dot is its place from left to right, and a price in HBAR."""

    title: str
    line: str  # what the line is called
    facts: list[tuple[str, int | None]]  # the figures beside it
    steps: list[tuple[float, int | None]]  # the price from there on; None: the line has a gap
    dots: list[tuple[float, int]]
    rows: list[Row]
    begin: str
    end: str | None = None  # None: now
    ticks: list[float] = field(default_factory=list)
    hint: str = ""

    @property
    def line_path(self) -> str:
        path, is_drawn = "", False
        for x, price in self.steps:
            path += f"H{x:g}" if is_drawn else ""
            if price is not None:
                path += f"V{self._y(price):g}" if is_drawn else f"M{x:g} {self._y(price):g}"
            is_drawn = price is not None
        return path + ("H100" if is_drawn else "")

    @property
    def dots_path(self) -> str:
        # A line without length has round ends: a dot that is not stretched.
        return "".join(f"M{x:g} {self._y(price):g}h.01" for x, price in self.dots)

    @property
    def ticks_path(self) -> str:
        return "".join(f"M{x:g} 100v-4" for x in self.ticks)

    @property
    def highest(self) -> int:
        return max(price or 0 for _, price in self.steps + self.dots)

    @property
    def bottom(self) -> int:
        """The price at the bottom of the chart."""
        return self._lowest // 2 if self.is_logarithmic else 0

    @property
    def is_logarithmic(self) -> bool:
        return self.highest > SPREAD * self._lowest

    @property
    def said(self) -> str:
        """What one has to know to read it."""
        scale = "prices on a logarithmic scale" if self.is_logarithmic else ""
        said = "; ".join(filter(None, (self.hint, scale)))
        return said[:1].upper() + said[1:]

    @property
    def _lowest(self) -> int:
        return min((price for _, price in self.steps + self.dots if price), default=1)

    def _y(self, price: int) -> float:
        share = price / self.highest
        if self.is_logarithmic:
            bottom = self.bottom or 0.5
            share = log(price / bottom) / log(self.highest / bottom)
        return round(100 - 100 * share, 2)


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


def chart_collection(days: list[dict[str, Any]], collection: dict[str, Any]) -> Chart | None:
    """The chart of a collection's days, oldest first; None if there is nothing to compare."""
    sold = [(i, day) for i, day in enumerate(days) if day["sales"]]
    if not days or (len(days) < 2 and not sold):
        return None
    floors = [day["floorPrice"] for day in days]
    steps = [(i, floor) for i, floor in enumerate(floors) if not i or floor != floors[i - 1]]
    dots = {(i, day[price]) for i, day in sold for price in ("lowestPrice", "highestPrice")}
    width = 100 / len(days)
    rows: list[Row] = [(_begin(day), "Floor", day["floorPrice"]) for day in days]
    rows += [(_begin(day), "Sold", day["volume"]) for _, day in sold]
    lowest = min((floor for floor in floors if floor is not None), default=None)
    return Chart(
        title="Floor and sales over time",
        line="Floor",
        facts=[
            ("Floor", collection["floorPrice"]),
            ("A day ago", collection["floorPrice24hAgo"]),
            ("Lowest", lowest),
        ],
        steps=[(round(i * width, 2), floor) for i, floor in steps],
        dots=[(round((i + 0.5) * width, 2), price) for i, price in sorted(dots)],
        rows=sorted(rows, key=lambda row: row[0], reverse=True),
        begin=_begin(days[0]),
        hint="Floors at the end of each day",
    )


def _begin(day: dict[str, Any]) -> str:
    return f"{day['date']}T00:00:00Z"
