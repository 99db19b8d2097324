"""What grows with what: asks the model, whose constants were measured.

python -m benchmarks.scale            for so many sellers, listings, sales and readers: see --help
python -m benchmarks.scale measured   what was measured, and beside it what the model says of it
python -m benchmarks.scale measure    measure it anew, on this machine: a quarter of an hour
"""

import argparse
import json
import sys
from pathlib import Path

from benchmarks.model import (
    NEVER,
    Costs,
    World,
    answer,
    costs_of,
    most_sellers,
    requests_of_a_round,
)

MEASURED = Path(__file__).with_name("scale.json")
GB = 1e9
OPTIONS = {
    "sellers": "accounts that have something listed",
    "listings": "NFTs that are listed (default: ten of each seller)",
    "sales_a_day": "NFTs that are sold, and as many that are listed anew",
    "readers": "requests a second of all readers",
    "addresses": "different ones that they ask for, all alike",
    "rate": "requests a second of each watcher to the mirror node: MIRROR_NODE_RATE",
    "watchers": "that share the sellers out, each at that rate",
    "latency": "seconds until the mirror node has answered",
    "every": "seconds between two rounds",
    "workers": "processes that serve",
}


def report(world: World, costs: Costs) -> str:
    """The answer, as a table."""
    found = answer(world, costs)
    rows = [
        ("Watchers", None, ""),
        ("requests to the mirror node a round", f"{found.requests:,}", ""),
        ("requests a second, at most", f"{found.capacity:,.0f}", f"bound by {found.bound}"),
        ("a round", _seconds(found.round), ""),
        ("order book's age at its worst", _seconds(found.age), "two rounds, and the pause"),
        ("sellers, for a round of 120 s", f"{most_sellers(world, costs, 120, 'round'):,}", ""),
        ("sellers, for an age of 120 s", f"{most_sellers(world, costs, 120, 'age'):,}", ""),
        ("The database, or its primary", None, ""),
        ("stamps a second", f"{found.stamps:,.0f}", "one for each request"),
        ("pages a second", f"{found.pages:,.0f}", "what no kept answer had"),
        ("commits a second", f"{found.commits:,.2f}", ""),
        ("What is paid for", None, ""),
        ("cores, watching", f"{found.watching:.2f}", ""),
        ("cores, answering", f"{found.serving:.2f}", "without the server's own"),
        ("  of that, the database's", f"{found.primary:.2f}", ""),
        ("GB of the database", f"{found.database / GB:,.2f}", "without images"),
        ("GB a day to readers", f"{found.read / GB:,.1f}", "compressed"),
        ("GB a day from the mirror node", f"{found.asked / GB:,.1f}", "not compressed"),
        ("requests a day to the mirror node", f"{found.requests_a_day:,.0f}", ""),
    ]
    return "\n".join(_line(*row) for row in rows)


def _line(name: str, value: str | None, note: str) -> str:
    return name if value is None else f"  {name:<36}{value:>12}  {note}".rstrip()


def _seconds(seconds: float) -> str:
    return "never ends" if seconds == NEVER else f"{seconds:,.1f} s"


def load() -> dict:
    return json.loads(MEASURED.read_text())


def show_measured(measured: dict) -> str:
    """What was measured, each beside what the model says, which rests on the first two rounds alone."""
    costs = costs_of(measured)
    rounds = [("sellers", "listings", "requests", "model", "cpu s", "model", "peak MB")]
    for row in measured["rounds"]:
        sellers, listings, requests = row["sellers"], row["listings"], row["requests"]
        said = requests * costs.request + listings * costs.listing
        rounds.append(
            (
                *(f"{number:,}" for number in (sellers, listings, requests)),
                f"{requests_of_a_round(sellers, listings):,}",
                *(f"{figure:,.1f}" for figure in (row["cpu_seconds"], said)),
                f"{row['peak_mb']:,.0f}",
            )
        )
    paced = [("sellers", "rate", "latency", "watchers", "round s", "model")]
    for row in measured["paced"]:
        world = World(**row["world"])
        given = world.sellers, world.rate, world.latency, world.watchers
        said = answer(world, costs).round
        paced.append((*(f"{it:,}" for it in given), f"{row['seconds']:.1f}", f"{said:.1f}"))
    names = ("stamp", "page", "kept", "made", "commit")
    reads = [("NFTs", "bytes each", *(f"{name} us" for name in names))]
    for row in measured["reads"]:
        each = row["database_bytes"] / row["nfts"]
        spent = (row[f"{name}_seconds"] * 1e6 for name in names)
        reads.append((f"{row['nfts']:,}", f"{each:,.0f}", *(f"{micros:,.0f}" for micros in spent)))
    about = "{processor}, {cores} cores, load {load}, {date}".format(**measured["about"])
    return "\n\n".join([about, *map(_table, (rounds, paced, reads))])


def _table(rows: list[tuple[str, ...]]) -> str:
    return "\n".join("".join(f"{cell:>11}" for cell in row) for row in rows)


def read(words: tuple[str, ...]) -> tuple[str, World]:
    """What is to be done, and for how much of everything."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale", description="What grows with what: docs/scaling.md."
    )
    choices = ("answer", "measured", "measure")
    parser.add_argument("what", nargs="?", choices=choices, default=choices[0])
    for name, text in OPTIONS.items():
        default = World._field_defaults[name]
        shown = text if name == "listings" else f"{text} (default: {default:,})"
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), help=shown)
    given = {
        name: value for name, value in vars(parser.parse_args(words)).items() if value is not None
    }
    what, world = given.pop("what"), World(**given)
    if "listings" not in given:
        world = world._replace(listings=10 * world.sellers)
    if min(world.sellers, world.watchers, world.addresses, world.workers) < 1 or min(world) < 0:
        parser.error("nothing can be said of so few")
    if world.listings < world.sellers:
        parser.error("each seller has at least one listing")
    return what, world


def main(*words: str) -> None:
    what, world = read(words)
    if what == "measure":
        from benchmarks import growth  # which makes the service, as a model need not

        MEASURED.write_text(json.dumps(growth.measure(), indent=1) + "\n")
    measured = load()
    print(report(world, costs_of(measured)) if what == "answer" else show_measured(measured))


if __name__ == "__main__":
    main(*sys.argv[1:])
