"""Works through the recheck queue: many checks at once, so that none delays the others for long."""

from collections import Counter
from contextlib import closing

from flask import Flask

from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable
from marketplace.hedera import times
from marketplace.ledger import ALLOWED_LAG, UNHURRIED_SECONDS, Deadline
from marketplace.market.recheck_queue import (
    enqueue_all,
    find_time_left,
    is_final,
    let_failed_be_due,
)
from marketplace.services import application, mirror_node
from marketplace.store import following
from marketplace.store.database import read, write
from marketplace.store.database_errors import explained
from marketplace.store.following import RecheckRow
from marketplace.watcher.check import Checked, check
from marketplace.watcher.work import Done, Tasks

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
            due = following.list_rechecks_due(read(), kind, moment, places * 2)
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
        row = following.get_recheck(read(), *key)
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
            following.delete_recheck(db, row)
        else:
            due_at = times.to_iso(now + _find_pause(row, checked, ledger_now))
            following.mark_recheck_due(db, row, due_at, row["attempts"] + 1)
            if checked.done.is_final:  # newer rows may prolong it again and again
                compared_to = min(row["changed_at"], times.to_iso(ledger_now - ALLOWED_LAG))
                following.mark_compared(db, row, compared_to)


def _find_pause(row: RecheckRow, checked: Checked, ledger_now: int) -> int:
    """How long to wait: longer each time. A list is read again at the latest once all replicas caught up."""
    pause = times.growing_pause(row["attempts"], times.SECOND, times.HOUR)
    left = find_time_left(row, ledger_now)
    if checked.done.is_final and row["kind"] != "nft" and not checked.is_short:
        return max(times.SECOND, left)
    return min(pause, max(times.SECOND, left)) if left > 0 else pause


def _key(row: RecheckRow) -> RecheckKey:
    return row["kind"], row["id"], row["serial_no"]
