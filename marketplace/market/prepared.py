"""What all prepared transactions share: their validity, their row, and the unsigned bytes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from flask import current_app

from marketplace.errors import ClockBehind, LedgerBehind
from marketplace.hedera import times
from marketplace.hedera.ids import TransactionId
from marketplace.ledger import Deadline
from marketplace.market.nodes import next_node
from marketplace.market.requests import MarketRequest
from marketplace.services import mirror_node, write
from marketplace.store import prepared_transactions
from marketplace.store.connection import Connection
from marketplace.store.offers import OfferRow
from marketplace.store.prepared_transactions import Kind, PreparedTransactionRow

# Otherwise, a node whose clock is slightly behind would see a start in the future.
START_BEFORE_NOW = 5 * times.SECOND
VALID_SECONDS = 180  # the ledger's maximum
# Nodes refuse a transaction in its last seconds.
LAST_SECONDS = 10

CLOCK_SECONDS = 2  # to ask for the mirror node's last block
# Before the mirror node's last block, which is cached for some seconds. Nodes' clocks differ, too.
START_BEFORE_PRESENT = 2 * times.SECOND
# Further behind than this, our clock or the mirror node is not trusted.
CLOCK_BEHIND = 15 * times.SECOND
LEDGER_BEHIND = 120 * times.SECOND
# The largest difference between our clock and the end of the mirror node's last block, for what we pay for.
MOST_APART = 15 * times.SECOND

# For each kind, account and NFT, an end user's newest transactions are kept. A second limit covers all of an
# access token's end users, since a token can invent end users.
KEPT_FOR_EACH_NFT = 5
KEPT_FOR_EACH_TOKEN = 50


class PreparedNft(NamedTuple):
    """One NFT of a transaction, as its columns in the database."""

    token: str
    serial_no: int
    price: int | None = None  # HBAR
    seller: str | None = None  # for a purchase or an offer


@dataclass(frozen=True)
class PreparedTransaction:
    """A transaction for a wallet to sign."""

    account_id: str  # must sign it
    transaction: bytes
    transaction_id: TransactionId
    offer_id: str | None = None  # that it is about
    seller_receives: int | None = None  # tinybars, of each NFT that is sold; None: not known
    # Whether the wallet returns it, to be handed in; otherwise, it submits it.
    return_transaction: bool = False

    @property
    def expires_at(self) -> str:
        return find_expiry(self.transaction_id)


def find_expiry(transaction_id: TransactionId) -> str:
    """The latest date for submission, in the database's form."""
    return times.to_iso(transaction_id.valid_start + (VALID_SECONDS - LAST_SECONDS) * times.SECOND)


def insert(
    db: Connection,
    kind: Kind,
    request: MarketRequest,
    nfts: Sequence[PreparedNft],
    transaction_id: TransactionId,
    *,
    prepared_at: int,
    unsigned: bytes | None = None,
    offer_id: str | None = None,
    fee: int | None = None,
    signed: bytes | None = None,
) -> PreparedTransactionRow | None:
    """Store a prepared transaction. Returns None if its id is taken.

    ``unsigned``: what is handed out. ``fee``: of a purchase that all have ``signed``, in tinybars, until the
    charged one is known.
    """
    row = {
        "transaction_id": str(transaction_id),
        "kind": kind,
        "account_id": request.account_id,
        "prepared_at": times.to_iso(prepared_at),
        "expires_at": find_expiry(transaction_id),
        "caller": request.caller.token,
        "end_user": request.caller.end_user,
        "schedule_id": offer_id,
        "fee_tinybars": fee,
        "is_settled": None if fee is None else 0,
        "signed": signed,
        "unsigned": unsigned,
    }
    inserted = prepared_transactions.insert_prepared_transaction(db, row)
    for nft in nfts if inserted else ():
        prepared_transactions.insert_prepared_nft(db, str(transaction_id), nft._asdict())
    return inserted


def _find_start() -> int:
    """The start of a validity that begins now: a little earlier than the mirror node's last block.

    If our clock is ahead, the network would refuse a start by our clock (INVALID_TRANSACTION_START). If the
    ledger does not answer, our clock is used. Raises LedgerBehind.
    """
    now = times.now()
    ahead = mirror_node().recall_ahead(Deadline(CLOCK_SECONDS))
    if ahead is None:
        return now - START_BEFORE_NOW
    if ahead > LEDGER_BEHIND:
        raise LedgerBehind(ahead // times.SECOND)
    present = now - ahead
    start = min(now - START_BEFORE_NOW, present - START_BEFORE_PRESENT)
    return max(start, present - CLOCK_BEHIND)


def find_present(deadline: Deadline) -> int:
    """The end of the mirror node's last block. Raises LedgerBehind or ClockBehind if our clock is far off."""
    present = mirror_node().find_present(deadline)
    behind = times.now() - present
    if behind > MOST_APART:
        raise LedgerBehind(behind // times.SECOND)
    if -behind > MOST_APART:
        raise ClockBehind(-behind // times.SECOND)
    return present


def prepare_unsigned(
    kind: Kind,
    request: MarketRequest,
    nfts: Sequence[PreparedNft],
    memo: str,
    build: Callable[..., bytes],
    offer_id: str | None = None,
    now: int | None = None,
) -> PreparedTransaction:
    """Store a transaction's record, and build the transaction.

    ``build`` receives the parameters that all kinds share. ``now``: the preparation time, by default the
    present. Raises LedgerBehind, and the database's errors.
    """
    start = now - START_BEFORE_NOW if now else _find_start()
    prepared_at, node, row = now or times.now(), next_node(), None
    with write() as db:
        while row is None:  # each try is a nanosecond later
            transaction_id = TransactionId(request.account_id, *divmod(start, times.SECOND))
            unsigned = build(
                transaction_id=transaction_id,
                memo=memo,
                max_fee_tinybars=current_app.config["MAX_TRANSACTION_FEE"],
                valid_seconds=VALID_SECONDS,
                node_account_id=node,
            )
            row = insert(
                db,
                kind,
                request,
                nfts,
                transaction_id,
                prepared_at=prepared_at,
                unsigned=unsigned,
                offer_id=offer_id,
            )
            start += 1
        prepared_transactions.delete_prepared_beyond(
            db, row, of_user=KEPT_FOR_EACH_NFT, of_token=KEPT_FOR_EACH_TOKEN
        )
    return PreparedTransaction(request.account_id, unsigned, transaction_id, offer_id)


def prepare_for_offer(
    kind: Kind, request: MarketRequest, offer: OfferRow, memo: str, build: Callable[..., bytes]
) -> PreparedTransaction:
    """The same for a transaction about an offer's schedule."""
    nft = PreparedNft(offer["token"], offer["serial_no"], offer["price"], offer["seller"])
    build = partial(build, schedule_id=offer["schedule_id"])
    return prepare_unsigned(kind, request, [nft], memo, build, offer["schedule_id"])
