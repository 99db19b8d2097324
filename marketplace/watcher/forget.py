"""Forgets what is over: prepared transactions, and old events."""

from flask import current_app

from marketplace import times
from marketplace.market import freshness
from marketplace.store import events, following, prepared_transactions
from marketplace.store.database import read, write
from marketplace.store.prepared_transactions import PREPARATIONS, PURCHASES

KEPT_SECONDS = 3 * 3600  # past its end; until then, what was prepared tells where to look
# Prepared transactions that are deleted in one of the database's, for which other writers wait.
FORGOTTEN_AT_ONCE = 10_000
EVENTS_AT_ONCE = 1000  # the same of events
DAY = 24 * 3600 * times.SECOND


def forget_prepared() -> None:
    """Forget what is over for hours, and was followed: listings and withdrawals, and purchases.

    But while a sweep is due, listings and withdrawals tell it where to look.
    """
    state = following.get_follow(read())
    _forget(PREPARATIONS, freshness.find_last_sync())
    # By the ledger's own time: a clock that is hours ahead does not forget this hour's costs.
    _forget(PURCHASES, state and state["fresh_at"])


def _forget(which: str, followed_to: str | None) -> None:
    if followed_to is None:
        return
    over = min(times.to_nanoseconds(followed_to), times.now()) - KEPT_SECONDS * times.SECOND
    while prepared_transactions.is_any_expired(read(), which, times.to_iso(over)):
        with write() as db:
            prepared_transactions.delete_expired(db, which, times.to_iso(over), FORGOTTEN_AT_ONCE)


def forget_events() -> None:
    """Forget events that are older than EVENTS_DAYS. The API refuses cursors of before."""
    before = times.to_iso(times.now() - current_app.config["EVENTS_DAYS"] * DAY)
    deleted = EVENTS_AT_ONCE
    while deleted == EVENTS_AT_ONCE:
        with write() as db:
            deleted = events.delete_events(db, before, EVENTS_AT_ONCE)
