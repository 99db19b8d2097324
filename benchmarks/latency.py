"""The time of single requests, one after another, each after a commit that makes cached answers stale."""

import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from statistics import median
from typing import Any

from benchmarks import contenders, records, service
from benchmarks.bench import ORDERBOOK, Bench
from benchmarks.client import Client
from benchmarks.plan import Plan
from benchmarks.writer import Writer

PAGE = 20
AT_ONCE = 5
Seconds = dict[str, dict[Any, float]]  # medians, by curve and point
Ask = Callable[[int], float]  # makes the request of a turn; returns its seconds
# By curve and point, each with a function that commits something before it.
Asks = dict[tuple[str, Any], tuple[Ask, Callable]]


def measure(bench: Bench) -> Seconds:
    """Pages of the order book by their offset: of this service, and of FastAPI with the same SQL.

    "link" is a page of this service at the greatest depth, reached by following rel="next". "nft" (another
    one each time) and "first_page" are by the table's number of rows.
    """
    plan, relist, asks = bench.plan, bench.writer.relist, {}
    for name in ("service", "fastapi"):
        client = bench.client(name)
        asks |= {(name, offset): (page_at(client, offset), relist) for offset in plan.offsets}
    asks["link", plan.deep] = _page_by_link(bench.client("service"), plan.deep), relist
    if "postgresql" in bench.servers:
        far_page = page_at(bench.client("postgresql"), plan.deep)
        asks["postgresql", plan.deep] = far_page, relist
    with ExitStack() as stack:
        for nfts, database in bench.databases.items():
            server, reader = bench.servers["service"], bench.reader
            if database != bench.database:
                reader, _ = service.create_access_tokens(database)
                server = stack.enter_context(contenders.start("service", database))
            client, relist = Client("service", server.port, reader), Writer(database, nfts).relist
            asks["nft", nfts] = _nft_on(client, nfts), relist
            asks["first_page", nfts] = page_at(client, 0), relist
        return in_turn(asks, plan)


def page_at(client: Client, offset: int) -> Ask:
    def ask(turn: int) -> float:
        # Another deep page each time.
        path = f"{ORDERBOOK}?limit={PAGE}&offset={offset + turn if offset else 0}"
        return client.get(path).seconds

    return ask


def _nft_on(client: Client, nfts: int) -> Ask:
    numbers = records.everywhere(nfts, start=nfts // 2)
    return lambda turn: client.get(records.nft_path(next(numbers))).seconds


def _page_by_link(client: Client, depth: int) -> Ask:
    """Follow the Link header from page to page, from a page at a given depth."""
    path = f"{ORDERBOOK}?limit={PAGE}&offset={depth - PAGE}"

    def ask(turn: int) -> float:
        nonlocal path
        answer = client.get(path)
        match = re.search(r'<([^>]*)>;\s*rel="?next"?', answer.link or "")
        if match is None:
            raise SystemExit(f"{path} leads to no next page")
        path = re.sub(r"^https?://[^/]+", "", match[1])
        return answer.seconds

    ask(0)
    return ask


def in_turn(asks: Asks, plan: Plan) -> Seconds:
    """Median seconds of each: a few requests of each in turn, until there are enough or the time is over.

    Something is committed before each request.
    """
    samples, until = {key: [] for key in asks}, time.monotonic() + plan.patience * len(asks)
    for turn in range(0, plan.samples, AT_ONCE):
        if turn and time.monotonic() > until:
            break
        for key, (ask, change) in asks.items():
            ask(turn - 1)  # a server that was idle is slow at first
            for number in range(turn, turn + AT_ONCE):
                change()
                samples[key].append(ask(number))
    medians: Seconds = {}
    for (curve, point), seconds in samples.items():
        medians.setdefault(curve, {})[point] = median(seconds)
    return medians
