"""The conditions that a test sets: a moved clock, a mirror node and receipts that lag, and the next fault."""

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from flask import Flask, current_app
from hiero_sdk_python.hapi.services.response_code_pb2 import ResponseCodeEnum

from hiero_sandbox import times

KEY = "hiero_sandbox.conditions"  # in app.extensions
NODE_BUSY, NODE_UNAVAILABLE, MIRROR_429, MIRROR_503 = FAULTS = (
    "NODE_BUSY", "NODE_UNAVAILABLE", "MIRROR_429", "MIRROR_503",
)  # fmt: skip
# Codes with which a transaction may be made to fail at consensus.
CODES = set(ResponseCodeEnum.keys()) - {"OK", "SUCCESS", "UNKNOWN"}


@dataclass
class Conditions:
    """How the sandbox differs from one that runs undisturbed. Times are nanoseconds."""

    clock_moved: int = 0  # forward
    lag: int = 0  # how old what the mirror node shows is
    lags_since: int = 0
    receipt_delay: int = 0  # how long after consensus a receipt has its status
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
        return self._take({fault}) is not None

    def take_code(self) -> str | None:
        """The code with which this transaction fails, if a test has chosen one. Counts it."""
        return self._take(CODES)

    def _take(self, faults: Collection[str]) -> str | None:
        with self._lock:
            if self.fault not in faults or not self.requests_to_fail:
                return None
            self.requests_to_fail -= 1
            return self.fault


def init_app(app: Flask) -> None:
    app.extensions[KEY] = Conditions()


def conditions() -> Conditions:
    """The conditions of the current application."""
    found: Conditions = current_app.extensions[KEY]
    return found


def now() -> int:
    """The ledger's time, in nanoseconds."""
    clock: Callable[[], int] = current_app.config.get("CLOCK", times.now)
    return clock() + conditions().clock_moved


def mirror_now() -> int:
    """The time up to which the mirror node knows everything. It stands still when a lag begins."""
    current = conditions()
    return max(now() - current.lag, current.lags_since)
