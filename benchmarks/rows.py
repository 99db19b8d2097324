"""The rows of the table: two figures that are compared, the target, and whether it was met."""

from collections.abc import Iterator
from itertools import groupby
from statistics import median
from typing import Any, NamedTuple

from benchmarks import activity, queries
from benchmarks.latency import Seconds
from benchmarks.plan import Plan
from benchmarks.throughput import COMPARISONS, MEASURES, Rates, title

BY_SALES = "collections, by what was sold in 24 hours"
NOTHING_KEPT = "Order book, nothing kept"
# The requests that are measured alike on both engines
FOUND = [name for name in queries.PATHS if name != BY_SALES]
HEADINGS = ("", "ours", "other", "ratio", "target", "")


class Row(NamedTuple):
    """``value`` is compared with the target: the ratio if there is another figure, otherwise our figure."""

    group: str
    name: str
    ours: str
    other: str
    value: float
    target: float | None
    at_least: bool

    @property
    def shown(self) -> str:
        return f"{self.value:.2f}" if self.other else ""

    def is_met(self, slack: float = 1) -> bool | None:
        """Whether the target is met, or missed by a factor of at most ``slack``; None without a target."""
        if self.target is None:
            return None
        if self.at_least:
            return self.value >= self.target / slack
        return self.value <= self.target * slack

    def __str__(self) -> str:
        limit = "" if self.target is None else f"{'>=' if self.at_least else '<='} {self.target:g}"
        met = {None: "", True: "met", False: "MISSED"}[self.is_met()]
        return _line(f"  {self.name}", self.ours, self.other, self.shown, limit, met)


def make(results: dict, plan: Plan) -> list[Row]:
    """All rows, group by group."""
    rows = [*_rates(results["rates"]), *_times(results["seconds"], plan)]
    groups = list(dict.fromkeys(row.group for row in rows))
    return sorted(rows, key=lambda row: groups.index(row.group))


def far_from_target(rows: list[Row]) -> list[Row]:
    """Rows with a ratio that misses its target by a factor of two, which no noise explains."""
    return [row for row in rows if row.other and row.is_met(slack=2) is False]


def render(rows: list[Row]) -> str:
    lines = [_line(*HEADINGS)]
    for group, members in groupby(rows, key=lambda row: row.group):
        lines += [group, *map(str, members)]
    return "\n".join(lines)


def _line(name: str, ours: str, other: str, ratio: str, target: str, met: str) -> str:
    return f"{name:<90}{ours:>11}{other:>11}{ratio:>7}{target:>9}  {met}".rstrip()


def _rates(rates: Rates) -> Iterator[Row]:
    for measure, ours, other, target in COMPARISONS:
        group, runs = MEASURES[measure], rates[measure]
        if other is None:
            rate = median(runs[ours])
            yield Row(group, "durably committed", f"{rate:,.0f}/s", "", rate, target, True)
        elif {ours, other} <= runs.keys():
            # Compare runs of the same round: if the machine is slow for a while, both are.
            ratio = median(mine / its for mine, its in zip(runs[ours], runs[other], strict=True))
            shown = [f"{median(runs[name]):,.0f}/s" for name in (ours, other)]
            yield Row(group, f"{title(ours)} / {title(other)}", *shown, ratio, target, True)


def _times(seconds: Seconds, plan: Plan) -> Iterator[Row]:
    pages, depth = seconds["service"], f"{plan.deep:,}"
    first, deep, link = pages[0], pages[plan.deep], seconds["link"][plan.deep]
    # A page at an offset reads all index entries before it: there is no count to skip them by.
    yield _time(NOTHING_KEPT, f"page at offset {depth} / first page", deep, first, 30)
    yield _time(NOTHING_KEPT, f'page by rel="next" at {depth} / first page', link, first, 1.5)
    other = seconds["fastapi"][plan.deep]
    yield _time(NOTHING_KEPT, f"page at offset {depth} / FastAPI's", deep, other, 1.3)
    smallest = min(plan.sizes)
    tables = f"in a table of {plan.nfts:,} / of {smallest:,}"
    for group, curve in ((NOTHING_KEPT, "first_page"), (MEASURES["all"], "nft")):
        of_size = seconds[curve]
        yield _time(group, tables, of_size[plan.nfts], of_size[smallest], 1.5)
    if "postgresql" in seconds:
        name, deep = f"page at offset {depth} on PostgreSQL", seconds["postgresql"][plan.deep]
        yield _time(NOTHING_KEPT, name, deep, None, 80)
    yield from _among_events(f"Among {plan.nfts:,} events, nothing kept", seconds["among_events"])
    found = seconds.get("among_events_postgresql")
    if found:
        group = f"Among {plan.nfts:,} events on PostgreSQL, nothing kept"
        yield from _among_events(group, found)
        for name in FOUND:
            yield _time(group, name, found[name], None, 20 if name.startswith("search") else None)
    found = seconds["among_events"]
    group = f"Among {activity.COLLECTIONS:,} collections, nothing kept"
    for name in FOUND:
        target = 20 if name.startswith("search") else None
        yield _time(group, name, found[name], None, target)


def _among_events(group: str, found: dict[Any, float]) -> Iterator[Row]:
    end = found["last_events"]
    yield _time(group, "the last 100 events / the first 100", end, found["first_events"], 1.5)
    yield _time(group, "the last 100 events / order book, first page", end, found["orderbook"], 2)
    yield _time(group, "100 events of an account", found["events_of_account"], None, 10)
    yield _time(group, "a collection", found["collection"], None, 5)
    yield _time(group, BY_SALES, found[BY_SALES], None, 20)


def _time(
    group: str, name: str, ours: float, other: float | None, target: float | None = None
) -> Row:
    """A row about times. Its target is a ratio, or if there is no other figure, milliseconds."""
    value = ours / other if other else ours * 1000
    shown = [f"{each * 1000:,.2f} ms" if each else "" for each in (ours, other)]
    return Row(group, name, *shown, value, target, False)
