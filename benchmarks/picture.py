"""The picture of a run: throughput as bars, and cost by depth and by table size on log axes."""

from pathlib import Path

import matplotlib
import numpy

matplotlib.use("svg")
from matplotlib import pyplot as plt
from matplotlib.ticker import EngFormatter, NullFormatter

from benchmarks.contenders import CONTENDERS
from benchmarks.latency import Seconds
from benchmarks.plan import Plan
from benchmarks.throughput import MEASURES

OURS, NFT, OTHERS, LIMIT, FAINT = "#5b3df5", "#0f9d8a", "#9aa3b2", "#d5d9e0", "#e8eaef"
STYLE = {
    "svg.hashsalt": "bench",
    "font.size": 9,
    "figure.titlesize": 14,
    "figure.titleweight": "bold",
    "axes.edgecolor": OTHERS,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "legend.frameon": False,
    "legend.loc": "upper left",
}


def draw(results: dict, plan: Plan, about: dict, path: Path) -> None:
    rates, seconds = results["rates"], results["seconds"]
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=(10, 8.6), layout="constrained")
        grid = figure.add_gridspec(3, 2, height_ratios=[7, 5, 9], hspace=0.08)
        places = {"orderbook": grid[0, :], "hot": grid[1, 0], "all": grid[1, 1]}
        for measure, place in places.items():
            _bars(figure.add_subplot(place), rates[measure], f"{MEASURES[measure]}: requests/s")
        _depth(figure.add_subplot(grid[2, 0]), seconds, plan)
        _size(figure.add_subplot(grid[2, 1]), seconds)
        title = f"One worker on one core, {plan.nfts:,} NFTs, {plan.listed:,} of them listed"
        figure.suptitle(title, x=0.01, ha="left")
        made = f"{about['processor']}, {about['date'][:10]}, commit {about['commit']}"
        rounds = f"medians of {plan.rounds} rounds of {plan.seconds} s"
        figure.supxlabel(f"{made}, {rounds}", x=0.01, ha="left", size=8, weight="normal")
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


def _bars(axes, runs: dict[str, list[float]], title: str) -> None:
    names = sorted(runs.keys() & CONTENDERS.keys(), key=lambda name: numpy.median(runs[name]))
    rounds = numpy.array([runs[name] for name in names])
    middle = numpy.median(rounds, axis=1)
    bars = axes.barh(
        [CONTENDERS[name].title for name in names],
        middle,
        xerr=[middle - rounds.min(axis=1), rounds.max(axis=1) - middle],
        height=0.68,
        color=[_color(name) for name in names],
        error_kw={"elinewidth": 0.8, "capsize": 2},
    )
    axes.bar_label(bars, fmt="{:,.0f}", padding=5)
    axes.set(title=title, xlim=(0, rounds.max() * 1.12))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")


def _color(name: str) -> str:
    if name == "bare":
        return LIMIT
    return OURS if CONTENDERS[name].is_ours else OTHERS


def _depth(axes, seconds: Seconds, plan: Plan) -> None:
    for name, color in (("fastapi", OTHERS), ("service", OURS)):
        _line(axes, seconds[name], color, CONTENDERS[name].title)
    _line(axes, seconds["link"], OURS, 'by rel="next"', "D", markersize=8, markerfacecolor="white")
    axes.set_xscale("symlog", linthresh=100, linscale=0.5)
    shown = [offset for offset in plan.offsets if offset * 3 <= plan.deep or offset == plan.deep]
    _log(axes, shown, "A page of the order book, nothing kept: ms", "listings before it")


def _size(axes, seconds: Seconds) -> None:
    _line(axes, seconds["first_page"], OURS, "order book, first page, nothing kept")
    _line(axes, seconds["nft"], NFT, "one NFT, another each time")
    axes.set_xscale("log")
    _log(axes, list(seconds["nft"]), "The same in larger tables: ms", "NFTs in the table")


def _line(axes, points: dict[int, float], color: str, label: str, form="o-", **options) -> None:
    values = [seconds * 1000 for seconds in points.values()]
    style = {"linewidth": 2, "markersize": 5} | options
    axes.plot(list(points), values, form, color=color, label=label, **style)


def _log(axes, ticks: list[int], title: str, of: str) -> None:
    axes.set(title=title, xlabel=of, xticks=ticks, yscale="log")
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, 0.1), max(high * 4, 10))  # room for the legend
    axes.yaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.legend()
    axes.grid()
