"""How far what is stored is known to be what the ledger shows, and whether a watcher sees to it."""

from marketplace import times
from marketplace.store import following, properties
from marketplace.store.database import read

# A watcher says that it is alive every ten seconds.
SILENT = 60 * times.SECOND


def find_last_sync() -> str | None:
    """Until when the ledger was followed, or when everything was last compared; None when never."""
    state, swept = following.get_follow(read()), find_last_sweep()
    # Before a first sweep, what came before following began is not known.
    return max(state["fresh_at"], swept) if state and swept else swept or None


def find_last_sweep() -> str:
    """When the last comparison of everything began that came to its end; empty when none did since
    following began."""
    jobs = {row["name"]: row["finished_at"] for row in properties.list_jobs(read())}
    return jobs.get("sync", "")


def is_watched() -> bool:
    """Tell whether a watcher was at work a moment ago, on whatever machine."""
    state = following.get_follow(read())
    return state is not None and state["heartbeat_at"] > times.to_iso(times.now() - SILENT)
