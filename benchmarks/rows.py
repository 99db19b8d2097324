"""The rows of the table: what is compared with what, the target of each, and whether it was met."""

from statistics import median
from typing import NamedTuple

from benchmarks.contenders import title
from benchmarks.plan import Plan


class Row(NamedTuple):
    """``value`` is what the target is about: a ratio, or a figure with a unit."""

    group: str
    name: str
    ours: str
    other: str
    value: float
    shown: str
    target: float | None = None
    at_least: bool = True

    @property
    def is_met(self) -> bool | None:
        if self.target is None:
            return None
        return self.value >= self.target if self.at_least else self.value <= self.target


def make(results: dict, plan: Plan) -> list[Row]:
    figures, depth, size = results["throughput"], results["depths"], results["sizes"]
    collection, deep = results["collection"], f"{plan.deep:,}"
    few, many = min(plan.sizes), plan.nfts

    def against(measure: str, ours: str, other: str, target: float | None, group: str = "") -> Row:
        mine, theirs = figures[measure][ours], figures[measure][other]
        # Of runs of the same round: what slows the machine for a while slows both.
        ratio = median(a / b for a, b in zip(mine, theirs, strict=True))
        name = f"{title(ours)} / {title(other)}"
        shown = [f"{median(values):,.0f}/s" for values in (mine, theirs)]
        return Row(group, name, *shown, ratio, f"{ratio:.2f}", target)

    def slower(group: str, name: str, ours: float, other: float, target: float | None) -> Row:
        ratio = ours / other
        return Row(group, name, _ms(ours), _ms(other), ratio, f"{ratio:.2f}x", target, False)

    quiet, written = figures["writes"]["quiet"], figures["writes"]["written"]
    kept = median(b / a for a, b in zip(quiet, written, strict=True))
    listings = median(figures["list"]["service"])
    first, peak = collection["first_byte_seconds"], collection["peak_mb"]
    book, alone = "Order book, first page", "The order book, nothing kept"
    return [
        against("orderbook", "service", "bare", 0.8, book),
        against("orderbook", "service", "fastapi", 1.6, book),
        against("orderbook", "granian", "fastify", 1.3, book),
        *(
            against("orderbook", ours, other, None, book)
            for ours, other in (
                ("service", "fastify"),
                ("service", "datasette"),
                ("granian", "bare_granian"),
            )
        ),
        Row(
            book,
            "with 20 writes a second / with none",
            f"{median(written):,.0f}/s",
            f"{median(quiet):,.0f}/s",
            kept,
            f"{kept:.2f}",
            0.7,
        ),
        *(
            against(measure, ours, other, target, group)
            for measure, group in (
                ("hot", "1,000 NFTs, again and again"),
                ("all", "Every time another NFT"),
            )
            for ours, other, target in (
                ("service", "bare", 0.75),
                ("service", "fastapi", 0.6 if measure == "all" else None),
                ("granian", "fastify", None),
            )
            if {ours, other} <= figures[measure].keys()
        ),
        slower(
            alone,
            f"page at offset {deep} / first page",
            depth["service"][plan.deep],
            depth["service"][0],
            3,
        ),
        slower(
            alone,
            f"page by rel=next at {deep} / first page",
            depth["link"],
            depth["service"][0],
            1.5,
        ),
        slower(
            alone,
            f"FastAPI, page at offset {deep} / this service",
            depth["fastapi"][plan.deep],
            depth["service"][plan.deep],
            None,
        )._replace(at_least=True),
        slower(
            alone, f"{many:,} NFTs / {few:,}", size["orderbook"][many], size["orderbook"][few], 1.5
        ),
        slower("One NFT", f"{many:,} NFTs / {few:,}", size["nft"][many], size["nft"][few], 1.5),
        Row(
            "10,000 listed of a collection",
            "time to first byte",
            _ms(first),
            "",
            first * 1000,
            _ms(first),
            50,
            False,
        ),
        Row(
            "10,000 listed of a collection",
            f"peak memory over idle, answering {collection['body_mb']:.1f} MB",
            f"{peak:.1f} MB",
            "",
            peak,
            f"{peak:.1f} MB",
            40,
            False,
        ),
        Row(
            "POST /v1/list/extwallet",
            "durably committed",
            f"{listings:,.0f}/s",
            "",
            listings,
            f"{listings:,.0f}/s",
            500,
        ),
    ]


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.2f} ms"
