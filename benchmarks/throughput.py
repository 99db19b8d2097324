"""Requests per second: what is compared, and the rounds in which contenders take turns."""

from collections.abc import Iterable
from contextlib import closing, nullcontext
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from sqlite_utils.utils import sqlite3

from benchmarks import load, records
from benchmarks.bench import FRONT_PAGE, ORDERBOOK, Bench
from benchmarks.contenders import CONTENDERS

Rates = dict[str, dict[str, list[float]]]  # by measure and contender, one of each round

DIFFERENT = 100_000  # NFTs for a run of wrk, more than it can ask for
MEASURES = {
    "orderbook": "Order book, first page",
    "hot": "The same 1,000 NFTs",
    "all": "Always another NFT",
    "page": "The shop's front page",
    "list": "POST /v1/list/extwallet",
}


class Comparison(NamedTuple):
    """One contender beside another. A quick run leaves out comparisons without a target.

    "service+20" is measured while another process commits 20 writes a second.
    """

    measure: str
    ours: str
    other: str | None
    target: float | None = None


COMPARISONS = (
    Comparison("orderbook", "service", "bare", 0.75),
    Comparison("orderbook", "service", "fastapi", 1.6),
    Comparison("orderbook", "granian", "fastify", 1.3),
    Comparison("orderbook", "service", "fastify"),
    Comparison("orderbook", "host", "fastapi"),
    Comparison("orderbook", "service+20", "service", 0.7),
    Comparison("orderbook", "postgresql", "service", 0.85),
    Comparison("orderbook", "postgresql_host", "host"),
    Comparison("hot", "service", "bare", 0.75),
    Comparison("hot", "service", "fastapi"),
    Comparison("hot", "granian", "fastify"),
    Comparison("hot", "service+20", "service", 0.75),
    Comparison("hot", "service+20", "fastapi+20", 0.95),
    Comparison("hot", "service+100", "service", 0.7),
    Comparison("hot", "service+100", "fastapi+100", 0.95),
    Comparison("all", "service", "fastapi", 0.45),
    Comparison("all", "service", "fastify"),
    Comparison("all", "granian", "fastapi"),
    Comparison("all", "granian", "fastify"),
    Comparison("page", "service", "bare", 0.6),
    Comparison("list", "service", None, 500),
)


def measure(bench: Bench) -> Rates:
    rates: Rates = {}
    for turn in range(bench.plan.rounds):
        print(f"Round {turn + 1} of {bench.plan.rounds} ...", flush=True)
        for measure in MEASURES:
            names = _asked(bench, measure)
            for name in names[::-1] if turn % 2 else names:  # none is always the first
                rate = _run(bench, measure, name, turn)
                rates.setdefault(measure, {}).setdefault(name, []).append(rate)
    return rates


def warm_up(bench: Bench) -> None:
    """Make first requests, so that all is compiled, opened and read before the measurement."""
    for server in bench.servers.values():
        load.run(server.port, bench.reader, [ORDERBOOK], 1)
    # The first listing imports the Hedera SDK.
    listings = map(records.listing, records.hot(bench.plan.nfts))
    load.run(bench.servers["service"].port, bench.seller, listings, 5)


def _asked(bench: Bench, measure: str) -> list[str]:
    """The names of the contenders that are compared, without those that do not run."""
    found = [
        name
        for each in COMPARISONS
        if each.measure == measure and (each.target or bench.plan.everyone)
        for name in (each.ours, each.other)
        if name and _split(name)[0] in bench.servers
    ]
    return list(dict.fromkeys(found))


def title(name: str) -> str:
    server, writes = _split(name)
    of_server = CONTENDERS[server].title
    return f"{of_server}, {writes} writes a second" if writes else of_server


def _split(name: str) -> tuple[str, int]:
    """The server that is asked, and how many writes a second are committed meanwhile."""
    server, _, writes = name.partition("+")
    return server, int(writes or 0)


def _run(bench: Bench, measure: str, name: str, turn: int) -> float:
    asked, writes = _split(name)
    port, requests = bench.servers[asked].port, [*_requests(measure, bench, turn)]
    if measure in ("hot", "page"):  # the first request for each of them does not count
        load.run(port, bench.reader, requests, 1)
    token = bench.seller if measure == "list" else bench.reader
    before = _count_prepared(bench.database)
    with bench.writer.writing(writes) if writes else nullcontext():
        counted = load.run(port, token, requests, bench.plan.seconds)
    if measure == "list" and _count_prepared(bench.database) - before < counted["requests"]:
        raise SystemExit("The service has answered listings that it did not commit")
    return counted["per_second"]


def _requests(measure: str, bench: Bench, turn: int) -> Iterable[str]:
    plan = bench.plan
    if measure == "orderbook":
        return [ORDERBOOK]
    if measure == "page":
        return [FRONT_PAGE]
    if measure == "hot":
        return map(records.nft_path, records.hot(plan.nfts))
    # Each round begins elsewhere, to ask for NFTs that no round before has asked for.
    numbers = records.everywhere(plan.nfts, start=turn * plan.nfts // plan.rounds)
    make = records.listing if measure == "list" else records.nft_path
    return map(make, islice(numbers, DIFFERENT))


def _count_prepared(database: Path) -> int:
    with closing(sqlite3.connect(database)) as db:
        return db.execute("SELECT COUNT(*) FROM prepared_transaction").fetchone()[0]
