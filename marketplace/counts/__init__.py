"""What the service counts, over all processes of a machine: ``count("images", outcome="made")``.

A count is a number in the process's own memory, which the kernel writes to its file: it costs less than a
microsecond, and is there when the process was killed. Where the file can not be had, as on a full disk, the
process counts for itself.
"""

import logging
import mmap
import os
import threading
import weakref
from bisect import bisect_left
from pathlib import Path

from flask import current_app, has_app_context

from marketplace.counts.folder import SIZE, Folder, Key, Numbers, Tally, add
from marketplace.counts.table import BUCKETS, METRICS
from marketplace.services import KEY, Services, services

SECONDS = len(BUCKETS) + 1  # where the sum of a histogram is, after its buckets and the one beyond

_all: "weakref.WeakSet[Counts]" = weakref.WeakSet()


class Counts:
    """The counts of an application. Each process has its own, begun when something is counted in it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folder = Folder(path)
        self._forget()
        _all.add(self)

    def _forget(self) -> None:
        """Let go of what another process counts: after a fork, a child begins with nothing."""
        self._lock = threading.Lock()
        self._beginning = threading.Lock()
        self._places: dict[Key, int] = {}
        self._tally: Tally | None = None

    def add(self, key: Key, number: float = 1) -> None:
        tally = self._tally or self._begin()
        with self._lock:
            place = self._places.get(key) or self._find(tally, key)
            tally.numbers[place] += number

    def put(self, key: Key, number: float) -> None:
        tally = self._tally or self._begin()
        with self._lock:
            tally.numbers[self._find(tally, key)] = number

    def observe(self, key: Key, seconds: float, counter: Key | None = None) -> None:
        """Count something in a histogram, and by the way in a counter."""
        tally = self._tally or self._begin()
        bucket = bisect_left(BUCKETS, seconds)
        numbers = tally.numbers
        with self._lock:
            place = self._places.get(key) or self._find(tally, key)
            numbers[place + bucket] += 1
            numbers[place + SECONDS] += seconds
            if counter:
                numbers[self._places.get(counter) or self._find(tally, counter)] += 1

    def _find(self, tally: Tally, key: Key) -> int:
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = tally.make_room(key)
        return place

    def _begin(self) -> Tally:
        problem = None
        with self._beginning:
            if self._tally is None:
                try:
                    self._tally = self._folder.begin()
                except OSError as error:
                    self._tally, problem = Tally(mmap.mmap(-1, SIZE), is_filed=False), error
            tally = self._tally
        if problem is not None:
            logging.getLogger("marketplace").warning(
                "%s can not be written (%s): this process counts for itself",
                self._path,
                problem,
            )
        return tally

    def read(self) -> tuple[Numbers, int]:
        """All that was counted, by the living and the dead, and how many processes count just now."""
        tally = self._tally
        try:
            total, living = self._folder.read()
        except OSError:
            return (tally.read(), 1) if tally else ({}, 0)
        if tally and not tally.is_filed:
            add(total, tally.read())
            living += 1
        return total, living


def key_of(name: str, **labels: str) -> Key:
    return (name, *(labels[label] for label in METRICS[name].labels))


def count(name: str, number: float = 1, **labels: str) -> None:
    """Count something that happened, or let a gauge rise or fall. Nobody counts outside of an application."""
    if has_app_context() and isinstance(current_app.extensions.get(KEY), Services):
        services().counts.add(key_of(name, **labels), number)


def _forget_all() -> None:
    for counts in list(_all):
        counts._forget()


os.register_at_fork(after_in_child=_forget_all)
