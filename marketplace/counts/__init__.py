"""Counters, gauges and histograms over all processes of a machine: ``count("images", outcome="made")``.

A count is a number in memory that is mapped from a file of the process. To count takes about a microsecond,
and the number outlives a process that is killed. Where the file can not be made, as on a full disk, the
process counts in its own memory.

prometheus_client's multiprocess mode was tried: it takes 5 times as long for a histogram and a counter, and a
full disk kills the process (SIGBUS), because its files are sparse.
"""

import logging
import mmap
import os
import threading
from bisect import bisect_left
from pathlib import Path

from flask import current_app, has_app_context

from marketplace.counts.folder import SIZE, Folder, Key, Numbers, Tally, add
from marketplace.counts.table import BUCKETS, METRICS
from marketplace.services import KEY, Services

__all__ = ["Counts", "Key", "Numbers", "count", "key_of"]

SECONDS = len(BUCKETS) + 1  # where the sum of a histogram is, after its buckets and the one beyond


class Counts:
    """The counts of an application. Each process has its own, made when it first counts something."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folder = Folder(path)
        # By process id: after a fork, the child uses neither a lock nor the numbers of its parent.
        self._locks: dict[int, threading.Lock] = {}
        self._tallies: dict[int, Tally] = {}

    def add(self, key: Key, number: float = 1) -> None:
        tally = self._tallies.get(os.getpid()) or self._begin()
        with tally.lock:
            tally.numbers[tally.find(key)] += number

    def put(self, key: Key, number: float) -> None:
        tally = self._tallies.get(os.getpid()) or self._begin()
        with tally.lock:
            tally.numbers[tally.find(key)] = number

    def observe(self, key: Key, seconds: float, counter: Key | None = None) -> None:
        """Count something in a histogram, and add one to a counter."""
        tally = self._tallies.get(os.getpid()) or self._begin()
        bucket, numbers = bisect_left(BUCKETS, seconds), tally.numbers
        with tally.lock:
            place = tally.find(key)
            numbers[place + bucket] += 1
            numbers[place + SECONDS] += seconds
            if counter:
                numbers[tally.find(counter)] += 1

    def _begin(self) -> Tally:
        pid, problem = os.getpid(), None
        with self._locks.setdefault(pid, threading.Lock()):
            if pid not in self._tallies:
                try:
                    tally = self._folder.begin()
                except OSError as error:
                    tally, problem = Tally(mmap.mmap(-1, SIZE), is_filed=False), error
                self._tallies = {pid: tally}  # without the parent's, whose file is released
        if problem is not None:
            logging.getLogger("marketplace").warning(
                "%s can not be written (%s): this process counts for itself", self._path, problem
            )
        return self._tallies[pid]

    def read(self) -> tuple[Numbers, int]:
        """Add up the counts of all processes, living or dead; also returns how many are living."""
        tally = self._tallies.get(os.getpid())
        total, living = self._folder.read()
        if tally and not tally.is_filed:
            add(total, tally.read())
            living += 1
        return total, living


def key_of(name: str, **labels: str) -> Key:
    return (name, *(labels[label] for label in METRICS[name].labels))


def count(name: str, number: float = 1, **labels: str) -> None:
    """Count something that happened, or change a gauge. Outside of an application nothing is counted."""
    if not has_app_context():
        return
    own = current_app.extensions.get(KEY)
    if isinstance(own, Services):
        own.counts.add(key_of(name, **labels), number)
