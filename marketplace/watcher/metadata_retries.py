"""When metadata is read again: after a failure, or because it may have been replaced."""

import re

from marketplace.hedera import times

MAX_ATTEMPTS = 20
# Metadata at such an address may be replaced there.
MAY_CHANGE = re.compile("https?://|hcs://6/", re.IGNORECASE)


def may_change(pointer: str | None) -> bool:
    """Tell whether the metadata that a pointer leads to may be replaced."""
    return bool(MAY_CHANGE.match(pointer or ""))


def find_pause(attempts: int) -> int:
    """The pause after N failed attempts, in nanoseconds. It grows to a day."""
    return times.growing_pause(attempts, times.MINUTE, times.DAY)
