"""The time of single requests, one after another, while nothing that was answered before still holds."""

import re
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from statistics import median
from typing import Any

from benchmarks import contenders, data, load
from benchmarks.client import Client
from benchmarks.plan import Plan
from benchmarks.records import key
from benchmarks.service import create_access_tokens
from benchmarks.throughput import Bench
from benchmarks.writer import Writer

PAGE = 20
AT_ONCE = 5
Ask = Callable[[int], float]  # seconds of the request of a turn
Change = Callable[[], None]


def depths(bench: Bench) -> dict:
    """Seconds of an order book page by its offset: of this service, and of FastAPI with the same SQL.

    "link" is a page of this service at the greatest depth, reached by following rel="next".
    """
    plan, points = bench.plan, {"service": {}, "fastapi": {}}
    with ExitStack() as stack:
        writer = stack.enter_context(closing(Writer(bench.database, plan.nfts)))
        asks = {}
        for name in points:
            client = stack.enter_context(Client(bench.servers[name].port, bench.reader))
            for offset in plan.offsets:
                asks[name, offset] = page_at(client, offset), writer.relist
            if name == "service":
                asks["link"] = _Follower(client, plan.deep), writer.relist
        medians = in_turn(asks, plan)
    link = medians.pop("link")
    for (name, offset), seconds in medians.items():
        points[name][offset] = seconds
    return points | {"link": link}


def page_at(client: Client, offset: int) -> Ask:
    def ask(turn: int) -> float:
        # Never the very same deep page again.
        return seconds_of(
            client, f"/v1/orderbook?limit={PAGE}&offset={offset + turn if offset else 0}"
        )

    return ask


class _Follower:
    """Goes on from page to page, wherever the Link header leads, from a page at a given depth."""

    def __init__(self, client: Client, depth: int) -> None:
        self._client = client
        self._path = f"/v1/orderbook?limit={PAGE}&offset={depth - PAGE}"
        self(0)

    def __call__(self, turn: int) -> float:
        answer = self._client.get(self._path)
        match = re.search(r'<([^>]*)>;\s*rel="?next"?', answer.link or "")
        if answer.status != 200 or match is None:
            raise SystemExit(f"{self._path} leads to no next page")
        self._path = re.sub(r"^https?://[^/]+", "", match[1])
        return answer.seconds


def sizes(bench: Bench) -> dict:
    """Seconds of an NFT (another one each time) and of the order book's first page, by the table's rows."""
    plan, points, asks = bench.plan, {"nft": {}, "orderbook": {}}, {}
    with ExitStack() as stack:
        for nfts in plan.sizes:
            if nfts == plan.nfts:
                database, server, reader = bench.database, bench.servers["service"], bench.reader
            else:
                database = data.copy(nfts, bench.database.with_name(f"{nfts}.db"))
                reader, _ = create_access_tokens(database)
                server = stack.enter_context(contenders.start("service", database))
            writer = stack.enter_context(closing(Writer(database, nfts)))
            client = stack.enter_context(Client(server.port, reader))
            walk = load.everywhere(nfts, start=nfts // 2)
            asks["nft", nfts] = _nft_on(client, walk), writer.relist
            asks["orderbook", nfts] = page_at(client, 0), writer.relist
        for (what, nfts), seconds in in_turn(asks, plan).items():
            points[what][nfts] = seconds
    return points


def _nft_on(client: Client, walk: load.Walk) -> Ask:
    def ask(turn: int) -> float:
        token, serial_no = key(walk.number(turn))
        return seconds_of(client, f"/v1/nft/{token}/{serial_no}")

    return ask


def in_turn(asks: dict[Any, tuple[Ask, Change]], plan: Plan) -> dict[Any, float]:
    """Median seconds of each: a few requests of each in turn, as often as there is patience for.

    Before each request something is committed.
    """
    samples, until = {name: [] for name in asks}, time.monotonic() + plan.patience * len(asks)
    for turn in range(0, plan.samples, AT_ONCE):
        if turn and time.monotonic() > until:
            break
        for name, (ask, change) in asks.items():
            ask(turn)  # whom nobody asked for a while is slow at first
            for number in range(turn, turn + AT_ONCE):
                change()
                samples[name].append(ask(number))
    return {name: median(seconds) for name, seconds in samples.items()}


def seconds_of(client: Client, path: str) -> float:
    answer = client.get(path)
    if answer.status != 200:
        raise SystemExit(f"{path} is answered with {answer.status}")
    return answer.seconds
