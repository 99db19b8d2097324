"""The statements about following the ledger: how far it was read, and the queue of rechecks."""

from collections.abc import Mapping
from typing import Literal, TypedDict

from marketplace.store.connection import Connection, count, only


class FollowRow(TypedDict):
    began_at: str
    cursor_at: str
    fresh_at: str
    heartbeat_at: str
    backfilled_to: str | None
    sweep_began_at: str | None
    swept_to: str | None


RecheckKind = Literal["nft", "token", "account", "seller", "offer"]


class RecheckRow(TypedDict):
    kind: RecheckKind
    id: str
    serial_no: int
    changed_at: str
    since: str
    due_at: str
    attempts: int


FollowColumn = Literal["backfilled_to", "swept_to"]


def get_follow(db: Connection) -> FollowRow | None:
    return db.execute("SELECT * FROM follow").fetchone()


def mark_followed_from(
    db: Connection, moment: str, heartbeat_at: str, backfilled_to: str | None = None
) -> None:
    # Following begins here. A sweep checks earlier changes; earlier approvals are read from backfilled_to on.
    sql = """
        INSERT INTO follow (id, began_at, cursor_at, fresh_at, heartbeat_at, backfilled_to)
        VALUES (1, :moment, :moment, :moment, :heartbeat_at, :backfilled_to)
        ON CONFLICT (id) DO UPDATE
        SET began_at = :moment, cursor_at = :moment, fresh_at = :moment, heartbeat_at = :heartbeat_at,
            backfilled_to = :backfilled_to, sweep_began_at = NULL, swept_to = NULL
    """
    db.execute(
        sql, {"moment": moment, "heartbeat_at": heartbeat_at, "backfilled_to": backfilled_to}
    )


def mark_follow(db: Connection, column: FollowColumn, moment: str | None) -> None:
    db.execute(f"UPDATE follow SET {column} = :moment WHERE id = 1", {"moment": moment})


def mark_followed_to(db: Connection, cursor_at: str, fresh_at: str, heartbeat_at: str) -> None:
    # Neither date goes back: with two watchers, the slower one must change nothing.
    sql = """
        UPDATE follow
        SET cursor_at = CASE WHEN cursor_at < :cursor_at THEN :cursor_at ELSE cursor_at END,
            fresh_at = CASE WHEN fresh_at < :fresh_at THEN :fresh_at ELSE fresh_at END,
            heartbeat_at = :heartbeat_at
        WHERE id = 1
    """
    parameters = {"cursor_at": cursor_at, "fresh_at": fresh_at, "heartbeat_at": heartbeat_at}
    db.execute(sql, parameters)


def mark_sweep(db: Connection, began_at: str | None) -> None:
    # With a date, a sweep begins. Without one, it ends.
    sql = "UPDATE follow SET sweep_began_at = :began_at, swept_to = NULL WHERE id = 1"
    db.execute(sql, {"began_at": began_at})


# Rechecks


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
