"""The rows of the table: what is compared with what, the target of each, and whether it was met."""

from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from benchmarks import finding
from benchmarks.contenders import title
from benchmarks.plan import Plan
from benchmarks.throughput import Figures

ORDERBOOK = "Order book, first page"
HOT = "One of 1,000 NFTs, again and again"
NOTHING_KEPT = "Order book, nothing kept"


class Row(NamedTuple):
    """``value`` is what the target is about: a ratio where there is another figure, else our figure."""

    group: str
    name: str
    ours: str
    other: str
    value: float
    shown: str
    target: float | None
    at_least: bool

    @property
    def is_met(self) -> bool | None:
        if self.target is None:
            return None
        return self.value >= self.target if self.at_least else self.value <= self.target


def make(results: dict, plan: Plan) -> list[Row]:
    return [
        *_orderbook(results["throughput"]),
        *_nothing_kept(results["depths"], results["sizes"]["orderbook"], plan),
        *_nft(results["throughput"], results["sizes"]["nft"], plan),
        _listings(results["throughput"]["list"]["service"]),
        *of_postgresql(results["postgresql"], plan),
        *_events(results["events"], plan),
    ]


def _orderbook(figures: Figures) -> Iterator[Row]:
    yield from _pairs(
        figures["orderbook"],
        (ORDERBOOK, "service", "bare", 0.85),
        (ORDERBOOK, "service", "fastapi", 1.6),
        (ORDERBOOK, "granian", "fastify", 1.3),
        (ORDERBOOK, "service", "fastify", None),
        (ORDERBOOK, "host", "fastapi", 1.0),
    )
    row = _throughput(ORDERBOOK, figures["writes"], "written_20", "quiet", 0.7)
    yield row._replace(name="with 20 writes a second / with none")


def _hot_with_writes(runs: dict) -> Iterator[Row]:
    for per_second, target in ((20, 0.75), (100, 0.7)):
        ours, name = f"written_{per_second}", f"with {per_second} writes a second"
        row = _throughput(HOT, runs, ours, "quiet", target)
        yield row._replace(name=f"{name} / with none")
        row = _throughput(HOT, runs, ours, f"fastapi_{per_second}", 1)
        yield row._replace(name=f"{name} / FastAPI with as many")


def _pairs(runs: dict, *pairs: tuple[str, str, str, float | None]) -> Iterator[Row]:
    """Who is compared with whom, where both were asked."""
    for group, ours, other, target in pairs:
        if {ours, other} <= runs.keys():
            yield _throughput(group, runs, ours, other, target)


def _nothing_kept(depths: dict, sizes: dict, plan: Plan) -> Iterator[Row]:
    first, deep, depth = depths["service"][0], depths["service"][plan.deep], f"{plan.deep:,}"
    # Whoever asks for it passes over the index entries before it: nothing counts them for a far page.
    yield _time(NOTHING_KEPT, f"page at offset {depth} / first page", deep, first, 30)
    yield _time(
        NOTHING_KEPT, f'page by rel="next" at {depth} / first page', depths["link"], first, 1.5
    )
    other = depths["fastapi"][plan.deep]
    yield _time(NOTHING_KEPT, f"page at offset {depth} / FastAPI's", deep, other, 1.3)
    yield _time(NOTHING_KEPT, _tables(plan), sizes[plan.nfts], sizes[min(plan.sizes)], 1.5)


def _nft(figures: Figures, sizes: dict, plan: Plan) -> Iterator[Row]:
    everywhere = "Every time another NFT"
    yield from _pairs(
        figures["hot"],
        (HOT, "service", "bare", 0.75),
        (HOT, "service", "fastapi", None),
        (HOT, "granian", "fastify", None),
    )
    yield from _hot_with_writes(figures["hot_writes"])
    yield from _pairs(
        figures["all"],
        (everywhere, "service", "fastapi", 0.6),
        (everywhere, "service", "fastify", None),
        (everywhere, "granian", "fastify", None),
    )
    yield _time(everywhere, _tables(plan), sizes[plan.nfts], sizes[min(plan.sizes)], 1.5)


def _listings(runs: list[float]) -> Row:
    group, per_second = "POST /v1/list/extwallet", median(runs)
    return Row(group, "durably committed", f"{per_second:,.0f}/s", "", per_second, "", 500, True)


def of_postgresql(figures: dict | None, plan: Plan) -> Iterator[Row]:
    if figures is None:
        return
    group = "On PostgreSQL"
    row = _throughput(group, figures["kept"], "postgresql", "service", 0.85)
    yield row._replace(name="order book, first page / on SQLite")
    row = _throughput(group, figures["host"], "postgresql_host", "host", 0.9)
    yield row._replace(name="order book, its host's own authentication / on SQLite")
    milliseconds, name = figures["deep_seconds"] * 1000, f"page at offset {plan.deep:,}"
    yield Row(group, name, _ms(milliseconds / 1000), "", milliseconds, "", 80, False)


def _events(seconds: dict[str, float], plan: Plan) -> Iterator[Row]:
    group = f"Among {plan.nfts:,} events, nothing kept"
    beginning, end = seconds["beginning"], seconds["end"]
    yield _time(group, "the last 100 events / the first 100", end, beginning, 1.5)
    yield _time(group, "the last 100 events / order book, first page", end, seconds["orderbook"])
    milliseconds = seconds["collection"] * 1000
    yield Row(group, "a collection", _ms(seconds["collection"]), "", milliseconds, "", 1, False)
    group = f"Among {finding.COLLECTIONS:,} collections, nothing kept"
    for name in finding.PATHS:
        target = 5 if name.startswith("search") else None
        yield Row(group, name, _ms(seconds[name]), "", seconds[name] * 1000, "", target, False)


def _throughput(group: str, runs: dict, ours: str, other: str, target: float | None) -> Row:
    # Of runs of the same round: what slows the machine for a while slows both.
    ratio = median(mine / its for mine, its in zip(runs[ours], runs[other], strict=True))
    shown = [f"{median(runs[name]):,.0f}/s" for name in (ours, other)]
    names = [title(name) for name in (ours, other)]
    return Row(group, " / ".join(names), *shown, ratio, f"{ratio:.2f}", target, True)


def _time(group: str, name: str, ours: float, other: float, target: float | None = None) -> Row:
    ratio = ours / other
    return Row(group, name, _ms(ours), _ms(other), ratio, f"{ratio:.2f}", target, False)


def _tables(plan: Plan) -> str:
    return f"in a table of {plan.nfts:,} / of {min(plan.sizes):,}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.2f} ms"


def far_from_target(rows: list[Row]) -> list[str]:
    """What no noise explains: half of a target missed, in a ratio of figures taken side by side."""
    far = []
    for row in rows:
        if row.target is None or not row.other:  # a figure of its own says much about the machine
            continue
        if row.value < row.target / 2 if row.at_least else row.value > row.target * 2:
            far.append(f"{row.group}: {row.name}: {row.shown}, far from {row.target:g}")
    return far
