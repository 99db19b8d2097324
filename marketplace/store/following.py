"""The statements about following the ledger: how far it was read, and how far a sweep has come."""

from typing import Literal, TypedDict

from marketplace.store.connection import Connection


class FollowRow(TypedDict):
    began_at: str
    cursor_at: str
    fresh_at: str
    heartbeat_at: str
    backfilled_to: str | None
    sweep_began_at: str | None
    swept_to: str | None


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
