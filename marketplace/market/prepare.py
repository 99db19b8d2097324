"""Prepared transactions: their kinds and callers, and the parts that are the same for every kind."""

import enum
from collections.abc import Iterator
from typing import NamedTuple

from marketplace import times
from marketplace.ids import TransactionId

START_BEFORE_NOW_SECONDS = 5  # a node whose clock is a little behind must not refuse the start

# Past the end of its validity, before a transaction counts as expired.
MIRROR_LAG = 15 * times.SECOND


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


def free_ids(payer: str, valid_start: int) -> Iterator[TransactionId]:
    """Yield transaction ids of a payer, a nanosecond apart: the caller takes the first that is free."""
    while True:
        yield TransactionId(payer, *divmod(valid_start, times.SECOND))
        valid_start += 1


def describe(
    transaction_id: TransactionId, account_id: str, caller: Caller, seconds: int, now: int
) -> dict[str, object]:
    """The columns of a prepared transaction that are the same for every kind."""
    return {
        "transaction_id": str(transaction_id),
        "account_id": account_id,
        "prepared_at": times.to_iso(now),
        "expires_at": times.to_iso(transaction_id.valid_start + seconds * times.SECOND),
        "caller": caller.token,
        "end_user": caller.end_user,
        "seller": None,
        "fee_tinybars": None,
        "is_settled": None,
    }
