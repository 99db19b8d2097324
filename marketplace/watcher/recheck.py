"""Compares NFTs, accounts' listings, tokens and offers with the ledger, and works through the recheck queue.

Many checks run at once, so that none delays the others for long.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import NamedTuple

from flask import Flask, current_app

from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.ledger import UNHURRIED_SECONDS, Deadline
from marketplace.ledger.mirror import PAGE
from marketplace.ledger.objects import Nft
from marketplace.market import listing_rule, reconciler
from marketplace.market.offers.reconciler import reconcile_offers
from marketplace.market.offers.rule import ENDS
from marketplace.market.reconciler import Reconciliation
from marketplace.services import application, mirror_node, read, write
from marketplace.store import nfts, offers, rechecks
from marketplace.store.connection import explained
from marketplace.store.nfts import NftRow
from marketplace.store.rechecks import (
    Recheck,
    RecheckRow,
    What,
    enqueue_all,
    find_time_left,
    is_final,
    let_failed_be_due,
)
from marketplace.watcher.done import Done
from marketplace.watcher.tasks import Tasks

NFT_SECONDS = 30  # to check one NFT, whose history may have several pages, or one offer
MAX_LIFE = 63 * times.DAY  # of a schedule: the network's limit is 62 days

ALL_OFFERS = What("offer", "")
OFFERS_AT_ONCE = 20

Listed = Nft | LedgerAnswerInvalid


class Checked(NamedTuple):
    """The result of a check: what was done, how new the facts were, and which NFTs differ."""

    done: Done
    facts_at: int = 0  # nanoseconds of consensus
    differing: list[Recheck] = []
    is_short: bool = False  # whether a list took one request


def check(row: RecheckRow) -> Checked:
    """Check an entry of the queue. Raises the ledger's errors, and the database's."""
    if row["kind"] == "nft":
        return _check_nft(NftId(row["id"], row["serial_no"]))
    if row["kind"] == "offer" and row["id"]:
        return _check_offer(row["id"])
    changed_at = times.to_nanoseconds(row["changed_at"]) or times.now()
    return compare(What(row["kind"], row["id"]), changed_at, times.to_nanoseconds(row["since"]))


def compare(what: What, changed_at: int, since: int, *, judges_again: bool = False) -> Checked:
    """Compare the stored NFTs of an account or a token with the ledger, in as few requests as possible.

    ``changed_at``: when a transaction may have changed them. ``since``: the earliest moment of a difference
    that an NFT's own date does not show. ``judges_again``: whether an earlier rule may have judged some NFTs
    not for sale.
    """
    if what.kind == "token":
        return _compare_token(what.id, since, judges_again=judges_again)
    if what.kind == "offer":
        return _compare_offers(since)
    return _compare_account(what.id, changed_at, since)


def _check_nft(nft_id: NftId) -> Checked:
    made = reconciler.reconcile([nft_id], Deadline(NFT_SECONDS))[nft_id]
    if not made.is_decided:
        current_app.logger.info("%s is not decided yet: %s", nft_id, made.reason)
    done = _describe(made)
    if done is Done.LISTED and made.nft:
        price, owner = f"{made.nft['listing_price']:,} HBAR", made.nft["owner"]
        current_app.logger.info("%s is for sale for %s by %s", nft_id, price, owner)
    elif done is Done.TAKEN_OFF:
        why = _explain_end(made)
        current_app.logger.info("%s was taken off the order book: %s", nft_id, why)
    return Checked(done, made.facts_at)


def _explain_end(made: Reconciliation) -> str:
    """Why a listing has ended: the NFT has another owner, or may no longer be spent."""
    if made.reason == listing_rule.GONE:
        return made.reason
    if made.before and made.nft and made.before["owner"] != made.nft["owner"]:
        return f"it belongs to {made.nft['owner']} now"
    return listing_rule.explain_end(made.reason)


def _describe(made: Reconciliation) -> Done:
    if not made.is_decided:
        return Done.UNDECIDED
    before, nft = made.before, made.nft
    was_listed = before is not None and bool(before["is_for_sale"])
    if nft is None or not nft["is_for_sale"]:
        return Done.TAKEN_OFF if was_listed else Done.UNCHANGED
    is_unchanged = before is not None and _read_listing(before) == _read_listing(nft)
    return Done.UNCHANGED if was_listed and is_unchanged else Done.LISTED


def _read_listing(nft: NftRow) -> tuple[int, str | None, str]:
    return nft["listing_price"], nft["last_listed_at"], nft["owner"]


def _check_offer(schedule_id: str) -> Checked:
    made = reconcile_offers([schedule_id], Deadline(NFT_SECONDS))[schedule_id]
    if made.undecided:
        current_app.logger.info("The offer %s is not decided yet: %s", schedule_id, made.undecided)
        return Checked(Done.UNDECIDED)
    offer = made.offer
    is_over = offer is not None and offer["state"] in ENDS
    facts_at = (
        reconciler.FOREVER if is_over else times.to_nanoseconds(offer["state_at"]) if offer else 0
    )
    done = Done.OFFERS if made.is_changed else Done.UNCHANGED
    return Checked(done, facts_at, is_short=True)


def _compare_offers(since: int) -> Checked:
    """Reconcile all offers that have not ended. Queue those that could not be decided."""
    done, differing = Done.OFFER_LISTS, []
    rows = offers.list_unended(read())
    for start in range(0, len(rows), OFFERS_AT_ONCE):
        dates = {
            row["schedule_id"]: row["state_at"] for row in rows[start : start + OFFERS_AT_ONCE]
        }
        try:
            made = reconcile_offers(dates, Deadline(NFT_SECONDS))
        except LedgerAnswerInvalid as error:
            current_app.logger.warning("Offers were not checked: %s", error)
            done = Done.UNREADABLE
            continue
        for schedule_id in (id for id, each in made.items() if each.undecided):
            moment = times.to_nanoseconds(dates[schedule_id])
            differing.append(Recheck(What("offer", schedule_id), moment, min(moment, since)))
    return Checked(done, 0, differing)


def _compare_account(account_id: str, changed_at: int, since: int) -> Checked:
    """Compare the listings of an account with the ledger: usually one request.

    One request gets one replica's answer. That replica is complete up to the newest NFT in the answer.
    """
    market = current_app.config["ACCOUNT_ID"]
    unseen = set(nfts.list_known_of_seller(read(), account_id))
    moments: list[int] = []
    listed = _note_moments(mirror_node().list_nfts_spendable(account_id, market), moments)
    checked = _compare(Done.SELLERS, listed, unseen, since)
    missing = [
        Recheck(What("nft", *nft_id), changed_at, min(changed_at, since))
        for nft_id in sorted(unseen)
    ]
    is_short = len(moments) < PAGE
    facts_at = max(moments, default=0) if is_short else 0
    return checked._replace(
        facts_at=facts_at, differing=checked.differing + missing, is_short=is_short
    )


def _note_moments(listed: Iterable[Listed], moments: list[int]) -> Iterator[Listed]:
    """Yield NFTs, and note when each was modified: 0 for one that cannot be read."""
    for nft in listed:
        moments.append(nft.modified_at if isinstance(nft, Nft) else 0)
        yield nft


def _compare_token(token: str, since: int, *, judges_again: bool) -> Checked:
    stored = nfts.list_stored_of_token(read(), token)
    is_sparse = 0 < len(stored) <= (stored[-1] - stored[0]) // PAGE + 1
    listed = _find_each(token, stored) if is_sparse else mirror_node().list_nfts(token)
    return _compare(Done.TOKENS, listed, set(), since, judges_again=judges_again)


def _find_each(token: str, serial_nos: Iterable[int]) -> Iterator[Listed]:
    """Yield the NFTs with these serial numbers, by one request each."""
    for serial_no in serial_nos:
        deadline = Deadline(reconciler.LEDGER_SECONDS)
        try:
            if nft := mirror_node().find_nft(token, serial_no, deadline):
                yield nft
        except LedgerAnswerInvalid as error:
            yield error


def _compare(
    done: Done,
    on_ledger: Iterable[Listed],
    unseen: set[tuple[str, int]],
    since: int,
    *,
    judges_again: bool = False,
) -> Checked:
    """Compare NFTs with the stored ones, and remove them from ``unseen``."""
    differing, market = [], current_app.config["ACCOUNT_ID"]
    for nft in on_ledger:
        if isinstance(nft, LedgerAnswerInvalid):
            current_app.logger.warning("An NFT was not checked: %s", nft)
            done = Done.UNREADABLE
            continue
        unseen.discard((nft.token, nft.serial_no))
        stored = nfts.get_nft(read(), nft.token, nft.serial_no)
        what = What("nft", nft.token, nft.serial_no)
        if reconciler.may_differ(nft, stored):
            differing.append(Recheck(what, nft.modified_at, min(nft.modified_at, since)))
        elif judges_again and stored and nft.spender == market and not stored["is_for_sale"]:
            # The ledger has not changed since the NFT was judged.
            differing.append(Recheck(what, nft.modified_at, times.now()))
    return Checked(done, 0, differing)


# Checks at once, by kind: lists take long, and must not delay NFTs.
AT_ONCE = {"nft": 8, "account": 4, "seller": 4, "token": 4, "offer": 4}
PAUSE_SECONDS = 0.25  # between two queries for due rechecks, if nothing changes
PROBE_PAUSE = 5 * times.SECOND  # between two probes with a failed check

RecheckKey = tuple[str, str, int]


class Rechecker:
    """Runs checks, each in a thread. An entry of the queue is in one check at a time."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._checks: Tasks[RecheckKey, Done] = Tasks(sum(AT_ONCE.values()), "recheck")
        self.changed = self._checks.changed
        # Checks without a usable answer of the ledger, and when one of them was last tried.
        self._failed: dict[RecheckKey, None] = {}
        self._probed_at = 0

    def step(self, now: int | None = None) -> Counter[Done]:
        """Count the checks that have ended, and begin due ones in the free places. Raises their errors."""
        counts = Counter(self._checks.take_ended())
        moment = times.to_iso(now or times.now())
        for kind, places in AT_ONCE.items():
            busy = sum(key[0] == kind for key in self._checks)
            due = rechecks.list_rechecks_due(read(), kind, moment, places * 2)
            free = [row for row in due if _key(row) not in self._checks]
            for row in free[: places - busy]:
                self._checks.begin(_key(row), self._check, row, now)
        if self._failed and not 0 <= (now or times.now()) - self._probed_at < PROBE_PAUSE:
            self._probe(now)
        return counts

    def _probe(self, now: int | None) -> None:
        """Try one failed check before it is due. If the ledger answers, all failed checks become due."""
        self._probed_at = now or times.now()
        key = next(iter([*self._failed]), None)  # of a copy: other threads change it meanwhile
        if key is None:  # another thread was faster
            return
        row = rechecks.get_recheck(read(), *key)
        if row is None:
            self._failed.pop(key, None)
        elif key not in self._checks:
            self._checks.begin(key, self._check, row, now)

    def wait(self) -> None:
        self._checks.wait(PAUSE_SECONDS)

    def drain(self, now: int | None = None) -> Counter[Done]:
        """Check all that is due at a moment, and wait until it is done."""
        with self._app.app_context(), explained():
            counts = self.step(now)
            while self._checks:
                self.wait()
                counts += self.step(now)
        return counts

    def _check(self, row: RecheckRow, moment: int | None) -> Done:
        with self._app.app_context(), explained():
            ledger_now = now = moment or times.now()
            try:
                if find_time_left(row, now) <= 0:
                    # Use the ledger's time: our clock may be wrong. Ask first: the facts are then newer.
                    deadline = Deadline(UNHURRIED_SECONDS)
                    ledger_now -= mirror_node().recall_present(deadline).ahead
                checked = check(row)
            except (LedgerUnreachable, LedgerAnswerInvalid) as error:
                name = f"{row['id']} #{row['serial_no']}" if row["serial_no"] else row["id"]
                self._app.logger.warning("%s was not checked: %s", name, error)
                checked = Checked(Done.NOT_CHECKED)
            _store(row, checked, now, ledger_now)
            if checked.done is Done.NOT_CHECKED:
                # Only now that its pause is stored can another check's answer, or a probe, end the pause.
                if not self._failed:
                    self._probed_at = now
                self._failed.pop(_key(row), None)
                self._failed[_key(row)] = None  # moved to the end: probed last
            elif _key(row) in self._failed:
                self._failed.clear()
                with write() as db:
                    let_failed_be_due(db, times.now())
            return checked.done

    def close(self) -> None:
        self._checks.close()


