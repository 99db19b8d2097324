"""Counters and histograms over all processes of a machine: ``count("images", outcome="made")``.

A process counts in its own memory, which takes a microsecond, and adds its counts to the file of all
processes a second later. A killed process loses the counts of its last second. While the file can not be
written, for example on a full disk, the process keeps its counts and tries again.

prometheus_client's multiprocess mode was tried: it takes 5 times as long for a histogram and a counter, and a
full disk kills the process (SIGBUS), because its files are sparse.
"""

import atexit
import json
import os
import threading
import weakref
from bisect import bisect_left
from collections import defaultdict
from contextlib import suppress
from typing import Any

from flask import current_app, has_app_context

from marketplace.counts.table import BUCKETS, METRICS
from marketplace.machine_file import ERRORS, MachineFile
from marketplace.services import KEY, Services

__all__ = ["Counts", "MetricKey", "Numbers", "count", "key_of"]

WRITTEN_AFTER_SECONDS = 1
SECONDS = len(BUCKETS) + 1  # the place of a histogram's sum, after all buckets and +Inf

_ADD = """
    INSERT INTO metric (key, length, place, number)
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(:rows) WHERE TRUE
    ON CONFLICT (key, length, place) DO UPDATE SET number = number + excluded.number
"""

MetricKey = tuple[str, ...]  # a metric's name, and the values of its labels
Numbers = dict[MetricKey, list[float]]


class Counts:
    """The counts of an application."""

    def __init__(self, folder: str) -> None:
        self._file = MachineFile(folder, "each process counts for itself")
        self.forget()
        _all.add(self)

    def forget(self) -> None:
        """Start at zero. A forked child calls this: the parent writes the parent's own counts."""
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._new = _make_numbers()
        self._is_due = False

    def add(self, key: MetricKey, number: float = 1, place: int = 0) -> None:
        with self._lock:
            self._new[key][place] += number
            self._write_soon()

    def count(self, name: str, number: float = 1, **labels: str) -> None:
        """Add to a counter: ``count("images", outcome="made")``."""
        self.add(key_of(name, **labels), number)

    def observe(self, key: MetricKey, seconds: float, counter: MetricKey | None = None) -> None:
        """Count something in a histogram, and add one to a counter."""
        bucket = bisect_left(BUCKETS, seconds)
        with self._lock:
            numbers = self._new[key]
            numbers[bucket] += 1
            numbers[SECONDS] += seconds
            if counter:
                self._new[counter][0] += 1
            self._write_soon()

    def _write_soon(self) -> None:
        if not self._is_due:
            timer = threading.Timer(WRITTEN_AFTER_SECONDS, self.write)
            timer.daemon = True
            with suppress(RuntimeError):  # no thread can be started: the process is about to end
                timer.start()
                self._is_due = True

    def write(self) -> None:
        """Add the new numbers to the file. If it can not be written, they stay new."""
        with self._writing:
            with self._lock:
                new, self._new, self._is_due = self._new, _make_numbers(), False
            try:
                if new:
                    self._file.execute(_ADD, rows=json.dumps(_rows(new)))
            except ERRORS:  # logged already
                for key, numbers in new.items():
                    for place, number in enumerate(numbers):
                        self.add(key, number, place)

    def read(self) -> Numbers:
        """Add up the counts of all processes. Those of other processes are a second old at most.

        Leaves out metrics that this version does not have.
        """
        self.write()
        rows = []
        with suppress(*ERRORS):
            rows = self._file.execute("SELECT key, length, place, number FROM metric")
        with self._lock:
            rows += _rows(self._new)
        numbers: Numbers = {}
        for key, length, place, number in rows:
            name, *labels = json.loads(key)
            metric = METRICS.get(name)
            if metric and (len(labels), length) == (len(metric.labels), metric.length):
                numbers.setdefault((name, *labels), [0.0] * length)[place] += number
        return numbers


_all: weakref.WeakSet[Counts] = weakref.WeakSet()


def _forget_all() -> None:
    for counts in list(_all):
        counts.forget()


def _write_all() -> None:
    for counts in list(_all):
        counts.write()


os.register_at_fork(after_in_child=_forget_all)
atexit.register(_write_all)


def _make_numbers() -> Numbers:
    """Make a list of numbers for each key, long enough for a histogram. A counter uses only the first."""
    return defaultdict(lambda: [0.0] * (SECONDS + 1))


def _rows(numbers: Numbers) -> list[Any]:
    """The rows for the file: key, length, place and number."""
    return [
        (json.dumps(key), METRICS[key[0]].length, place, number)
        for key, values in numbers.items()
        for place, number in enumerate(values)
        if number
    ]


def key_of(name: str, **labels: str) -> MetricKey:
    return (name, *(labels[label] for label in METRICS[name].labels))


def count(name: str, number: float = 1, **labels: str) -> None:
    """Add to a counter of the current application. Without one, do nothing."""
    if not has_app_context():
        return
    own = current_app.extensions.get(KEY)
    if isinstance(own, Services):
        own.counts.count(name, number, **labels)
