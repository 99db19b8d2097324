"""The clock, and the formats in which Hedera and this service write a time."""

import re
import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import TypeVar

_match_moment = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:T([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?Z)?"
).fullmatch
Pause = TypeVar("Pause", int, float)

SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

# A mirror node has several replicas, and each answer may come from a different one. By the ledger's clock, a
# replica lags at most this much. docs/watcher.md says what depends on this limit, and what happens beyond it.
ALLOWED_LAG = 90 * SECOND


def now() -> int:
    """The current time, in nanoseconds since 1970 (Unix time)."""
    return time.time_ns()


def to_iso(nanoseconds: int) -> str:
    """Write as 2026-11-20T12:34:56.789012345Z: exact, and in order of time when sorted as text."""
    seconds, nanos = divmod(nanoseconds, SECOND)
    return f"{_write_second(seconds)}.{nanos:09}Z"


@lru_cache
def _write_second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:19]


@lru_cache
def _read_second(text: str) -> int:
    return int(datetime.fromisoformat(f"{text}+00:00").timestamp())


def to_second(iso: str) -> str:
    """Shorten the text of to_iso() for people: 2026-11-20T12:34:56Z."""
    return f"{iso[:19]}Z"


def from_iso(text: str) -> float:
    """Parse the text of to_iso() into seconds since 1970, to the microsecond."""
    return datetime.fromisoformat(f"{text[:26]}+00:00").timestamp()


def to_nanoseconds(iso: str) -> int:
    """Parse the text of to_iso() into nanoseconds since 1970, exactly."""
    return _read_second(iso[:19]) * SECOND + int(iso[20:29])


def read_moment(text: str) -> str | None:
    """Read a day or a second, as clients and operators write it in UTC, into the form of to_iso().

    2026-11-20 is its first moment. Returns None for anything else.
    """
    match = _match_moment(text)
    if match is None:
        return None
    day, second, fraction = match.groups()
    moment = f"{day}T{second or '00:00:00'}"
    try:
        datetime.fromisoformat(moment)
    except ValueError:
        return None
    return f"{moment}.{(fraction or ''):0<9}Z"


def from_consensus(timestamp: str) -> int:
    """Parse a mirror node's 1234567890.123456789 into nanoseconds.

    Raises ValueError for anything else, and beyond 63 bits: mirror nodes answer 503 for later times.
    """
    if not re.fullmatch(r"[0-9]{1,11}\.[0-9]{9}", timestamp):
        raise ValueError(f"{timestamp!r} is not a consensus timestamp")
    nanoseconds = int(timestamp.replace(".", ""))
    if nanoseconds >= 2**63:
        raise ValueError(f"{timestamp} is beyond 63 bits of nanoseconds")
    return nanoseconds


def to_consensus(nanoseconds: int) -> str:
    """Write as mirror nodes do: 1234567890.123456789."""
    seconds, nanos = divmod(nanoseconds, SECOND)
    return f"{seconds}.{nanos:09}"


def iso_to_consensus(iso: str) -> str:
    """Rewrite the text of to_iso() as mirror nodes do, in a third of the time of parsing it."""
    return f"{_read_second(iso[:19])}{iso[19:29]}"


def growing_pause(attempts: int, first: Pause, longest: Pause) -> Pause:
    """How long to wait after failed attempts: twice as long after each, up to the longest."""
    grown: Pause = first * 2 ** min(attempts, 40)
    return min(grown, longest)
