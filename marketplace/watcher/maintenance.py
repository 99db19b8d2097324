"""The watcher's maintenance: refreshes and ranks collections, stores the network's data, deletes old rows."""

import json
import time
from collections import Counter
from collections.abc import Callable

from flask import current_app

from marketplace.command_line import command
from marketplace.hedera import times
from marketplace.hedera.ids import numbers
from marketplace.ledger import UNHURRIED_SECONDS, Deadline
from marketplace.market import collection_facts, freshness, rarity
from marketplace.market.nodes import list_addresses
from marketplace.market.offers.checks import look_at_covers
from marketplace.services import mirror_node, read, write
from marketplace.store import (
    access_tokens,
    events,
    following,
    nfts,
    offers,
    prepared_transactions,
    properties,
    traits,
)
from marketplace.store.connection import Connection
from marketplace.store.nft_collections import list_collections_due
from marketplace.store.prepared_transactions import PREPARATIONS, PURCHASES
from marketplace.store.rechecks import Recheck, What, enqueue_all
from marketplace.watcher.done import Done
from marketplace.watcher.metadata_columns import MAX_ATTEMPTS
from marketplace.watcher.recheck import MAX_LIFE

PAUSE_SECONDS = 1  # between two looks at what has changed
SHARE = 30  # a collection that takes a second is ranked at most every 30 seconds
REFRESHING_SECONDS = 10  # of one call
COLLECTIONS_AT_ONCE = 200
REREAD_AT_ONCE = 100  # NFTs
OFFERS_AT_ONCE = 50  # of one call, so that neither expiries nor cover use up the mirror node's rate
COVER_SECONDS = 300  # between two looks at whether a bidder can pay
KEPT_SECONDS = 3 * 3600  # for which prepared transactions are kept after they expire
DELETED_AT_ONCE = 1000  # rows in one transaction: other writers wait for it


class Ranker:
    """Remembers when each collection may be ranked again. Use one per process."""

    def __init__(self) -> None:
        self._free_at: dict[str, float] = {}

    def step(self) -> float:
        """Rank what has changed. Returns how many seconds to pause."""
        now = time.monotonic()
        self._free_at = {token: at for token, at in self._free_at.items() if at > now}
        for row in traits.list_to_rank(read()):
            token, began = row["token"], time.monotonic()
            if token not in self._free_at:
                rarity.store_ranking(token, row["traits_version"])
                self.delay(token, SHARE * (time.monotonic() - began))
        return PAUSE_SECONDS

    def delay(self, token: str, seconds: float) -> None:
        self._free_at[token] = time.monotonic() + seconds


def refresh_collections() -> Counter[Done]:
    """Read collections again from the ledger, the longest overdue first."""
    counts: Counter[Done] = Counter()
    now, until = times.to_iso(times.now()), time.monotonic() + REFRESHING_SECONDS
    for token in list_collections_due(read(), now, COLLECTIONS_AT_ONCE):
        is_read = time.monotonic() < until and collection_facts.refresh(token)
        counts[Done.COLLECTIONS if is_read else Done.COLLECTIONS_LATE] += 1
    return counts


def read_metadata_again() -> None:
    """Queue due metadata that may have been replaced at its address."""
    now = times.to_iso(times.now())
    due = nfts.list_to_reread(read(), now, REREAD_AT_ONCE)
    if due:
        with write() as db:
            for nft_id in due:
                nfts.mark_to_reread(db, *nft_id, now, MAX_ATTEMPTS - 1)


def queue_expired_offers() -> int:
    """Queue expired offers, once every replica shows whether they were accepted in time.

    Returns how many were queued. Offers that are queued already are skipped.
    """
    before = times.to_iso(times.now() - times.ALLOWED_LAG)
    rechecks = [
        Recheck.of(What("offer", row["schedule_id"]), times.to_nanoseconds(row["expires_at"]))
        for row in offers.list_expired(read(), before, OFFERS_AT_ONCE)
    ]
    if rechecks:
        with write() as db:
            enqueue_all(db, rechecks, times.now())
    return len(rechecks)


