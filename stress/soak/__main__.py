"""Runs the service as an operator does, among all kinds of faults, for a given time.

Two workers of gunicorn and a watcher, on a testnet of our own and on SQLite or PostgreSQL. Sellers, buyers,
bidders, readers, strangers and broken clients ask; the mirror node and the gateway fail; processes are killed
and frozen; the database is locked, or its server stops; the disk is full for a moment. What is acknowledged
is recorded, and compared at the end with the database, the API and the ledger.

    python -m stress.soak --seconds 1800
    python -m stress.soak --seconds 1800 --postgresql
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import ExitStack, suppress
from pathlib import Path

from harness import mounts, shared_folder
from harness.network import reserved_port
from stress.soak.books import Books
from stress.soak.crowd import Crowd
from stress.soak.databases import database
from stress.soak.ending import Ending
from stress.soak.faults import Faults
from stress.soak.network import Ledger, Network
from stress.soak.stage import Samples, Stage

DISK = "400m"
GROWTH_SECONDS = 300  # a shorter run is not checked for growth
WARM_SECONDS = 3


def soak(seconds: float, *, postgresql: bool, seed: int, pause: float = 10) -> Books:
    """Run for ``seconds``, with about ``pause`` seconds between two faults; returns the books."""
    books = Books(seed)
    with ExitStack() as stack:
        enter = stack.enter_context
        folder = Path(tempfile.mkdtemp(prefix="soak-"))
        net = enter(Network(folder, enter(reserved_port()), seed))
        enter(shared_folder.held(folder))  # however this process ends, no other is left in it
        own = folder / "service"
        own.mkdir()
        if mounts.are_own():
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "soak", own], check=True)
            stack.callback(subprocess.run, ["umount", "--lazy", own])
        db = enter(database(own, postgresql=postgresql))
        stage = Stage(books, own, enter(reserved_port()), db, net)
        stack.callback(_kill, stage)
        stage.start()
        tokens = stage.create_tokens()
        stage.start_watcher()
        ledger = Ledger(net)
        ledger.give_keys()
        crowd = Crowd(books, ledger, stage.port, tokens, seed)
        stack.callback(crowd.over.set)
        samples = Samples(stage)
        samples.apart = min(samples.apart, seconds / 20)
        began = time.monotonic()
        crowd.start()
        samples.start()
        _suffer(stage, Faults(stage, crowd, seed), began + seconds, pause, seed)
        crowd.stop()
        samples.over.set()
        took = time.monotonic() - began
        ending = Ending(stage, ledger, tokens["reader"])
        ending.compare()
        ending.restart()
        for line in stage.complaints():
            books.find(line)
        if seconds >= GROWTH_SECONDS:
            for line in samples.growth():
                books.find(line)
        report(books, samples, took, db.name)
    if books.findings:
        print(f"\nThe service's log is in {stage.log}")
    else:
        stage.log.unlink()
    return books


def _suffer(stage: Stage, faults: Faults, end: float, pause: float, seed: int) -> None:
    dice, books = random.Random(f"pauses {seed}"), stage.books
    reported = time.monotonic()
    time.sleep(WARM_SECONDS)
    while time.monotonic() < end:
        faults.suffer()
        until = min(end, time.monotonic() + dice.uniform(0.5, 1.5) * pause)
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 1))
            stage.keep()
        if time.monotonic() - reported > 30:
            reported = time.monotonic()
            progress = f"{len(books.asked):,} requests, {len(books.faults)} faults"
            books.say(f"{progress}, {len(books.findings)} findings")


def _kill(stage: Stage) -> None:
    for process in stage.processes():
        with suppress(ProcessLookupError):
            os.kill(process.pid, 9)
    for process in (stage.master, stage.watcher):
        if process is not None:
            process.wait()


def report(books: Books, samples: Samples, seconds: float, engine: str) -> None:
    rate = len(books.asked) / seconds
    print(f"\n{engine}, {seconds:,.0f} s, {len(books.asked):,} requests, {rate:.0f} a second\n")
    by_kind = defaultdict(list)
    for asked in books.asked:
        by_kind[asked.kind].append(asked)
    print(
        f"{'':14} {'asked':>8} {'p50 ms':>7} {'p99 ms':>7} {'worst s':>8} {'calm p99':>8}  answers"
    )
    for kind, asked in sorted(by_kind.items()):
        took = sorted(it.seconds for it in asked)
        calm = sorted(it.seconds for it in asked if _is_calm(books, it)) or [0]
        statuses = sorted(Counter(it.status for it in asked).items())
        answers = ", ".join(f"{status}: {count:,}" for status, count in statuses)
        print(
            f"{kind:14} {len(asked):8,} {1000 * _at(took, 0.5):7,.0f} {1000 * _at(took, 0.99):7,.0f}"
            f" {took[-1]:8.1f} {1000 * _at(calm, 0.99):8,.0f}  {answers}"
        )
    print("\nFaults:", _counted(Counter(fault.name for fault in books.faults)))
    books.counts["adds acknowledged"] = len(books.added)
    print("Counts:", _counted(books.counts))
    print(f"\n{'of each role':34} {'second quarter':>16} {'last quarter':>16}")
    for (role, unit), before, after in samples.medians():
        print(f"{role + ', ' + unit:34} {before:16,.0f} {after:16,.0f}")
    print(f"\n{len(books.findings)} findings")
    for finding in books.findings[:100]:
        print(f"  {finding}")


def _is_calm(books: Books, asked) -> bool:
    ended = asked.began + asked.seconds
    return not any(it.began <= ended and asked.began <= it.ended + 5 for it in books.faults)


def _at(seconds: list[float], part: float) -> float:
    return seconds[int(len(seconds) * part)]


def _counted(counts: Counter) -> str:
    return ", ".join(f"{name} {count:,.0f}" for name, count in sorted(counts.items()))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m stress.soak")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    parser.add_argument("--pause", type=float, default=10, help="seconds between two faults, about")
    options = parser.parse_args()
    mounts.enter_namespace("stress.soak")  # for a disk of its own, which can be filled
    print(f"Seed {options.seed}", flush=True)
    books = soak(
        options.seconds,
        postgresql=options.postgresql,
        seed=options.seed,
        pause=options.pause,
    )
    return 1 if books.findings else 0


if __name__ == "__main__":
    sys.exit(main())
