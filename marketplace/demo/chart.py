"""A chart of prices: a line in steps and dots, as paths of SVG, and the same as the rows of a table."""

from dataclasses import dataclass, field
from math import log

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
