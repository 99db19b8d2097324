"""Reads the approvals of before following began, once: for listings of NFTs that nobody has added."""

import threading
import time

from marketplace import times
from marketplace.ledger.transaction_feed import Page
from marketplace.market.recheck_queue import Recheck, enqueue
from marketplace.store import following, nfts
from marketplace.store.database import read, write
from marketplace.watcher.follow import WRITING_SECONDS, ask_page
from marketplace.watcher.transaction_rechecks import find_rechecks

TYPES = ("CRYPTOAPPROVEALLOWANCE",)
PAUSE_SECONDS = 2


def backfill(stop: threading.Event) -> float:
    """Read until something is to be checked; returns for how many seconds to pause then.

    Raises the ledger's errors, and the database's; then nothing is written.
    """
    state = following.get_follow(read())
    if state is None or state["backfilled_to"] is None:
        return PAUSE_SECONDS
    began_at, until = times.to_nanoseconds(state["began_at"]), time.monotonic() + WRITING_SECONDS
    page = Page([], times.to_nanoseconds(state["backfilled_to"]), is_full=True)
    unknown: list[Recheck] = []
    while page.is_full and not unknown and time.monotonic() < until and not stop.is_set():
        page = ask_page(page.last_at, TYPES)
        unknown = [each for row in page.rows for each in find_rechecks(row) if _is_unknown(each)]
    is_over = not page.is_full or page.last_at >= began_at
    with write() as db:
        for recheck in unknown:
            enqueue(db, recheck, times.now())
        following.mark_backfilled_to(db, None if is_over else times.to_iso(page.last_at))
    return 0


def _is_unknown(recheck: Recheck) -> bool:
    """Tell whether a memo names an NFT that is not stored. The sweep checks those that are."""
    return recheck.kind == "nft" and nfts.get_nft(read(), recheck.id, recheck.serial_no) is None
