"""Prepares transactions to sign: finds a free transaction id, and stores what was handed out."""

import enum
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from flask import current_app

from marketplace import times
from marketplace.ids import TransactionId
from marketplace.store import prepared_transactions
from marketplace.store.database import write

START_BEFORE_NOW_SECONDS = 5  # a node whose clock is a little behind must not refuse the start

# Past the end of its validity, before a transaction counts as expired.
MIRROR_LAG = 15 * times.SECOND

_turns = itertools.count()

# The newest listings that one caller prepares for an account, and the newest withdrawals.
KEPT_FOR_EACH_NFT = 5


class Kind(enum.StrEnum):
    """The kind of a prepared transaction, as it stands in the database."""

    LISTING = "listing"
    WITHDRAWAL = "withdrawal"
    PURCHASE = "purchase"


class Caller(NamedTuple):
    """The access token and the end user that ask for a transaction."""

    token: str  # name of the access token; empty where a host lets callers in
    end_user: str  # a name that a trusted caller or a host gave, or else the client's address


OPERATOR = Caller("", "")  # by a command


class PreparedTransaction(NamedTuple):
    """A transaction for a wallet to sign."""

    transaction_id: TransactionId
    account_id: str
    transaction: bytes


def prepare_as_owner(
    account_id: str,
    build: Callable[..., bytes],
    *,
    caller: Caller,
    now: int | None = None,
    **columns: Any,
) -> PreparedTransaction:
    """Build a transaction that an NFT's owner signs and pays for, and remember it.

    ``build`` is called with an envelope, as transactions.build_listing() takes it; ``columns`` says what is
    remembered besides: kind, token, serial_no, price, memo, wallet.
    """
    settings, now = current_app.config, now or times.now()
    seconds = settings["TRANSACTION_VALID_SECONDS"]
    for transaction_id in free_ids(account_id, now - START_BEFORE_NOW_SECONDS * times.SECOND):
        transaction = build(
            transaction_id=transaction_id,
            memo=columns["memo"],
            max_fee_tinybars=settings["MAX_TRANSACTION_FEE"],
            valid_seconds=seconds,
            node_account_id=next_node(),
        )
        row = describe(transaction_id, account_id, caller, seconds, now) | columns
        with write() as db:
            inserted = prepared_transactions.insert_prepared_transaction(db, row)
            prepared_transactions.delete_prepared_transactions_beyond(db, row, KEPT_FOR_EACH_NFT)
        if inserted:
            return PreparedTransaction(transaction_id, account_id, transaction)
    raise AssertionError("there is always another id")


def next_node() -> str:
    """The node that a transaction is submitted to: they take turns, so that one that is down stops nobody."""
    nodes: tuple[str, ...] = current_app.config["NODE_ACCOUNT_IDS"]
    return nodes[next(_turns) % len(nodes)]


def free_ids(payer: str, valid_start: int) -> Iterator[TransactionId]:
    """Transaction ids of a payer, from a moment in nanoseconds on: the first that is free is to be taken.

    Where the payer has one of the same nanosecond, the next one is one later.
    """
    while True:
        yield TransactionId(payer, *divmod(valid_start, times.SECOND))
        valid_start += 1


def describe(
    transaction_id: TransactionId, account_id: str, caller: Caller, seconds: int, now: int
) -> dict[str, object]:
    """The columns of a prepared transaction, as far as they are the same for every kind."""
    valid_start = transaction_id.seconds * times.SECOND + transaction_id.nanos
    return {
        "transaction_id": str(transaction_id),
        "account_id": account_id,
        "prepared_at": times.to_iso(now),
        "expires_at": times.to_iso(valid_start + seconds * times.SECOND),
        "caller": caller.token,
        "end_user": caller.end_user,
        "seller": None,
        "fee_tinybars": None,
        "is_settled": None,
    }
