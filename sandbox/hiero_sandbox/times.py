"""The clock of this machine, and times as mirror nodes write them. Times are nanoseconds since 1970."""

import re
import time

SECOND = 1_000_000_000
DAY = 86_400 * SECOND
GENESIS = 1_735_689_600 * SECOND  # 2025-01-01: when the ledger begins


def now() -> int:
    return time.time_ns()


def from_consensus(timestamp: str) -> int:
    """Parse 1234567890.123456789. Raises ValueError for anything else, and beyond 63 bits."""
    if not re.fullmatch(r"[0-9]{1,11}\.[0-9]{9}", timestamp):
        raise ValueError(f"{timestamp!r} is not a consensus timestamp")
    nanoseconds = int(timestamp.replace(".", ""))
    if nanoseconds >= 2**63:
        raise ValueError(f"{timestamp} is beyond 63 bits of nanoseconds")
    return nanoseconds


def to_consensus(nanoseconds: int) -> str:
    """Write 1234567890.123456789."""
    seconds, nanos = divmod(nanoseconds, SECOND)
    return f"{seconds}.{nanos:09}"
