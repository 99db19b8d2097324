"""The watcher's chores: refreshes what is stored of collections and the network, forgets what is over."""

import json
import time
from collections import Counter
from collections.abc import Callable

from flask import current_app

from marketplace import times
from marketplace.ids import numbers
from marketplace.ledger import UNHURRIED_SECONDS, Deadline, mirror_node
from marketplace.market import freshness, nft_collections
from marketplace.store import events, following, prepared_transactions, properties
from marketplace.store.database import read, write
from marketplace.store.nft_collections import list_collections_due
from marketplace.store.prepared_transactions import PREPARATIONS, PURCHASES
from marketplace.store.rows import Connection
from marketplace.watcher.work import Done

REFRESHING_SECONDS = 10  # at once
COLLECTIONS_AT_ONCE = 200
KEPT_SECONDS = 3 * 3600  # past its end; until then, what was prepared tells where to look
FORGOTTEN_AT_ONCE = 1000  # in one of the database's transactions, for which other writers wait


def refresh_collections() -> Counter[Done]:
    """Read again what the ledger knows of collections: those first whose turn is longest ago."""
    counts: Counter[Done] = Counter()
    now, until = times.to_iso(times.now()), time.monotonic() + REFRESHING_SECONDS
    for token in list_collections_due(read(), now, COLLECTIONS_AT_ONCE):
        is_read = time.monotonic() < until and nft_collections.refresh(token)
        counts[Done.COLLECTIONS if is_read else Done.COLLECTIONS_LATE] += 1
    return counts


def store_network() -> None:
    """Store the exchange rate and the nodes' accounts. Raises the ledger's errors, and keeps both then."""
    deadline = Deadline(UNHURRIED_SECONDS)
    rate = mirror_node().find_exchange_rates(deadline).current
    dated = {"hbar": rate.hbar, "cents": rate.cents, "date": times.to_iso(times.now())}
    _store(properties.EXCHANGE_RATE, dated)
    if nodes := sorted(mirror_node().list_nodes(deadline), key=numbers):
        _store(properties.NODES, nodes)


def _store(name: str, value: object) -> None:
    with write() as db:
        properties.mark_property(db, name, json.dumps(value).encode())


def forget_prepared() -> None:
    """Forget what is over for hours, and was followed: listings and withdrawals, and purchases.

    But while a sweep is due, listings and withdrawals tell it where to look.
    """
    state = following.get_follow(read())
    _forget_prepared(PREPARATIONS, freshness.find_last_sync())
    # By the ledger's own time: a clock that is hours ahead does not forget this hour's costs.
    _forget_prepared(PURCHASES, state and state["fresh_at"])


def _forget_prepared(which: str, followed_to: str | None) -> None:
    if followed_to is None:
        return
    over = min(times.to_nanoseconds(followed_to), times.now()) - KEPT_SECONDS * times.SECOND
    before = times.to_iso(over)
    _forget(lambda db, limit: prepared_transactions.delete_expired(db, which, before, limit))


def forget_events() -> None:
    """Forget events that are older than EVENTS_DAYS. The API refuses cursors of before."""
    before = times.to_iso(times.now() - current_app.config["EVENTS_DAYS"] * times.DAY)
    _forget(lambda db, limit: events.delete_events(db, before, limit))


def _forget(delete: Callable[[Connection, int], int]) -> None:
    deleted = FORGOTTEN_AT_ONCE
    while deleted == FORGOTTEN_AT_ONCE:
        with write() as db:
            deleted = delete(db, FORGOTTEN_AT_ONCE)
