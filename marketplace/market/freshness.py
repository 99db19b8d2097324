"""How fresh the stored NFTs are: up to when they match the ledger, and whether a watcher is running."""

from marketplace.hedera import times
from marketplace.store import following, properties
from marketplace.store.database import read

# Without a heartbeat for so long, no watcher is running: one writes it every ten seconds.
SILENT = times.MINUTE
# A date that is further in the future was written with a wrong clock. It counts as never.
AHEAD = times.MINUTE


def find_last_sync() -> str | None:
    """The date up to which the ledger was followed or compared. None before the first sweep has ended."""
    state, swept = following.get_follow(read()), properties.find_job_finished(read(), "sync")
    if not swept:  # until the first sweep ends, changes from before following began may be missing
        return None
    return max(_past(swept), _past(state["fresh_at"]) if state else "") or None


def find_last_sweep() -> str:
    """The start of the last sweep that ended; empty if none has ended since following began."""
    return _past(properties.find_job_finished(read(), "sync"))


def is_watched() -> bool:
    """Tell whether a watcher is running, on any machine."""
    state = following.get_follow(read())
    return state is not None and _past(state["heartbeat_at"]) > times.to_iso(times.now() - SILENT)


def _past(date: str) -> str:
    """The date, or an empty text if it is in the future."""
    return date if date <= times.to_iso(times.now() + AHEAD) else ""
