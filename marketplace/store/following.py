"""The statements about following the ledger: how far it was read, and the queue of rechecks."""

from collections.abc import Mapping
from typing import Literal

from marketplace.store.rows import Connection, FollowRow, RecheckRow, count, only

FollowColumn = Literal["backfilled_to", "heartbeat_at", "sweep_began_at"]


def get_follow(db: Connection) -> FollowRow | None:
    return db.execute("SELECT * FROM follow").fetchone()


def mark_followed_from(
    db: Connection, moment: str, heartbeat_at: str, backfilled_to: str | None = None
) -> None:
    # Following begins here. A sweep checks what came before; approvals are read from backfilled_to on.
    sql = """
        INSERT INTO follow (id, began_at, cursor_at, fresh_at, heartbeat_at, backfilled_to)
        VALUES (1, :moment, :moment, :moment, :heartbeat_at, :backfilled_to)
        ON CONFLICT (id) DO UPDATE
        SET began_at = :moment, cursor_at = :moment, fresh_at = :moment, heartbeat_at = :heartbeat_at,
            backfilled_to = :backfilled_to, sweep_began_at = NULL
    """
    db.execute(
        sql, {"moment": moment, "heartbeat_at": heartbeat_at, "backfilled_to": backfilled_to}
    )


def mark_follow(db: Connection, column: FollowColumn, moment: str | None) -> None:
    db.execute(f"UPDATE follow SET {column} = :moment WHERE id = 1", {"moment": moment})


def mark_followed_to(db: Connection, cursor_at: str, fresh_at: str, heartbeat_at: str) -> None:
    # Neither date goes back: if there are two watchers, the one that is behind must change nothing.
    sql = """
        UPDATE follow
        SET cursor_at = CASE WHEN cursor_at < :cursor_at THEN :cursor_at ELSE cursor_at END,
            fresh_at = CASE WHEN fresh_at < :fresh_at THEN :fresh_at ELSE fresh_at END,
            heartbeat_at = :heartbeat_at
        WHERE id = 1
    """
    parameters = {"cursor_at": cursor_at, "fresh_at": fresh_at, "heartbeat_at": heartbeat_at}
    db.execute(sql, parameters)


# Rechecks


def insert_recheck(db: Connection, recheck: Mapping[str, object]) -> None:
    # If it is queued already, it is due at the earlier time, and needs facts as new as the newer change.
    sql = """
        INSERT INTO recheck
            (kind, id, serial_no, changed_at, first_changed_at, bulk_listed_at, stale_ok_at, due_at, is_swept)
        VALUES (
            :kind, :id, :serial_no, :changed_at, :first_changed_at, :bulk_listed_at, :stale_ok_at, :due_at,
            :is_swept
        )
        ON CONFLICT (kind, id, serial_no) DO UPDATE
        SET changed_at =
                CASE WHEN recheck.changed_at < :changed_at THEN :changed_at ELSE recheck.changed_at END,
            first_changed_at = CASE
                WHEN recheck.first_changed_at < :first_changed_at THEN recheck.first_changed_at
                ELSE COALESCE(:first_changed_at, recheck.first_changed_at)
            END,
            bulk_listed_at = CASE
                WHEN recheck.bulk_listed_at > :bulk_listed_at THEN recheck.bulk_listed_at
                ELSE COALESCE(:bulk_listed_at, recheck.bulk_listed_at)
            END,
            stale_ok_at =
                CASE WHEN recheck.changed_at < :changed_at THEN :stale_ok_at ELSE recheck.stale_ok_at END,
            due_at = CASE WHEN recheck.due_at < :due_again_at THEN recheck.due_at ELSE :due_again_at END,
            attempts = 0,
            is_swept = recheck.is_swept | :is_swept
    """
    db.execute(sql, recheck)


def list_rechecks_due(db: Connection, kind: str, now: str, limit: int) -> list[RecheckRow]:
    sql = """
        SELECT * FROM recheck WHERE kind = :kind AND due_at <= :now
        ORDER BY due_at
        LIMIT :limit + 0
    """
    return db.execute(sql, {"kind": kind, "now": now, "limit": limit}).fetchall()


def get_recheck(db: Connection, kind: str, id: str, serial_no: int) -> RecheckRow | None:
    sql = "SELECT * FROM recheck WHERE kind = :kind AND id = :id AND serial_no = :serial_no"
    return db.execute(sql, {"kind": kind, "id": id, "serial_no": serial_no}).fetchone()


def get_recheck_swept(db: Connection) -> RecheckRow | None:
    # Any recheck that the sweep waits for.
    sql = "SELECT * FROM recheck WHERE kind IN ('account', 'token') AND is_swept = 1 LIMIT 1"
    return db.execute(sql).fetchone()


def get_first_change(db: Connection) -> str | None:
    # Of what is to be checked. A sweep knows of no change.
    sql = "SELECT MIN(first_changed_at) AS first_at FROM recheck"
    first_at: str | None = only(db, sql, {})["first_at"]
    return first_at


def mark_rechecks_due(db: Connection, now: str) -> None:
    # Those that wait after an attempt.
    sql = """
        UPDATE recheck SET due_at = :now, attempts = 0
        WHERE kind IN ('nft', 'account', 'token') AND due_at > :now AND attempts > 0
    """
    db.execute(sql, {"now": now})


def delete_recheck(db: Connection, recheck: Mapping[str, object]) -> None:
    # Keeps it if a newer transaction was read meanwhile, or a sweep began.
    sql = """
        DELETE FROM recheck
        WHERE kind = :kind AND id = :id AND serial_no = :serial_no AND changed_at = :changed_at
          AND is_swept = :is_swept
    """
    db.execute(sql, {**recheck})


def mark_recheck_due(
    db: Connection, recheck: Mapping[str, object], due_at: str, facts_at: str, is_compared: bool
) -> None:
    # No sweep waits any longer for what it has compared, nor a purchase for a listing that the facts show.
    sql = """
        UPDATE recheck
        SET attempts = attempts + 1, due_at = :due_at,
            is_swept = CASE WHEN :is_compared = 1 AND :is_swept = 1 THEN 0 ELSE is_swept END,
            bulk_listed_at = CASE WHEN bulk_listed_at > :facts_at THEN bulk_listed_at END
        WHERE kind = :kind AND id = :id AND serial_no = :serial_no AND changed_at = :changed_at
    """
    compared = {"due_at": due_at, "facts_at": facts_at, "is_compared": int(is_compared)}
    db.execute(sql, {**recheck, **compared})


def count_rechecks(db: Connection) -> int:
    return count(db, "SELECT COUNT(*) AS n FROM recheck")
