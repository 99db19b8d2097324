"""Who may do next what only one can do at a time: whoever has taken the least time of it lately."""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

HALF_LIFE_SECONDS = 60  # after which what was taken counts half
MAX_KEYS = 1000  # remembered: of those that had a turn the longest ago, nothing is known


class Turns:
    """A lock that is passed on fairly: who asks for much keeps nobody waiting who asks for little."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._is_taken = False
        self._waiting: list[list[str]] = []  # each in a list of its own, to be told from its like
        self._taken: OrderedDict[str, tuple[float, float]] = OrderedDict()  # seconds, as of when

    @contextmanager
    def turn(self, key: str, patience: float) -> Iterator[bool]:
        """Wait for a turn for so many seconds. Yields whether it came."""
        is_ours = self._wait([key], patience)
        began = time.monotonic()
        try:
            yield is_ours
        finally:
            if is_ours:
                self._pass_on(key, began)

    def _wait(self, one: list[str], patience: float) -> bool:
        with self._changed:
            self._waiting.append(one)
            try:
                is_ours = self._changed.wait_for(lambda: self._is_next(one), patience)
                self._is_taken |= is_ours
                return is_ours
            finally:
                self._waiting = [other for other in self._waiting if other is not one]
                self._changed.notify_all()

    def _is_next(self, one: list[str]) -> bool:
        """The one that came first, among those whose key has taken the least."""
        return not self._is_taken and one is min(self._waiting, key=lambda w: self._count(w[0]))

    def _count(self, key: str) -> float:
        seconds, at = self._taken.get(key, (0.0, 0.0))
        return seconds * 0.5 ** ((time.monotonic() - at) / HALF_LIFE_SECONDS)

    def _pass_on(self, key: str, began: float) -> None:
        with self._changed:
            now = time.monotonic()
            self._taken[key] = (self._count(key) + now - began, now)
            self._taken.move_to_end(key)
            if len(self._taken) > MAX_KEYS:
                self._taken.popitem(last=False)
            self._is_taken = False
            self._changed.notify_all()
