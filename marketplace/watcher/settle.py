"""Settles what purchases have cost, and forgets what is over: prepared transactions, and old events."""

from flask import current_app

from marketplace import times
from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable
from marketplace.ledger import UNHURRIED_SECONDS, Deadline, mirror_node
from marketplace.market import freshness, purchase_fees
from marketplace.store import events, prepared_transactions
from marketplace.store.database import read, write
from marketplace.store.prepared_transactions import PREPARATIONS, SETTLED_PURCHASES

SETTLED_AT_ONCE = 20  # purchases of which no transaction was seen: each costs a request
KEPT_SECONDS = 3 * 3600  # past its end; until then, what was prepared tells where to look
# Prepared transactions that are deleted in one of the database's, for which other writers wait.
FORGOTTEN_AT_ONCE = 10_000
EVENTS_AT_ONCE = 1000  # the same of events
DAY = 24 * 3600 * times.SECOND


def settle_purchases() -> None:
    """Ask what purchases have cost of which no transaction was seen in time, and forget what is over.

    A purchase is asked about again while the mirror node does not know.
    """
    before = times.to_iso(times.now() - KEPT_SECONDS * times.SECOND)
    purchases = purchase_fees.list_unsettled(SETTLED_AT_ONCE)
    if not purchases and not prepared_transactions.is_any_expired(
        read(), SETTLED_PURCHASES, before
    ):
        return
    try:
        deadline = Deadline(UNHURRIED_SECONDS)
        present = mirror_node().find_present(deadline)
    except (LedgerUnreachable, LedgerAnswerInvalid) as error:
        current_app.logger.warning("No purchase was settled: %s", error)
        return
    purchase_fees.settle(purchases, present, deadline)
    # A clock that is hours ahead does not forget this hour's costs.
    before = min(before, times.to_iso(present - KEPT_SECONDS * times.SECOND))
    if prepared_transactions.is_any_expired(read(), SETTLED_PURCHASES, before):
        with write() as db:
            prepared_transactions.delete_expired(db, SETTLED_PURCHASES, before, FORGOTTEN_AT_ONCE)


def forget_preparations() -> None:
    """Forget listings and withdrawals that are over for hours: by then, all that was signed is followed.

    But while a sweep is due they tell it where to look.
    """
    last_sync = freshness.find_last_sync()
    if last_sync is None:
        return
    over = times.to_nanoseconds(last_sync) - KEPT_SECONDS * times.SECOND
    before = times.to_iso(min(over, times.now() - KEPT_SECONDS * times.SECOND))
    while prepared_transactions.is_any_expired(read(), PREPARATIONS, before):
        with write() as db:
            prepared_transactions.delete_expired(db, PREPARATIONS, before, FORGOTTEN_AT_ONCE)


def forget_events() -> None:
    """Forget events that are older than EVENTS_DAYS. The API refuses cursors of before."""
    before = times.to_iso(times.now() - current_app.config["EVENTS_DAYS"] * DAY)
    oldest = events.get_next_event(read(), events.ALL, 0)
    deleted = EVENTS_AT_ONCE if oldest and oldest["seen_at"] < before else 0
    while deleted == EVENTS_AT_ONCE:
        with write() as db:
            deleted = events.delete_events(db, before, EVENTS_AT_ONCE)
