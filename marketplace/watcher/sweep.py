"""Compares everything with the ledger, at once or over a day, to find changes that following missed.

A sweep compares the sellers, then the offers, then the tokens. Its progress is stored, so that it survives a
restart. Differing NFTs are queued. After a change of the rule, it also queues NFTs that the marketplace may
spend, but that are stored as not for sale.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial

from flask import Flask, current_app

from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable
from marketplace.hedera import times
from marketplace.ledger import UNHURRIED_SECONDS, Deadline
from marketplace.ledger.objects import TransactionType
from marketplace.ledger.transaction_feed import TransactionPage
from marketplace.market import freshness
from marketplace.metrics import count
from marketplace.services import application, mirror_node, read, write
from marketplace.store import (
    following,
    nft_collections,
    prepared_transactions,
    properties,
    rechecks,
)
from marketplace.store.connection import Connection, explained
from marketplace.store.rechecks import NEVER_COMPARED, Recheck, What, enqueue_all
from marketplace.watcher.done import Done
from marketplace.watcher.follow import MAX_PAST, ask_page, find_offers
from marketplace.watcher.maintenance import (
    delete_prepared,
    queue_expired_offers,
    refresh_collections,
)
from marketplace.watcher.recheck import ALL_OFFERS, Checked, compare, drain_queue

SLOWLY = 20 * times.HOUR  # the duration of a daily sweep
OF_SELLERS = SLOWLY // 10  # for sellers and offers, which come first: they matter most
PAUSE_SECONDS = 2
AT_ONCE = 8


def sync() -> Counter[Done]:
    """Reconcile everything with the ledger, once. Returns counts of the results."""
    late = Counter[Done]()
    try:
        _queue_past_offers()
    except (LedgerAnswerInvalid, LedgerUnreachable) as error:
        application().logger.warning("Past offers were not read: %s", error)
        late[Done.NOT_CHECKED] += 1
    with closing(Sweep(application())) as sweep:
        counts = sweep.compare_all()
    while queue_expired_offers():
        pass
    counts += drain_queue()
    delete_prepared()
    del counts[Done.TOKENS], counts[Done.OFFER_LISTS]
    return counts + late + refresh_collections()


def _queue_past_offers() -> None:
    """Queue the offers that were made since the ledger was last followed, or since the last sweep.

    Raises the ledger's errors.
    """
    since = freshness.find_followed() or freshness.find_last_sweep()
    after = (
        max(times.to_nanoseconds(since) if since else 0, times.now() - MAX_PAST) - times.ALLOWED_LAG
    )
    page = TransactionPage([], after, is_full=True)
    while page.is_full:
        page = ask_page(page.last_at, [TransactionType.SCHEDULE_CREATION])
        rechecks = [each for row in page.rows for each in find_offers(read(), row, set())]
        with write() as db:
            enqueue_all(db, rechecks, times.now())


class Sweep:
    """One sweep after the other. Compares several accounts and tokens at once, each in a thread."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._threads = ThreadPoolExecutor(AT_ONCE, "sweep")
        self._began_at = ""  # when the sweep began that these belong to
        self._items: list[What] = []
        self._is_whole = True  # whether all items so far were compared
        self._compared: list[What] = []  # the last of them

    def step(self, now: int | None = None) -> float:
        """Begin a sweep if one is due, or compare the next accounts and tokens that are due.

        Returns how many seconds to pause. Raises the ledger's errors, and the database's.
        """
        now = now or times.now()
        state = following.get_follow(read())
        if state is None:
            return PAUSE_SECONDS
        began_at = state["sweep_began_at"]
        if not began_at or not freshness.is_judged(properties.SWEEP_RULE):
            if _is_due():
                self._begin(times.to_iso(now))
                return 0
            return PAUSE_SECONDS
        if began_at != self._began_at:  # another watcher began it
            self._take_up(began_at)
        place = bisect_right(self._items, state["swept_to"] or "", key=_name)
        due = self._items[place : self._count_due(now)][:AT_ONCE]
        if not due and place < len(self._items):
            return PAUSE_SECONDS
        rechecks = self._compare(due)[1]
        with write() as db:
            enqueue_all(db, rechecks, times.now())
            if due:
                following.mark_follow(db, "swept_to", _name(due[-1]))
            if place + len(due) == len(self._items):
                self._end(db)
                following.mark_sweep(db, None)
        self._note_compared(now)
        return 0 if due else PAUSE_SECONDS

    def compare_all(self) -> Counter[Done]:
        """Compare everything at once, regardless of other sweeps. Returns counts of the results.

        Raises the ledger's errors if the mirror node does not answer at the start.
        """
        self._take_up(times.to_iso(times.now()))  # first: the database may be of an earlier version
        _require_ledger()
        counts = Counter[Done]()
        for start in range(0, len(self._items), AT_ONCE):
            try:
                done, rechecks = self._compare(self._items[start : start + AT_ONCE])
            except (LedgerUnreachable, LedgerAnswerInvalid) as error:
                current_app.logger.warning("The sweep ended early: %s", error)
                return counts + Counter({Done.NOT_CHECKED: len(self._items) - start})
            counts += done
            with write() as db:
                enqueue_all(db, rechecks, times.now())
            self._note_compared(times.now())
        with write() as db:
            self._end(db)
        return counts

    def _begin(self, began_at: str) -> None:
        _require_ledger()
        with write() as db:
            properties.mark_property(db, properties.SWEEP_RULE, freshness.write_rule())
            following.mark_sweep(db, began_at)
        self._take_up(began_at)

    def _take_up(self, began_at: str) -> None:
        db = read()
        accounts, tokens = (
            prepared_transactions.list_sellers(db),
            nft_collections.list_collections(db),
        )
        items = [What("account", id) for id in accounts] + [What("token", id) for id in tokens]
        items.append(ALL_OFFERS)
        self._began_at, self._items, self._is_whole = began_at, sorted(items, key=_name), True

    def _count_due(self, now: int) -> int:
        """How many of the items are due. In the first sweep, all are due at once."""
        if _is_first():
            return len(self._items)
        passed = now - times.to_nanoseconds(self._began_at)
        sellers = sum(what.kind != "token" for what in self._items)
        of_tokens = (len(self._items) - sellers) * (passed - OF_SELLERS) // (SLOWLY - OF_SELLERS)
        return max(0, min(sellers, sellers * passed // OF_SELLERS)) + max(0, of_tokens)

    def _compare(self, items: Sequence[What]) -> tuple[Counter[Done], list[Recheck]]:
        """Compare items. Returns counts of the results, and rechecks of differing and failed items.

        Raises the ledger's errors if the mirror node does not answer at all.
        """
        counts, rechecks = Counter[Done](), list[Recheck]()
        since, self._compared = _find_since(), []
        compare_one = partial(self._compare_one, since=since)
        for what, checked in zip(items, self._threads.map(compare_one, items), strict=True):
            if checked is None:
                mirror_node().find_present(Deadline(UNHURRIED_SECONDS))
                self._is_whole = False
                rechecks.append(Recheck(what, times.now(), since))
                continue
            self._compared.append(what)
            counts[checked.done] += 1
            rechecks += checked.differing
            count("sweep_found", sum(map(_was_missed, checked.differing)))
        return counts, rechecks

    def _note_compared(self, now: int) -> None:
        """Once all differences are queued, note in the queue up to when the last items were compared."""
        compared_to = times.to_iso(now - times.ALLOWED_LAG)
        for what in self._compared:
            queued = rechecks.get_recheck(read(), *what)
            if queued and queued["since"] < compared_to:
                with write() as db:
                    rechecks.mark_compared(db, queued, min(compared_to, queued["changed_at"]))

    def _compare_one(self, what: What, since: int) -> Checked | None:
        with self._app.app_context(), explained():
            try:
                return compare(what, times.now(), since, judges_again=not freshness.is_judged())
            except (LedgerUnreachable, LedgerAnswerInvalid) as error:
                self._app.logger.warning("%s was not compared: %s", what.id, error)
                return None

    def _end(self, db: Connection) -> None:
        """Note that everything was compared since this sweep began, except for queued entries."""
        if self._began_at > freshness.find_last_sweep():
            properties.mark_property(db, properties.LAST_SWEEP, self._began_at.encode())
        if self._is_whole:
            properties.mark_property(db, properties.RULE, freshness.write_rule())

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _name(what: What) -> str:
    """The text by which an item is stored. Accounts come before offers, and offers before tokens."""
    return f"{what.kind} {what.id}"


def _require_ledger() -> None:
    """Raise the ledger's errors if the mirror node does not answer. An empty sweep asks nothing else."""
    mirror_node().recall_present(Deadline(UNHURRIED_SECONDS))


def _find_since() -> int:
    """The earliest moment of a change that was missed so far: when all was last followed or compared."""
    followed = freshness.find_followed()
    return times.to_nanoseconds(followed) + 1 if followed else NEVER_COMPARED


def _is_first() -> bool:
    """Tell whether no sweep has ended since following began."""
    return not freshness.find_last_sweep()


def _is_due() -> bool:
    """Tell whether the last sweep is a day old, or the rule of a listing has changed since."""
    day_ago = times.to_iso(times.now() - times.DAY)
    return not freshness.is_judged() or freshness.find_last_sweep() < day_ago


def _was_missed(recheck: Recheck) -> bool:
    """Tell whether following passed an NFT's change without queueing the NFT."""
    state, changed_at = following.get_follow(read()), times.to_iso(recheck.changed_at)
    if state is None or not state["began_at"] < changed_at <= state["cursor_at"]:
        return False
    return rechecks.get_recheck(read(), *recheck.what) is None
