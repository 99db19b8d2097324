"""Refreshes what is stored of collections from the ledger."""

from marketplace import times
from marketplace.market import nft_collections
from marketplace.store import nft_collections as kept
from marketplace.store.database import read
from marketplace.watcher.work import Done

COLLECTIONS_SECONDS = 10
COLLECTIONS_AT_ONCE = 200  # read again


def next_collections() -> list[str]:
    """The collections that are to be read next: those first whose turn is longest ago."""
    now = times.to_iso(times.now())
    return [row["token"] for row in kept.list_collections_due(read(), now, COLLECTIONS_AT_ONCE)]


def refresh(token: str) -> Done:
    """Read again what the ledger knows of a collection: one request."""
    return Done.COLLECTIONS if nft_collections.refresh(token) else Done.COLLECTIONS_LATE
