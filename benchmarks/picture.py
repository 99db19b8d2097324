"""The picture of a run: throughput as bars, cost against depth and table size on log axes."""

from pathlib import Path
from statistics import median

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from benchmarks import contenders
from benchmarks.plan import Plan

OURS, OTHERS, LIMIT = "#5b3df5", "#9aa3b2", "#d5d9e0"
INK, FAINT = "#1c2333", "#e8eaef"
STYLE = {
    "svg.hashsalt": "bench",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": OTHERS,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
}
COLORS = {"service": OURS, "host": OURS, "granian": OURS, "bare": LIMIT}
BARS = {
    "orderbook": "Order book, first page: requests/s",
    "hot": "One of 1,000 NFTs: requests/s",
    "all": "Another NFT: requests/s",
}


def draw(results: dict, plan: Plan, about: dict, path: Path) -> None:
    figures = results["throughput"]
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=(10, 8.6), layout="constrained")
        grid = figure.add_gridspec(3, 2, height_ratios=[7, 5, 9], hspace=0.08)
        _bars(figure.add_subplot(grid[0, :]), figures["orderbook"], BARS["orderbook"])
        for column, key in enumerate(("hot", "all")):
            _bars(figure.add_subplot(grid[1, column]), figures[key], BARS[key])
        _depth(figure.add_subplot(grid[2, 0]), results["depths"], plan)
        _size(figure.add_subplot(grid[2, 1]), results["sizes"])
        figure.suptitle(
            f"One worker on one core, {plan.nfts:,} NFTs, {plan.listed:,} of them listed",
            x=0.01,
            ha="left",
            fontsize=14,
            fontweight="bold",
        )
        figure.supxlabel(
            f"{about['processor']}, {about['date'][:10]}, commit {about['commit']}, "
            f"medians of {plan.rounds} rounds of {plan.seconds} s",
            x=0.01,
            ha="left",
            fontsize=8,
            color="#6b7385",
        )
        figure.savefig(path, metadata={"Date": None}, facecolor="white")
        plt.close(figure)


def _bars(axes, runs: dict[str, list[float]], title: str) -> None:
    order = sorted(runs, key=lambda name: median(runs[name]))
    values = [median(runs[name]) for name in order]
    spread = [
        [value - min(runs[name]) for name, value in zip(order, values, strict=True)],
        [max(runs[name]) - value for name, value in zip(order, values, strict=True)],
    ]
    axes.barh(
        [contenders.title(name) for name in order],
        values,
        xerr=spread,
        height=0.68,
        color=[COLORS.get(name, OTHERS) for name in order],
        error_kw={"ecolor": INK, "elinewidth": 0.8, "capsize": 2},
    )
    for row, (value, above) in enumerate(zip(values, spread[1], strict=True)):
        axes.annotate(
            f"{value:,.0f}", (value + above, row), (5, 0), textcoords="offset points", va="center"
        )
    axes.set_title(title)
    axes.set_xlim(0, max(map(sum, zip(values, spread[1], strict=True))) * 1.12)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    _grid(axes, "x")


def _depth(axes, depths: dict, plan: Plan) -> None:
    for name, color in (("fastapi", OTHERS), ("service", OURS)):
        _line(axes, depths[name], color, contenders.title(name))
    axes.plot(
        [plan.deep],
        [depths["link"] * 1000],
        "D",
        color=OURS,
        ms=8,
        mfc="white",
        label='by rel="next"',
    )
    axes.set_title("A page of the order book, nothing kept: ms")
    axes.set_xlabel("listings before it")
    axes.set_xscale("symlog", linthresh=100, linscale=0.5)
    axes.set_xticks(
        [offset for offset in plan.offsets if offset * 3 <= plan.deep or offset == plan.deep]
    )
    _log(axes)


def _size(axes, sizes: dict) -> None:
    _line(axes, sizes["orderbook"], OURS, "order book, first page, nothing kept")
    _line(axes, sizes["nft"], "#0f9d8a", "one NFT, another each time")
    axes.set_title("The same in larger tables: ms")
    axes.set_xlabel("NFTs in the table")
    axes.set_xscale("log")
    axes.set_xticks(list(sizes["nft"]))
    _log(axes)


def _line(axes, points: dict[int, float], color: str, label: str) -> None:
    values = [seconds * 1000 for seconds in points.values()]
    axes.plot(list(points), values, "o-", color=color, lw=2, ms=5, label=label)


def _log(axes) -> None:
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, 0.1), max(high * 4, 10))  # room for the legend
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.legend(frameon=False, loc="upper left")
    _grid(axes, "both")


def _short(number: float) -> str:
    for unit, name in ((1_000_000, "M"), (1_000, "k")):
        if number >= unit:
            return f"{number / unit:g}{name}"
    return f"{number:g}"


def _grid(axes, which: str) -> None:
    axes.set_axisbelow(True)
    axes.grid(axis=which, color=FAINT)