def drain_queue() -> Counter[Done]:
    """Check all that is due now, outside of the watcher's loop."""
    with closing(Rechecker(application())) as rechecker:
        return rechecker.drain()


def _store(row: RecheckRow, checked: Checked, now: int, ledger_now: int) -> None:
    """Write the results of a check in one transaction: new rechecks, and when this one is due again."""
    is_over = checked.done.is_final and is_final(row, times.to_iso(checked.facts_at), ledger_now)
    with write() as db:
        enqueue_all(db, checked.differing, now)
        if is_over:
            rechecks.delete_recheck(db, row)
        else:
            due_at = times.to_iso(now + _find_pause(row, checked, ledger_now))
            rechecks.mark_recheck_due(db, row, due_at, row["attempts"] + 1)
            if checked.done.is_final:  # newer rows may prolong it again and again
                compared_to = min(row["changed_at"], times.to_iso(ledger_now - times.ALLOWED_LAG))
                rechecks.mark_compared(db, row, compared_to)


def _find_pause(row: RecheckRow, checked: Checked, ledger_now: int) -> int:
    """How long to wait: longer each time. A list is read again at the latest once all replicas caught up."""
    pause = times.growing_pause(row["attempts"], times.SECOND, times.HOUR)
    left = find_time_left(row, ledger_now)
    if checked.done.is_final and row["kind"] != "nft" and not checked.is_short:
        return max(times.SECOND, left)
    return min(pause, max(times.SECOND, left)) if left > 0 else pause


def _key(row: RecheckRow) -> RecheckKey:
    return row["kind"], row["id"], row["serial_no"]
