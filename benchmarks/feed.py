"""What the feed of events costs a writer.

    python -m benchmarks.feed

On SQLite, listings one after the other, with and without their event. On PostgreSQL the same with sixteen
writers at once.
"""

import tempfile
import time
from multiprocessing import get_context
from pathlib import Path
from statistics import median

from benchmarks import data, postgresql
from benchmarks.writer import Writer
from tests.postgresql import new_database, new_server

NFTS, LISTINGS, WRITERS, SECONDS, ROUNDS = 10_000, 3_000, 16, 5, 3


def measure_alone(database: Path) -> None:
    writer = Writer(database, NFTS)
    spent: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(LISTINGS):
        for with_event, seconds in spent.items():
            seconds.append(writer.relist(with_event=with_event))
    ratio = median(spent[True]) / median(spent[False])
    print(f"SQLite, a listing's commit with its event / without: {ratio:.2f} (at most 1.25)")


def keep_listing(database: Path, url: str, number: int, start, listed) -> None:
    """One of the writers, in its process: it lists NFTs of its own, in turns with and without their event."""
    writer = Writer(database, NFTS, url, seed=number)
    writer.listed = writer.listed[number::WRITERS]
    for turn in range(2 * ROUNDS):
        count = 0
        start.wait()
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            writer.relist(with_event=turn % 2 == 0)
            count += 1
        listed.put((turn % 2 == 0, count))


def measure_together(database: Path, url: str) -> None:
    context, listed = get_context("spawn"), {True: 0, False: 0}
    start, results = context.Barrier(WRITERS), context.Queue()
    for number in range(WRITERS):
        arguments = (database, url, number, start, results)
        context.Process(target=keep_listing, args=arguments, daemon=True).start()
    for _ in range(WRITERS * 2 * ROUNDS):
        with_event, count = results.get(timeout=300)
        listed[with_event] += count
    ratio = listed[True] / listed[False]
    print(f"PostgreSQL, {WRITERS} writers, with events / without: {ratio:.2f} (at least 0.5)")


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        new_server() as server,
        new_database(server.url("postgres")) as url,
    ):
        database = data.copy(NFTS, Path(folder) / "market.db")
        postgresql.fill(database, url)
        measure_alone(database)
        measure_together(database, url)


if __name__ == "__main__":
    main()
