"""The prices of an NFT over time: the numbers of a small chart, and of its table."""

from dataclasses import dataclass
from typing import Any

# What ends a listing.
ENDS = {"WITHDRAWN", "SOLD", "TRANSFERRED", "BURNED"}


@dataclass(frozen=True)
class Figure:
    """A chart 100 wide and 100 high. All steps are equally wide, so that minutes are seen beside weeks."""

    priced: list[dict[str, Any]]  # events with a price, oldest first
    ticks: str  # paths of SVG
    asked: str
    sold: str
    begin: str
    end: str | None  # None: the last listing goes on

    @property
    def prices(self) -> list[int]:
        return [event["price"] for event in self.priced]

    @classmethod
    def of(cls, events: list[dict[str, Any]]) -> "Figure | None":
        """The chart of events, oldest first; None if there is nothing to compare."""
        moments = [one for one in events if one["price"] is not None or one["kind"] in ENDS]
        priced = [one for one in moments if one["price"] is not None]
        if len(priced) < 2:
            return None
        is_listed = moments[-1]["kind"] not in ENDS
        points = _place(moments, max(one["price"] for one in priced), is_listed)
        sold = [(x, y) for kind, x, y in points if kind == "SOLD" and y is not None]
        return cls(
            priced,
            ticks="".join(f"M{x:g} 100v-4" for _, x, _ in points),
            asked=_asked(points) + ("H100" if is_listed else ""),
            # A line without length has round ends: a dot that is not stretched.
            sold="".join(f"M{x:g} {y:g}h.01" for x, y in sold),
            begin=moments[0]["date"],
            end=None if is_listed else moments[-1]["date"],
        )


Point = tuple[str, float, float | None]  # the event's kind, and its place


def _place(moments: list[dict[str, Any]], highest: int, is_listed: bool) -> list[Point]:
    steps = len(moments) - (0 if is_listed else 1)
    return [
        (
            one["kind"],
            round(100 * i / steps, 2),
            None if one["price"] is None else round(100 - 100 * one["price"] / highest, 2),
        )
        for i, one in enumerate(moments)
    ]


def _asked(points: list[Point]) -> str:
    """The line of what was asked for: steps, with a gap while it was not listed."""
    path, is_listed = "", False
    for kind, x, y in points:
        if is_listed:
            path += f"H{x:g}"
        is_end = kind in ENDS
        if not is_end and y is not None:
            path += f"V{y:g}" if is_listed else f"M{x:g} {y:g}"
        is_listed = not is_end
    return path
