"""The clock, and the ways Hedera and this service write a moment."""

import re
import time
from datetime import UTC, datetime
from functools import lru_cache

SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


def now() -> int:
    """The present, in nanoseconds since 1970 (Unix time)."""
    return time.time_ns()


def to_iso(nanoseconds: int) -> str:
    """2026-11-20T12:34:56.789012345Z: exact, and sorts as text as it does in time."""
    seconds, nanos = divmod(nanoseconds, SECOND)
    return f"{_write_second(seconds)}.{nanos:09}Z"


@lru_cache
def _write_second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:19]


@lru_cache
def _read_second(text: str) -> int:
    return int(datetime.fromisoformat(f"{text}+00:00").timestamp())


def to_second(iso: str) -> str:
    """2026-11-20T12:34:56Z, for people, from what to_iso() wrote."""
    return f"{iso[:19]}Z"


def just_before(iso: str) -> str:
    """A text that sorts just below what to_iso() wrote, and above all that is earlier."""
    return iso.removesuffix("Z")


def from_iso(text: str) -> float:
    """Seconds since 1970 from what to_iso() wrote, to the microsecond."""
    return datetime.fromisoformat(f"{text[:26]}+00:00").timestamp()


def to_nanoseconds(iso: str) -> int:
    """Exactly what to_iso() was given."""
    return _read_second(iso[:19]) * SECOND + int(iso[20:29])


def from_consensus(timestamp: str) -> int:
    """Nanoseconds from a mirror node's 1234567890.123456789; ValueError for anything else.

    They fit into 63 bits: mirror nodes answer 503 to what is later.
    """
    if not re.fullmatch(r"[0-9]{1,11}\.[0-9]{9}", timestamp):
        raise ValueError(f"{timestamp!r} is not a consensus timestamp")
    nanoseconds = int(timestamp.replace(".", ""))
    if nanoseconds >= 2**63:
        raise ValueError(f"{timestamp} is beyond 63 bits of nanoseconds")
    return nanoseconds


def to_consensus(nanoseconds: int) -> str:
    """1234567890.123456789, as mirror nodes write it."""
    seconds, nanos = divmod(nanoseconds, SECOND)
    return f"{seconds}.{nanos:09}"


def iso_to_consensus(iso: str) -> str:
    """The same from what to_iso() wrote, in a third of the time."""
    return f"{_read_second(iso[:19])}{iso[19:29]}"