def cover_offers() -> None:
    """Check every few minutes whether bidders can still pay for their offers, the oldest check first."""
    before = times.to_iso(times.now() - COVER_SECONDS * times.SECOND)
    look_at_covers(offers.list_to_cover(read(), before, OFFERS_AT_ONCE))


def store_network() -> None:
    """Store the exchange rate and the nodes' accounts. Raises the ledger's errors, keeping the old values."""
    deadline = Deadline(UNHURRIED_SECONDS)
    rate = mirror_node().find_exchange_rates(deadline).current
    now = times.to_iso(times.now())
    _store(properties.EXCHANGE_RATE, {"hbar": rate.hbar, "cents": rate.cents, "date": now})
    last = events.get_rate(read(), now)
    if last is None or (last["cents"], last["hbar"]) != (rate.cents, rate.hbar):
        with write() as db:
            events.insert_rate(db, now, rate.cents, rate.hbar)
    if nodes := sorted(mirror_node().list_nodes(deadline), key=lambda node: numbers(node.account)):
        _store(properties.NODES, [node.account for node in nodes])
        _store(properties.NODE_ADDRESSES, list_addresses(nodes))


def _store(name: str, value: object) -> None:
    with write() as db:
        properties.mark_property(db, name, json.dumps(value).encode())


def delete_prepared() -> None:
    """Delete prepared transactions that expired hours ago, if the ledger has been followed since.

    Listings and withdrawals are kept until a sweep has ended: it checks the accounts that they name.
    """
    state = following.get_follow(read())
    _delete_prepared(PREPARATIONS, freshness.find_last_sync())
    # Use the ledger's time: by a clock that is hours ahead, this hour's costs would be deleted.
    _delete_prepared(PURCHASES, state and state["fresh_at"])


def _delete_prepared(which: str, followed_to: str | None) -> None:
    if followed_to is None:
        return
    over = min(times.to_nanoseconds(followed_to), times.now()) - KEPT_SECONDS * times.SECOND
    before = times.to_iso(over)
    _delete_all(lambda db, limit: prepared_transactions.delete_expired(db, which, before, limit))


def delete_events() -> None:
    """Delete events that are older than EVENTS_DAYS. The API then refuses cursors before them."""
    if before := _find_past(current_app.config["EVENTS_DAYS"] * times.DAY):
        _delete_all(lambda db, limit: events.delete_events(db, before, limit))


def delete_offers() -> None:
    """Delete ended offers that expired EVENTS_DAYS and MAX_LIFE ago. A sweep would store newer ones again."""
    age = max(current_app.config["EVENTS_DAYS"] * times.DAY, MAX_LIFE)
    if before := _find_past(age):
        _delete_all(lambda db, limit: offers.delete_ended(db, before, limit))


def _find_past(age: int) -> str | None:
    """``age`` nanoseconds before now, or before the followed date if that is earlier; None without one."""
    state = following.get_follow(read())
    if state is None:
        return None
    # Respect the ledger's time, too: by a clock that is far ahead, newer rows would be deleted.
    return times.to_iso(min(times.to_nanoseconds(state["fresh_at"]), times.now()) - age)


def warn_of_ending_tokens() -> None:
    """Log each access token that expires within two weeks and was not replaced."""
    for row in access_tokens.find_ending(read()):
        current_app.logger.warning(
            "The access token %s expires at %s: replace it (%s)",
            row["name"],
            times.to_second(row["expires_at"] or ""),
            command("token rotate"),
        )


def _delete_all(delete: Callable[[Connection, int], int]) -> None:
    deleted = DELETED_AT_ONCE
    while deleted == DELETED_AT_ONCE:
        with write() as db:
            deleted = delete(db, DELETED_AT_ONCE)
