"""What a collection with 10,000 listed costs: the time to the first byte, and the worker's memory."""

import json
from statistics import median

from benchmarks import contenders, server
from benchmarks.client import Client
from benchmarks.records import COLLECTION, key
from benchmarks.throughput import Bench
from benchmarks.writer import Writer

REPEATS = 5
MB = 1_000_000


def measure(bench: Bench) -> dict:
    """Medians over fresh workers: what one keeps of the first answer is no peak of the second."""
    path = f"/v1/nftslisted/{key(0)[0]}"
    first, whole, peaks, size = [], [], [], 0
    for _ in range(bench.plan.rounds):
        with (
            contenders.start("service", bench.database) as fresh,
            Client(fresh.port, bench.reader) as client,
        ):
            for _ in range(50):
                client.get("/v1/orderbook")
            idle = server.resident(fresh.worker)
            server.forget_peak(fresh.worker)
            answer = client.get(path)
            peaks.append(server.resident(fresh.worker, "VmHWM") - idle)
            if len(json.loads(answer.body)) != COLLECTION:
                raise SystemExit(f"{path} does not answer with {COLLECTION:,} NFTs")
            size = len(answer.body)
            _time(bench, client, path, first, whole)
    return {
        "first_byte_seconds": median(first),
        "whole_seconds": median(whole),
        "peak_mb": median(peaks) / MB,
        "body_mb": size / MB,
    }


def _time(bench: Bench, client: Client, path: str, first: list, whole: list) -> None:
    writer = Writer(bench.database, bench.plan.nfts)
    for _ in range(REPEATS):
        writer.relist(0)  # nothing that was kept holds
        answer = client.get(path)
        first.append(answer.first)
        whole.append(answer.seconds)
    writer.close()
