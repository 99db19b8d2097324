"""The queue of NFTs, tokens and accounts that the watcher compares with the ledger again."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from marketplace.hedera import times
from marketplace.ledger import ALLOWED_LAG
from marketplace.store import following
from marketplace.store.rows import Connection, RecheckRow

# A token that is queued already waits longer: it may have 100,000 NFTs.
TOKEN_PAUSE = 10 * times.SECOND


class Recheck(NamedTuple):
    """One entry: an NFT, the stored NFTs of a token, or the listings of an account."""

    kind: Literal["nft", "token", "account"]
    id: str
    serial_no: int  # 0 for a token or an account
    changed_at: int  # consensus timestamp of the transaction that may have changed it
    stale_ok_at: int | None = (
        None  # from then on, by the ledger's clock, older facts do; None: never
    )
    first_changed_at: int = 0  # of the oldest such transaction, if that is another one
    bulk_listed_at: int = 0  # of the newest one that may have given NFTs of an account a new price
    delay: int = 0  # nanoseconds
    is_swept: bool = False  # whether a sweep waits for it


def enqueue(db: Connection, recheck: Recheck, now: int) -> None:
    """Queue a recheck. If it is queued already, it is done at the earlier of both times."""
    due_at = now + recheck.delay
    is_paused = recheck.kind == "token" and not recheck.is_swept
    due_again_at = due_at + TOKEN_PAUSE if is_paused else due_at
    first_changed_at = recheck.first_changed_at or recheck.changed_at
    row = recheck._asdict() | {
        "changed_at": times.to_iso(recheck.changed_at),
        "first_changed_at": times.to_iso(first_changed_at) if first_changed_at else None,
        "bulk_listed_at": times.to_iso(recheck.bulk_listed_at) if recheck.bulk_listed_at else None,
        "stale_ok_at": None if recheck.stale_ok_at is None else times.to_iso(recheck.stale_ok_at),
        "due_at": times.to_iso(due_at),
        "is_swept": int(recheck.is_swept),
        "due_again_at": times.to_iso(due_again_at),
    }
    following.insert_recheck(db, row)


def enqueue_all(db: Connection, rechecks: Iterable[Recheck], now: int) -> None:
    """Queue rechecks in an order that is the same in every transaction: no two can wait for each other."""

    def order(recheck: Recheck) -> tuple[bool, str, str, int]:
        return recheck.kind != "nft", recheck.kind, recheck.id, recheck.serial_no

    for recheck in sorted(rechecks, key=order):
        enqueue(db, recheck, now)


def recheck_seller(account_id: str, facts_at: int, now: int) -> Recheck:
    """Check an account's listings again when all replicas show what they show one by one now.

    For the account of a new listing: transactions that end it may have been passed already as not ours, since
    the facts by which it was found.
    """
    first_changed_at = find_first_hidden(facts_at, now)
    return Recheck(
        "account", account_id, 0, now, now + ALLOWED_LAG, first_changed_at, delay=ALLOWED_LAG
    )


def find_first_hidden(facts_at: int, now: int) -> int:
    """The earliest moment at which a change may be hidden by the replica that showed facts of a date."""
    return max(facts_at, now - ALLOWED_LAG)


def may_have_new_price(seller: RecheckRow, facts_at: str, ledger_now: int) -> bool:
    """Tell whether an account may have given an NFT a new price since facts of a date.

    ``seller``: the account's entry. Only a listing of several NFTs does so without an entry of the NFT.
    """
    shown_to = max(facts_at, times.to_iso(ledger_now - ALLOWED_LAG))
    return (seller["bulk_listed_at"] or "") > shown_to


def is_new_enough(row: RecheckRow, facts_at: str, ledger_now: int) -> bool:
    """Tell whether facts of a date are as new as the change, or all replicas show it by now anyway."""
    if facts_at >= row["changed_at"]:
        return True
    return row["stale_ok_at"] is not None and times.to_iso(ledger_now) >= row["stale_ok_at"]
