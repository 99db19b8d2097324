"""Compares everything with the ledger, for what no transaction shows: at once, or slowly through a day."""

import threading
import time
from collections import Counter

from flask import Flask, current_app

from marketplace import times
from marketplace.counts import count
from marketplace.market import freshness
from marketplace.store import following, nft_collections, nfts, prepared_transactions, properties
from marketplace.store.database import read, write
from marketplace.watcher.compare import compare_account, compare_token
from marketplace.watcher.directions import Look
from marketplace.watcher.looker import Looker, note
from marketplace.watcher.nft_collections import COLLECTIONS_SECONDS, next_collections, refresh
from marketplace.watcher.settle import forget_preparations, settle_purchases
from marketplace.watcher.work import Done, for_each, shuffled

DAY = 24 * 3600 * times.SECOND
# A slow sweep waits after each token: so many seconds, and so many times as long as that token took.
PAUSE_SECONDS, PAUSE_RATIO = 2, 9


def sync(stop: threading.Event | None = None) -> Counter[Done]:
    """Bring everything in line with the ledger, once. Returns what was done."""
    stop, app = stop or threading.Event(), current_app._get_current_object()
    counts = compare_everything(stop)
    looker = Looker(app)
    try:
        counts += looker.drain()
    finally:
        looker.close()
    settle_purchases()
    forget_preparations()
    due = next_collections()
    counts += Counter(
        for_each(refresh, due, stop, COLLECTIONS_SECONDS, left_out=Done.COLLECTIONS_LATE)
    )
    return counts


def compare_everything(stop: threading.Event) -> Counter[Done]:
    """Compare each seller and each token with the ledger, several at once, and note what differs."""
    began_at = times.to_iso(times.now())
    accounts = [
        row["account_id"]
        for row in (*nfts.list_sellers(read()), *prepared_transactions.list_preparers(read()))
    ]
    tokens = [row["token"] for row in nft_collections.list_collections(read())]
    counts = Counter(for_each(_sweep_account, shuffled(dict.fromkeys(accounts)), stop))
    counts += Counter(for_each(_sweep_token, shuffled(tokens), stop))
    if not stop.is_set() and not counts[Done.NOT_CHECKED]:
        with write() as db:
            properties.mark_job_finished(db, "sync", began_at)
    if stop.is_set():
        del counts[Done.NOT_CHECKED]  # nobody expects it
    del counts[Done.TOKENS]
    return counts


def _sweep_account(account_id: str) -> Done:
    now = times.now()
    _note_all([*compare_account(account_id, now)])
    return Done.SELLERS


def _sweep_token(token: str) -> Done:
    looks = [*compare_token(token)]
    count("sweep_found", sum(map(_was_missed, looks)))
    _note_all(looks)
    return Done.TOKENS


def _note_all(looks: list[Look]) -> None:
    if looks:
        with write() as db:
            for look in looks:
                note(db, look, times.now())


def _was_missed(look: Look) -> bool:
    """Tell whether following has passed what changed an NFT, and does not wait to look at it."""
    state, told_at = following.get_follow(read()), times.to_iso(look.told_at)
    if state is None or not state["began_at"] < told_at <= state["cursor_at"]:
        return False
    return following.get_look(read(), "nft", look.id, look.serial_no) is None


class Sweeper:
    """Sweeps beside following: everything at once where following began anew, else slowly, token by token."""

    def __init__(self, app: Flask) -> None:
        self._app = app

    def step(self, stop: threading.Event) -> float:
        """Do the next part of a sweep, if one is due; returns for how many seconds to pause then."""
        state, began = following.get_follow(read()), time.monotonic()
        if state is None:
            return PAUSE_SECONDS
        if not freshness.find_last_sweep():
            compare_everything(stop)
        elif state["sweep_began_at"] or freshness.find_last_sweep() < _a_day_ago():
            _sweep_next(state)
        return PAUSE_SECONDS + PAUSE_RATIO * (time.monotonic() - began)


def _a_day_ago() -> str:
    return times.to_iso(times.now() - DAY)


def _sweep_next(state) -> None:
    """Compare the next token; after the last one, everything was compared."""
    began_at = state["sweep_began_at"] or times.to_iso(times.now())
    row = nft_collections.get_collection_after(read(), state["swept_to"])
    if row:
        _sweep_token(row["token"])
    with write() as db:
        if row is None:
            properties.mark_job_finished(db, "sync", began_at)
        following.mark_swept_to(db, began_at if row else None, row["token"] if row else "")
