"""How fresh the stored NFTs and the last backup are, and whether a watcher is running."""

from marketplace.hedera import times
from marketplace.market import listing_rule
from marketplace.services import read
from marketplace.store import following, properties, rechecks
from marketplace.store.rechecks import NEVER_COMPARED

# After this long without a heartbeat, no watcher is running: a watcher writes one every ten seconds.
SILENT = times.MINUTE
# A date further in the future was written with a wrong clock, and is ignored.
AHEAD = times.MINUTE


def find_last_sync() -> str | None:
    """The date up to which the stored NFTs match the ledger. None before the first sweep has ended.

    An unchecked NFT holds this date back, however often its check has failed.
    """
    followed, db = find_followed(), read()
    first = rechecks.get_first_change(db)
    if followed is None or first is None:
        return followed
    since = times.to_nanoseconds(first)
    return min(followed, times.to_iso(since - 1)) if since != NEVER_COMPARED else None


def find_followed() -> str | None:
    """The date up to which the ledger was followed or compared. None before the first sweep has ended."""
    state, swept = following.get_follow(read()), _find_text(properties.LAST_SWEEP)
    if not swept:  # until the first sweep ends, changes from before following began may be missing
        return None
    followed = _past(state["fresh_at"]) if state else ""
    if swept := _past(swept):  # the sweep compared up to its start, less the replicas' allowed lag
        swept = times.to_iso(times.to_nanoseconds(swept) - times.ALLOWED_LAG)
    return max(followed, swept) or None


def find_block_age() -> int | None:
    """The age in seconds of the newest block that a watcher has seen. None before the first block."""
    ended = _find_text(properties.NEWEST_BLOCK)
    if ended is None:
        return None
    ended_at = times.to_nanoseconds(ended)
    return max(0, times.now() - ended_at) // times.SECOND


def find_reset() -> str | None:
    """Why the watcher believes that the network was reset. None: it does not."""
    return _find_text(properties.NETWORK_RESET)


def _find_text(name: str) -> str | None:
    stored = properties.get_property(read(), name)
    return stored.decode() if stored else None


def find_last_sweep() -> str:
    """The start of the last sweep that ended; empty if none has ended since following began."""
    return _past(_find_text(properties.LAST_SWEEP) or "")


def find_beginning() -> str | None:
    """The moment from which a watcher follows. None if none has begun."""
    state = following.get_follow(read())
    return state["began_at"] if state else None


def find_last_backup() -> str | None:
    """The start of the last ``flask backup`` that succeeded. None if none has."""
    return _find_text(properties.LAST_BACKUP)


def is_judged(name: str = properties.RULE) -> bool:
    """Tell whether the current rule has judged every stored NFT: a sweep that began with it has ended."""
    return properties.get_property(read(), name) == write_rule()


def write_rule() -> bytes:
    """The current rule's version, in its stored form."""
    return str(listing_rule.VERSION).encode()


def is_watched() -> bool:
    """Tell whether a watcher is running, on any machine."""
    return find_heartbeat() > times.to_iso(times.now() - SILENT)


def find_heartbeat() -> str:
    """When a watcher last followed the ledger, or tried to; empty if none ever did."""
    state = following.get_follow(read())
    followed = _past(state["heartbeat_at"]) if state else ""
    return max(followed, _past(_find_text(properties.HEARTBEAT) or ""))


def _past(date: str) -> str:
    """The date, or an empty text if it is in the future."""
    return date if date <= times.to_iso(times.now() + AHEAD) else ""
