"""The queue of NFTs, tokens and accounts that the watcher compares with the ledger again.

is_final() alone decides whether a check is final. A purchase waits by the same rule.
"""

from collections.abc import Iterable
from typing import NamedTuple

from marketplace.hedera import times
from marketplace.ledger import ALLOWED_LAG
from marketplace.store import following
from marketplace.store.connection import Connection
from marketplace.store.following import RecheckKind, RecheckRow

# A token that is queued again waits longer: it may have 100,000 NFTs.
TOKEN_PAUSE = 10 * times.SECOND
NEVER_COMPARED = 0  # as Recheck.since: anything may differ


class What(NamedTuple):
    """An NFT; the stored NFTs of a token; the listings of an account; or an offer.

    An offer is named by its schedule, and all offers by an empty id.
    A seller is an account that has listed several NFTs: the memo does not say which have a new price.
    """

    kind: RecheckKind
    id: str
    serial_no: int = 0  # only of an NFT


class Recheck(NamedTuple):
    """One entry to be queued."""

    what: What
    changed_at: int  # consensus timestamp of the newest transaction that may have changed it
    since: int  # consensus timestamp of the oldest change without a final check
    delay: int = 0  # nanoseconds

    @classmethod
    def of(cls, what: What, changed_at: int) -> "Recheck":
        """An entry for one transaction."""
        return cls(what, changed_at, changed_at)


def enqueue(db: Connection, recheck: Recheck, now: int) -> None:
    """Queue a recheck. An entry that is queued already keeps the earlier time."""
    due_at = now + recheck.delay
    pause = TOKEN_PAUSE if recheck.what.kind == "token" else 0
    row = recheck.what._asdict() | {
        "changed_at": times.to_iso(recheck.changed_at),
        "since": times.to_iso(recheck.since),
        "due_at": times.to_iso(due_at),
        "due_again_at": times.to_iso(due_at + pause),
    }
    following.insert_recheck(db, row)


def enqueue_all(db: Connection, rechecks: Iterable[Recheck], now: int) -> None:
    """Queue rechecks in a fixed order, so that no two transactions can wait for each other."""
    for recheck in sorted(rechecks, key=lambda each: (each.what.kind != "nft", each.what)):
        enqueue(db, recheck, now)


def let_failed_be_due(db: Connection, now: int) -> None:
    """Make failed entries due now: the ledger answers again."""
    moment = times.to_iso(now)
    for row in following.list_rechecks_failed(db, moment):
        following.mark_recheck_due(db, row, moment, attempts=0)


def recheck_later(what: What, facts_at: int, now: int) -> Recheck:
    """A recheck of a new NFT, a new seller or an import, due once every replica has caught up.

    The watcher may have skipped transactions after these facts, because nothing of theirs was stored yet.
    """
    # A purchase waits for an NFT's newer change, but no newer change is known.
    changed_at = facts_at if what.kind == "nft" else now
    return Recheck(what, changed_at, max(facts_at, now - ALLOWED_LAG), delay=ALLOWED_LAG)


def is_final(row: RecheckRow, facts_at: str, ledger_now: int) -> bool:
    """Tell whether facts are as new as a change, or were read once every replica must show it."""
    return facts_at >= row["changed_at"] or find_time_left(row, ledger_now) <= 0


def find_time_left(row: RecheckRow, ledger_now: int) -> int:
    """How long a replica may still lack the change, in nanoseconds, by the ledger's clock."""
    return times.to_nanoseconds(row["changed_at"]) + ALLOWED_LAG - ledger_now
