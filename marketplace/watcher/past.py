"""Reads the approvals of before following began, once: for listings of NFTs that nobody has added."""

import threading
import time

from flask import current_app

from marketplace import times
from marketplace.ledger import UNHURRIED_SECONDS, Deadline, mirror_node
from marketplace.ledger.transaction_feed import Page
from marketplace.store import following, nfts
from marketplace.store.database import read, write
from marketplace.watcher.directions import Look, find_looks
from marketplace.watcher.follow import WRITING_SECONDS
from marketplace.watcher.looker import note

TYPES = ("CRYPTOAPPROVEALLOWANCE",)
PAUSE_SECONDS = 2


def read_past(stop: threading.Event) -> float:
    """Read until something is to be looked at; returns for how many seconds to pause then.

    Raises the ledger's errors, and the database's; then nothing is written.
    """
    state = following.get_follow(read())
    if state is None or state["past_at"] is None:
        return PAUSE_SECONDS
    began_at, until = times.to_nanoseconds(state["began_at"]), time.monotonic() + WRITING_SECONDS
    page, looks = Page([], times.to_nanoseconds(state["past_at"]), is_full=True), []
    while page.is_full and not looks and time.monotonic() < until and not stop.is_set():
        page = _ask(page.last_at)
        looks = [look for row in page.rows for look in find_looks(row) if _is_unknown(look)]
    is_over = not page.is_full or page.last_at >= began_at
    with write() as db:
        for look in looks:
            note(db, look, times.now())
        following.mark_past_read_to(db, None if is_over else times.to_iso(page.last_at))
    return 0


def _ask(after: int) -> Page:
    deadline, market = Deadline(UNHURRIED_SECONDS), current_app.config["ACCOUNT_ID"]
    return mirror_node().list_transactions_after(after, market, deadline, TYPES)


def _is_unknown(look: Look) -> bool:
    """Tell whether a memo names an NFT that is not stored: the sweep looks at those that are."""
    return look.kind == "nft" and nfts.get_nft(read(), look.id, look.serial_no) is None
