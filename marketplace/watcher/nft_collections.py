"""Refreshes what is stored of collections from the ledger."""

import time
from collections import Counter

from flask import current_app

from marketplace import times
from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable
from marketplace.market import nft_collections
from marketplace.store import nft_collections as kept
from marketplace.store.database import read
from marketplace.watcher.work import Done

SECONDS = 10  # at once
COLLECTIONS_AT_ONCE = 200


def refresh_due() -> Counter[Done]:
    """Read again what the ledger knows of collections: those first whose turn is longest ago."""
    counts: Counter[Done] = Counter()
    now, until = times.to_iso(times.now()), time.monotonic() + SECONDS
    for token in kept.list_collections_due(read(), now, COLLECTIONS_AT_ONCE):
        is_read = False
        try:
            is_read = time.monotonic() < until and nft_collections.refresh(token)
        except (LedgerUnreachable, LedgerAnswerInvalid) as error:
            current_app.logger.warning("%s was not checked: %s", token, error)
        counts[Done.COLLECTIONS if is_read else Done.COLLECTIONS_LATE] += 1
    return counts
