"""Counters and histograms over all processes of a machine: ``count("images", outcome="made")``.

A process counts in its own memory, which takes a microsecond, and adds that to the file of all processes a
second later. A process that is killed loses what it counted in its last second. While the file can not be
written, as on a full disk, the process keeps its counts and tries again.

prometheus_client's multiprocess mode was tried: it takes 5 times as long for a histogram and a counter, and a
full disk kills the process (SIGBUS), because its files are sparse.
"""

import atexit
import json
import logging
import os
import threading
import weakref
from bisect import bisect_left
from contextlib import suppress
from pathlib import Path

from flask import current_app, has_app_context

from marketplace import file_lock
from marketplace.counts.table import BUCKETS, METRICS
from marketplace.services import KEY, Services

__all__ = ["Counts", "Key", "Numbers", "count", "key_of"]

WRITTEN_AFTER_SECONDS = 1
LOCK_SECONDS = 1
SECONDS = len(BUCKETS) + 1  # where the sum of a histogram is, after its buckets and the one beyond

Key = tuple[str, ...]  # a metric's name, and the values of its labels
Numbers = dict[Key, list[float]]

_all: "weakref.WeakSet[Counts]" = weakref.WeakSet()


class Counts:
    """The counts of an application."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / "counts.json"
        self._has_warned = False
        self.forget()
        _all.add(self)

    def forget(self) -> None:
        """In the child of a fork: what the parent has counted is written by the parent."""
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._new: Numbers = {}
        self._is_due = False

    def add(self, key: Key, number: float = 1) -> None:
        with self._lock:
            self._find(key)[0] += number

    def observe(self, key: Key, seconds: float, counter: Key | None = None) -> None:
        """Count something in a histogram, and add one to a counter."""
        bucket = bisect_left(BUCKETS, seconds)
        with self._lock:
            numbers = self._find(key)
            numbers[bucket] += 1
            numbers[SECONDS] += seconds
            if counter:
                self._find(counter)[0] += 1

    def _find(self, key: Key) -> list[float]:
        """The new numbers of a key. Call it while the lock is held."""
        numbers = self._new.get(key)
        if numbers is None:
            numbers = self._new[key] = [0.0] * METRICS[key[0]].length
            self._write_soon()
        return numbers

    def _write_soon(self) -> None:
        if not self._is_due:
            timer = threading.Timer(WRITTEN_AFTER_SECONDS, self.write)
            timer.daemon = True
            with suppress(RuntimeError):  # no thread can be started: the process is about to end
                timer.start()
                self._is_due = True

    def write(self) -> None:
        """Add the new numbers to the file. Where it can not be written, they stay new."""
        with self._writing:
            with self._lock:
                new, self._new, self._is_due = self._new, {}, False
            try:
                if new:
                    self._add_to_file(new)
                self._has_warned = False
            except OSError as error:
                with self._lock:
                    _add(self._new, new)
                    self._write_soon()
                self._warn_once(error)

    def _warn_once(self, error: OSError) -> None:
        if not self._has_warned:
            self._has_warned = True
            logging.getLogger("marketplace").warning(
                "%s can not be written (%s): this process counts for itself", self._folder, error
            )

    def _add_to_file(self, new: Numbers) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            file_lock.lock(folder, LOCK_SECONDS)
            total = self._read_file()
            _add(total, new)
            written = self._file.with_suffix(".new")
            written.write_text(json.dumps([*total.items()]))
            written.replace(self._file)
        finally:
            os.close(folder)

    def read(self) -> Numbers:
        """Add up the counts of all processes. Those of others are a second old at most."""
        self.write()
        total = self._read_file()
        with self._lock:
            _add(total, self._new)
        return total

    def _read_file(self) -> Numbers:
        """The numbers of the file that this version counts; none where it is damaged."""
        try:
            numbers = {tuple(key): values for key, values in json.loads(self._file.read_bytes())}
            return {key: values for key, values in numbers.items() if _is_known(key, values)}
        except (OSError, ValueError, TypeError):
            return {}


def _is_known(key: Key, values: list[float]) -> bool:
    metric = METRICS.get(key[0])
    return metric is not None and (len(key) - 1, len(values)) == (len(metric.labels), metric.length)


def _add(total: Numbers, numbers: Numbers) -> None:
    for key, values in numbers.items():
        before = total.get(key, [0.0] * len(values))
        total[key] = [a + b for a, b in zip(before, values, strict=True)]


def _forget_all() -> None:
    for each in list(_all):
        each.forget()


def _write_all() -> None:
    for each in list(_all):
        each.write()


os.register_at_fork(after_in_child=_forget_all)
atexit.register(_write_all)


def key_of(name: str, **labels: str) -> Key:
    return (name, *(labels[label] for label in METRICS[name].labels))


def count(name: str, number: float = 1, **labels: str) -> None:
    """Count something that happened. Outside of an application nothing is counted."""
    if not has_app_context():
        return
    own = current_app.extensions.get(KEY)
    if isinstance(own, Services):
        own.counts.add(key_of(name, **labels), number)
