"""The time of single requests, one after another, while nothing that was answered before still holds."""

import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from benchmarks import contenders, data, load
from benchmarks.client import Client
from benchmarks.plan import Plan
from benchmarks.records import key
from benchmarks.service import create_access_tokens
from benchmarks.throughput import Bench
from benchmarks.writer import Writer

PAGE = 20
MIN_SAMPLES = 5


def depths(bench: Bench) -> dict:
    """Seconds of an order book page by its offset: of this service, and of FastAPI with the same SQL.

    "link" is a page of this service at the greatest depth, reached by following rel="next".
    """
    plan, points = bench.plan, {"service": {}, "fastapi": {}}
    writer = Writer(bench.database, plan.nfts)
    with ExitStack() as stack:
        stack.callback(writer.close)
        clients = {
            name: stack.enter_context(Client(bench.servers[name].port, bench.reader))
            for name in points
        }
        for name, client in clients.items():
            for offset in plan.offsets:
                # Beside the very same offset, too: it may have been kept although its page has changed.
                ask = _page_at(client, offset)
                points[name][offset] = _median(ask, writer.relist, plan)
        follow = _Follower(clients["service"], plan.deep)
        return points | {"link": _median(follow, writer.relist, plan)}


def _page_at(client: Client, offset: int) -> Callable[[int], float]:
    def ask(turn: int) -> float:
        # Never the very same deep page again.
        return _seconds(
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
        match = re.search(r'<([^>]*)>;\s*rel="?next"?', answer.headers.get("link", ""))
        if answer.status != 200 or match is None:
            raise SystemExit(f"{self._path} leads to no next page")
        self._path = re.sub(r"^https?://[^/]+", "", match[1])
        return answer.seconds


def sizes(plan: Plan, folder: Path, measured: Bench) -> dict:
    """Seconds of an NFT (another one each time) and of the order book's first page, by the table's rows."""
    points = {"nft": {}, "orderbook": {}}
    with ExitStack() as stack:
        asked = {}
        for nfts in plan.sizes:
            if nfts == plan.nfts:
                database, server, reader = (
                    measured.database,
                    measured.servers["service"],
                    measured.reader,
                )
            else:
                database = data.copy(nfts, folder)
                reader, _ = create_access_tokens(database)
                server = stack.enter_context(contenders.start("service", database))
            writer = Writer(database, nfts)
            stack.callback(writer.close)
            asked[nfts] = stack.enter_context(Client(server.port, reader)), writer
        for nfts, (client, writer) in asked.items():
            walk = load.everywhere(nfts, start=nfts // 2)
            points["nft"][nfts] = _median(_nft_on(client, walk), writer.relist, plan)
            points["orderbook"][nfts] = _median(_page_at(client, 0), writer.relist, plan)
    return points


def _nft_on(client: Client, walk: load.Walk) -> Callable[[int], float]:
    def ask(turn: int) -> float:
        token, serial_no = key(walk.number(turn))
        return _seconds(client, f"/v1/nft/{token}/{serial_no}")

    return ask


def _median(ask: Callable[[int], float], change: Callable[[], None], plan: Plan) -> float:
    """The median of as many samples as there is patience for; before each one something is committed."""
    samples, until = [], time.monotonic() + plan.patience
    while len(samples) < plan.samples and (len(samples) < MIN_SAMPLES or time.monotonic() < until):
        change()
        samples.append(ask(len(samples)))
    return median(samples)


def _seconds(client: Client, path: str) -> float:
    answer = client.get(path)
    if answer.status != 200:
        raise SystemExit(f"{path} is answered with {answer.status}")
    return answer.seconds
