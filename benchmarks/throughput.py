"""Requests per second: contenders take turns, round after round."""

from contextlib import closing, nullcontext
from pathlib import Path
from typing import NamedTuple

from sqlite_utils.utils import sqlite3

from benchmarks import load
from benchmarks.plan import Plan
from benchmarks.server import Server
from benchmarks.writer import writing

ORDERBOOK = "/v1/orderbook"
Figures = dict[str, dict[str, list[float]]]


class Measure(NamedTuple):
    """One question, and who is asked it: those a target is about, and those besides for the picture."""

    what: str  # load.lua's name of it
    names: tuple[str, ...]
    others: tuple[str, ...] = ()


# By name: who is asked, and how many writes a second another process commits meanwhile.
WRITES = {
    "quiet": ("service", 0),
    "written_20": ("service", 20),
    "written_100": ("service", 100),
    "fastapi_20": ("fastapi", 20),
    "fastapi_100": ("fastapi", 100),
}
MEASURES = {
    "orderbook": Measure("page", ("service", "bare", "fastapi", "granian", "fastify", "host")),
    "hot": Measure("nft", ("service", "bare"), ("fastapi", "fastify", "granian")),
    "hot_writes": Measure("nft", tuple(WRITES)),
    "all": Measure("nft", ("service", "fastapi"), ("fastify", "granian")),
    "writes": Measure("page", ("quiet", "written_20")),
    "list": Measure("list", ("service",)),
}


class Bench(NamedTuple):
    """What every measurement needs to know of a run."""

    plan: Plan
    database: Path
    servers: dict[str, Server]
    reader: str
    seller: str


def measure(bench: Bench) -> Figures:
    """Requests per second of each run, by measure and contender."""
    figures: Figures = {}
    for turn in range(bench.plan.rounds):
        print(f"Round {turn + 1} of {bench.plan.rounds} ...", flush=True)
        for key, (what, names, others) in MEASURES.items():
            names = names + others if bench.plan.everyone else names
            for name in names[::-1] if turn % 2 else names:  # nobody is always the first
                counted = _run(bench, key, what, name, turn)
                figures.setdefault(key, {}).setdefault(name, []).append(counted["per_second"])
    return figures


def warm_up(bench: Bench) -> None:
    """What is compiled, opened or read on first use is so before it counts."""
    for name in bench.servers:
        load.run(bench.servers[name].port, bench.reader, ORDERBOOK, 1)
    # The first listing imports the Hedera SDK.
    load.run(bench.servers["service"].port, bench.seller, "/", 5, "list", load.hot(bench.plan.nfts))


def _run(bench: Bench, key: str, what: str, name: str, turn: int) -> dict:
    plan = bench.plan
    asked, per_second = WRITES.get(name, (name, 0))
    server = bench.servers[asked]
    writes = writing(bench.database, plan.nfts, per_second) if per_second else nullcontext()
    if key.startswith("hot"):
        walk = load.hot(plan.nfts)
        # Again and again is not for the first time.
        load.run(server.port, bench.reader, "/", 1, "nft", walk)
    else:  # each round begins elsewhere, so that it meets NFTs that no round before it met
        walk = load.everywhere(plan.nfts, start=turn * plan.nfts // plan.rounds)
    path = ORDERBOOK if what == "page" else "/"
    token = bench.seller if what == "list" else bench.reader
    before = _count_prepared(bench.database)
    with writes:
        counted = load.run(server.port, token, path, plan.seconds, what, walk)
    if what == "list" and _count_prepared(bench.database) - before < counted["requests"]:
        raise SystemExit("Listings were answered that were not committed")
    return counted


def _count_prepared(database: Path) -> int:
    with closing(sqlite3.connect(database)) as db:
        return db.execute("SELECT COUNT(*) FROM prepared_transaction").fetchone()[0]
