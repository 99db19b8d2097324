"""The queue of NFTs, tokens and accounts that the watcher compares with the ledger again.

is_final() alone decides whether a check is final. A purchase waits by the same rule.
"""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, TypedDict

from marketplace.hedera import times
from marketplace.store.connection import Connection, count, only

# A token that is queued again waits longer: it may have 100,000 NFTs.
TOKEN_PAUSE = 10 * times.SECOND
NEVER_COMPARED = 0  # as Recheck.since: anything may differ


RecheckKind = Literal["nft", "token", "account", "seller", "offer"]


class RecheckRow(TypedDict):
    kind: RecheckKind
    id: str
    serial_no: int
    changed_at: str
    since: str
    due_at: str
    attempts: int


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
    insert_recheck(db, row)


def enqueue_all(db: Connection, rechecks: Iterable[Recheck], now: int) -> None:
    """Queue rechecks in a fixed order, so that no two transactions can wait for each other."""
    for recheck in sorted(rechecks, key=lambda each: (each.what.kind != "nft", each.what)):
        enqueue(db, recheck, now)


def let_failed_be_due(db: Connection, now: int) -> None:
    """Make failed entries due now: the ledger answers again."""
    moment = times.to_iso(now)
    for row in list_rechecks_failed(db, moment):
        mark_recheck_due(db, row, moment, attempts=0)


def recheck_later(what: What, facts_at: int, now: int) -> Recheck:
    """A recheck of a new NFT, a new seller or an import, due once every replica has caught up.

    The watcher may have skipped transactions after these facts, because nothing of theirs was stored yet.
    """
    # A purchase waits for an NFT's newer change, but no newer change is known.
    changed_at = facts_at if what.kind == "nft" else now
    return Recheck(
        what, changed_at, max(facts_at, now - times.ALLOWED_LAG), delay=times.ALLOWED_LAG
    )


def is_final(row: RecheckRow, facts_at: str, ledger_now: int) -> bool:
    """Tell whether facts are as new as a change, or were read once every replica must show it."""
    return facts_at >= row["changed_at"] or find_time_left(row, ledger_now) <= 0


def find_time_left(row: RecheckRow, ledger_now: int) -> int:
    """How long a replica may still lack the change, in nanoseconds, by the ledger's clock."""
    return times.to_nanoseconds(row["changed_at"]) + times.ALLOWED_LAG - ledger_now


# The statements


def insert_recheck(db: Connection, recheck: Mapping[str, object]) -> None:
    # A queued entry keeps the newer changed_at, the older since and the earlier time to be due.
    sql = """
        INSERT INTO recheck (kind, id, serial_no, changed_at, since, due_at)
        VALUES (:kind, :id, :serial_no, :changed_at, :since, :due_at)
        ON CONFLICT (kind, id, serial_no) DO UPDATE
        SET changed_at =
                CASE WHEN recheck.changed_at < :changed_at THEN :changed_at ELSE recheck.changed_at END,
            since = CASE WHEN recheck.since < :since THEN recheck.since ELSE :since END,
            due_at = CASE WHEN recheck.due_at < :due_again_at THEN recheck.due_at ELSE :due_again_at END,
            attempts = 0
    """
    db.execute(sql, recheck)


def list_rechecks_due(db: Connection, kind: str, now: str, limit: int) -> list[RecheckRow]:
    sql = """
        SELECT * FROM recheck WHERE kind = :kind AND due_at <= :now
        ORDER BY due_at
        LIMIT :limit + 0
    """
    return db.execute(sql, {"kind": kind, "now": now, "limit": limit}).fetchall()


def list_rechecks_failed(db: Connection, now: str) -> list[RecheckRow]:
    # Entries that wait after an attempt, in the order in which every transaction writes entries.
    sql = """
        SELECT * FROM recheck
        WHERE kind IN ('nft', 'account', 'seller', 'token', 'offer') AND due_at > :now AND attempts > 0
        ORDER BY CASE WHEN kind = 'nft' THEN 0 ELSE 1 END, kind, id, serial_no
    """
    return db.execute(sql, {"now": now}).fetchall()


def get_recheck(db: Connection, kind: str, id: str, serial_no: int) -> RecheckRow | None:
    sql = "SELECT * FROM recheck WHERE kind = :kind AND id = :id AND serial_no = :serial_no"
    return db.execute(sql, {"kind": kind, "id": id, "serial_no": serial_no}).fetchone()


def get_first_change(db: Connection) -> str | None:
    # The oldest unchecked change that may concern NFTs.
    sql = "SELECT MIN(since) AS first_at FROM recheck WHERE kind <> 'offer'"
    first_at: str | None = only(db, sql)["first_at"]
    return first_at


def delete_recheck(db: Connection, recheck: Mapping[str, object]) -> None:
    # Keeps the entry if a newer transaction was read meanwhile.
    sql = """
        DELETE FROM recheck
        WHERE kind = :kind AND id = :id AND serial_no = :serial_no AND changed_at = :changed_at
    """
    db.execute(sql, {**recheck})


def mark_recheck_due(
    db: Connection, recheck: Mapping[str, object], due_at: str, attempts: int
) -> None:
    sql = """
        UPDATE recheck SET due_at = :due_at, attempts = :attempts
        WHERE kind = :kind AND id = :id AND serial_no = :serial_no AND changed_at = :changed_at
    """
    db.execute(sql, {**recheck, "due_at": due_at, "attempts": attempts})


def mark_compared(db: Connection, recheck: Mapping[str, object], since: str) -> None:
    sql = """
        UPDATE recheck SET since = :since
        WHERE kind = :kind AND id = :id AND serial_no = :serial_no AND changed_at = :changed_at
          AND since < :since
    """
    db.execute(sql, {**recheck, "since": since})


def count_rechecks(db: Connection) -> int:
    return count(db, "SELECT COUNT(*) AS n FROM recheck")
