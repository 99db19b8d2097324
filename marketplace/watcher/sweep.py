"""Compares everything with the ledger, for what no transaction shows: at once, or slowly through a day."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection

from marketplace import times
from marketplace.counts import count
from marketplace.market import freshness
from marketplace.market.recheck_queue import Recheck, enqueue
from marketplace.store import following, nft_collections, nfts, prepared_transactions, properties
from marketplace.store.database import read, write
from marketplace.store.rows import FollowRow
from marketplace.watcher.compare import compare_account, compare_token
from marketplace.watcher.nft_collections import COLLECTIONS_SECONDS, next_collections, refresh
from marketplace.watcher.rechecker import drain_queue
from marketplace.watcher.settle import forget_preparations, settle_purchases
from marketplace.watcher.work import Done, for_each

DAY = 24 * 3600 * times.SECOND
# A slow sweep waits after each token: so many seconds, and so many times as long as that token took.
PAUSE_SECONDS, PAUSE_RATIO = 2, 9


def sync(stop: threading.Event | None = None) -> Counter[Done]:
    """Reconcile everything with the ledger, once. Returns how often what was done."""
    stop = stop or threading.Event()
    counts = compare_everything(stop) + drain_queue()
    settle_purchases()
    forget_preparations()
    refreshed = for_each(refresh, next_collections(), stop, COLLECTIONS_SECONDS)
    return counts + Counter(done or Done.COLLECTIONS_LATE for done in refreshed)


def compare_everything(stop: threading.Event) -> Counter[Done]:
    """Compare each seller and each token with the ledger, several at once, and queue what differs.

    An NFT that the mirror node shows unreadably is counted as not checked, and ends no sweep.
    """
    began_at, db = times.to_iso(times.now()), read()
    accounts = [*nfts.list_sellers(db), *prepared_transactions.list_preparers(db)]
    tokens = [row["token"] for row in nft_collections.list_collections(db)]
    sellers = _sweep_each(_sweep_account, {row["account_id"] for row in accounts}, stop)
    unreadable = sellers + _sweep_each(_sweep_token, tokens, stop)
    failed = unreadable.count(None)
    if not failed:
        with write() as db:
            properties.mark_job_finished(db, "sync", began_at)
    not_checked = failed + sum(filter(None, unreadable))
    checked = len(sellers) - sellers.count(None)
    return +Counter({Done.SELLERS: checked, Done.NOT_CHECKED: not_checked})


def _sweep_each(
    sweep: Callable[[str], int], ids: Collection[str], stop: threading.Event
) -> list[int | None]:
    """Sweep accounts or tokens, in any order. Returns how many NFTs of each could not be read."""
    return [*for_each(sweep, random.sample([*ids], len(ids)), stop)]


def _sweep_account(account_id: str) -> int:
    compared = compare_account(account_id, times.now())
    _enqueue_all(compared.differing)
    return compared.unreadable


def _sweep_token(token: str) -> int:
    compared = compare_token(token)
    count("sweep_found", sum(map(_was_missed, compared.differing)))
    _enqueue_all(compared.differing)
    return compared.unreadable


def _enqueue_all(rechecks: list[Recheck]) -> None:
    if rechecks:
        with write() as db:
            for recheck in rechecks:
                enqueue(db, recheck, times.now())


def _was_missed(recheck: Recheck) -> bool:
    """Tell whether following has passed a change of an NFT, and it is not in the queue."""
    state, changed_at = following.get_follow(read()), times.to_iso(recheck.changed_at)
    if state is None or not state["began_at"] < changed_at <= state["cursor_at"]:
        return False
    return following.get_recheck(read(), "nft", recheck.id, recheck.serial_no) is None


def sweep_step(stop: threading.Event) -> float:
    """Do the next part of a sweep, if one is due: everything at once where following has just begun, else
    a token. Returns for how many seconds to pause then.
    """
    state, began = following.get_follow(read()), time.monotonic()
    if state is None:
        return PAUSE_SECONDS
    last_sweep = freshness.find_last_sweep()
    if not last_sweep:
        compare_everything(stop)
    elif state["sweep_began_at"] or last_sweep < times.to_iso(times.now() - DAY):
        _sweep_next(state)
    return PAUSE_SECONDS + PAUSE_RATIO * (time.monotonic() - began)


def _sweep_next(state: FollowRow) -> None:
    """Compare the next token; after the last one, everything was compared."""
    began_at = state["sweep_began_at"] or times.to_iso(times.now())
    row = nft_collections.get_collection_after(read(), state["swept_to"])
    if row:
        _sweep_token(row["token"])
    with write() as db:
        if row is None:
            properties.mark_job_finished(db, "sync", began_at)
        following.mark_swept_to(db, began_at if row else None, row["token"] if row else "")
