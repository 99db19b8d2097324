"""Compares everything with the ledger, to find changes that following missed: at once, or over a day.

A sweep queues a recheck of each seller and each token. It has ended when none of them is left. After a change
of the rule, it also queues NFTs that are stored as not for sale, though the marketplace may spend them.
"""

import random
from collections import Counter

from marketplace.hedera import times
from marketplace.market import freshness
from marketplace.market.recheck_queue import Recheck, enqueue_all
from marketplace.store import following, nft_collections, prepared_transactions, properties
from marketplace.store.database import read, write
from marketplace.watcher.chores import delete_prepared, refresh_collections
from marketplace.watcher.rechecker import drain_queue
from marketplace.watcher.work import Done

SLOWLY = 20 * times.HOUR  # the duration of a daily sweep
PAUSE_SECONDS = 2
QUEUED_AT_ONCE = 1000  # in one write


def sync() -> Counter[Done]:
    """Reconcile everything with the ledger, once. Returns counts of the results."""
    began_at = begin_sweep(0)
    counts = drain_queue()
    end_sweep(began_at)
    delete_prepared()
    del counts[Done.TOKENS]
    return counts + refresh_collections()


def sweep_step() -> float:
    """Begin a sweep if one is due, or end it if it is done. Returns how many seconds to pause."""
    state, last_sweep = following.get_follow(read()), freshness.find_last_sweep()
    began_at = state and state["sweep_began_at"]
    if began_at and freshness.is_judged(properties.SWEEP_RULE):
        end_sweep(began_at)
    elif state and _is_due(last_sweep):
        begin_sweep(SLOWLY if last_sweep else 0)
    return PAUSE_SECONDS


def _is_due(last_sweep: str) -> bool:
    """Tell whether the last sweep is a day old, or the rule of a listing has changed since."""
    return not freshness.is_judged() or last_sweep < times.to_iso(times.now() - times.DAY)


def begin_sweep(duration: int) -> str:
    """Queue each seller and each token, at random times within so many nanoseconds. Returns the start.

    Sellers come first, in a tenth of the time: what is for sale matters most.
    """
    db, now = read(), times.now()
    accounts = prepared_transactions.list_sellers(db)
    tokens = nft_collections.list_collections(db)
    # No transaction is known to have changed them: so changed_at is 0.
    rechecks = [Recheck("account", id, 0, 0, is_swept=True) for id in accounts]
    rechecks += [Recheck("token", id, 0, 0, is_swept=True) for id in tokens]
    for start in range(0, len(rechecks), QUEUED_AT_ONCE):
        with write() as db:
            batch = rechecks[start : start + QUEUED_AT_ONCE]
            enqueue_all(db, [_delay(each, duration) for each in batch], now)
    with write() as db:
        properties.mark_property(db, properties.SWEEP_RULE, freshness.write_rule())
        following.mark_follow(db, "sweep_began_at", times.to_iso(now))
    return times.to_iso(now)


def _delay(recheck: Recheck, duration: int) -> Recheck:
    of_sellers = duration // 10
    begin, end = (0, of_sellers) if recheck.kind == "account" else (of_sellers, duration)
    return recheck._replace(delay=random.randint(begin, end))


def end_sweep(began_at: str) -> None:
    """Note the end of a sweep, if none of its rechecks is left."""
    if following.get_recheck_swept(read()) is None:
        with write() as db:
            properties.mark_job_finished(db, "sync", began_at)
            properties.mark_property(db, properties.RULE, freshness.write_rule())
            following.mark_follow(db, "sweep_began_at", None)
