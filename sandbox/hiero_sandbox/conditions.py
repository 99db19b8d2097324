"""The conditions that a test sets: a clock that is moved, a mirror node that lags, and the next fault."""

import threading
from dataclasses import dataclass, field

from flask import Flask, current_app

from marketplace.hedera import times

KEY = "hiero_sandbox.conditions"  # in app.extensions
NODE_BUSY, MIRROR_429, MIRROR_503 = FAULTS = ("NODE_BUSY", "MIRROR_429", "MIRROR_503")


@dataclass
class Conditions:
    """How the sandbox differs from one that runs undisturbed. Times are nanoseconds."""

    clock_moved: int = 0  # forward
    lag: int = 0  # how old what the mirror node shows is
    lags_since: int = 0
    fault: str | None = None
    requests_to_fail: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def set_fault(self, fault: str, requests: int) -> None:
        with self._lock:
            self.fault, self.requests_to_fail = fault, requests

    def set_lag(self, nanoseconds: int, now: int) -> None:
        """Let the mirror node show the ledger as it was that long ago; 0: as it is."""
        with self._lock:
            self.lag, self.lags_since = nanoseconds, now if nanoseconds else 0

    def take(self, fault: str) -> bool:
        """Whether this request meets that fault. Counts it."""
        with self._lock:
            is_met = self.fault == fault and self.requests_to_fail > 0
            self.requests_to_fail -= is_met
            return is_met


def init_app(app: Flask) -> None:
    app.extensions[KEY] = Conditions()


def conditions() -> Conditions:
    """The conditions of the current application."""
    found: Conditions = current_app.extensions[KEY]
    return found


def now() -> int:
    """The ledger's time, in nanoseconds."""
    return times.now() + conditions().clock_moved


def mirror_now() -> int:
    """The time up to which the mirror node knows everything. It stands still when a lag begins."""
    current = conditions()
    return max(now() - current.lag, current.lags_since)
