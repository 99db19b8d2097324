"""The rule of an offer: the ledger alone decides whether a schedule is an offer, and in which state.

Facts in, an offer out: no I/O, no clock, no setting but the marketplace's account. It makes no difference who
prepared the schedule, or whether anybody reported a signature.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from marketplace.hedera.hbar import TINYBARS
from marketplace.hedera.ids import MAX_HBAR, MAX_INT64, TransactionId
from marketplace.ledger.mirror_schemas import LedgerKey, Schedule, Transaction
from marketplace.market.listing_rule import Undecided
from marketplace.market.memos import read_offer_memo
from marketplace.store.rows import OfferState

if TYPE_CHECKING:
    from hiero_sdk_python.hapi.services.basic_types_pb2 import AccountID, Key

    from marketplace.hedera.scheduled_sale import ScheduledSale

MAX_FEE_TINYBARS = 10 * TINYBARS  # the highest cap of the execution's fee, which the bidder pays
CREATION, SIGNATURE, DELETION = "SCHEDULECREATE", "SCHEDULESIGN", "SCHEDULEDELETE"
MAX_SIGNATURES = 20  # transactions that a state depends on: the first ones
ENDED = ("executed", "failed", "withdrawn", "expired")


class Facts(NamedTuple):
    """One schedule as the ledger shows it. Each part may come from another replica of the mirror node."""

    schedule: Schedule
    key: LedgerKey | None = None  # of the bidder's account; not needed if the schedule has ended
    # By consensus timestamp: the transaction that created it, those of list_signed(), its execution, and its
    # deletion if the date of that is known
    transactions: Mapping[int, Transaction] = {}
    shown_to: int = 0  # the consensus time up to which every replica shows all that happened


class Offer(NamedTuple):
    """One schedule of the marketplace's account with the form of an offer."""

    schedule_id: str
    token: str
    serial_no: int
    seller: str
    bidder: str
    price: int  # HBAR
    transaction_id: TransactionId  # of its creation, and of its execution
    created_at: int  # consensus timestamps, in nanoseconds
    expires_at: int
    body: bytes  # the scheduled transaction, a SchedulableTransactionBody
    state: OfferState
    state_at: int  # of the newest change whose date is known
    # What the state follows from: the bidder's signature, the execution, or the deletion if its date is known
    by: Transaction | None = None


def decide(facts: Facts, market: str) -> Offer | Undecided | None:
    """Apply the rule. A schedule is an offer exactly when

    1. the marketplace's account created it, the bidder pays for its execution, and it is executed as soon as
       all have signed;
    2. its transaction is exactly that of hedera/scheduled_sale.py: one NFT from its owner to the bidder, for
       whole HBAR to the owner, less the marketplace's part; with an offer's memo.

    The offer is signed while the bidder's account has paid for a ScheduleSign with all signatures that the
    account's current key requires. Others' transactions do not count: the network does not verify signatures
    that it does not need, so anybody could add a false one under the bidder's key.

    Returns None for any other schedule.
    """
    schedule, sale = facts.schedule, read_sale(facts.schedule, market)
    if sale is None or schedule.expires_at is None:
        return None
    created = facts.transactions.get(schedule.created_at)
    if created is None:
        return Undecided("the transaction of its creation is not there")
    state: OfferState = "unsigned"
    by: Transaction | None = None
    if schedule.executed_at:
        by = facts.transactions.get(schedule.executed_at)
        if by is None:
            return Undecided("the transaction of its execution is not there")
        state = "executed" if by.result == "SUCCESS" else "failed"
    elif schedule.is_deleted:
        state, by = "withdrawn", _find_deletion(facts)
    elif schedule.expires_at <= facts.shown_to:
        state = "expired"
    else:
        for moment in list_signed(schedule, facts.key):
            if moment not in facts.transactions:
                return Undecided("the transaction of a signature is not there")
            if _is_signature(facts.transactions[moment], schedule, sale.bidder):
                state, by = "signed", facts.transactions[moment]
                break
        if state == "unsigned" and facts.shown_to < find_signed_at(schedule):
            return Undecided("the newest signature may be of a key that is not shown yet")
    return Offer(
        schedule.id,
        sale.token,
        sale.serial_no,
        sale.seller,
        sale.bidder,
        sale.price,
        created.transaction_id,
        schedule.created_at,
        schedule.expires_at,
        schedule.body,
        state,
        max(schedule.newest_at, by.consensus_at if by else 0),
        by,
    )


def has_ended(schedule: Schedule, shown_to: int) -> bool:
    """Whether a schedule's state no longer depends on who has signed it."""
    is_over = schedule.expires_at is not None and schedule.expires_at <= shown_to
    return bool(schedule.executed_at) or schedule.is_deleted or is_over


def _find_deletion(facts: Facts) -> Transaction | None:
    deletions = (
        row
        for row in facts.transactions.values()
        if (row.name, row.entity_id, row.result) == (DELETION, facts.schedule.id, "SUCCESS")
    )
    return next(deletions, None)


def _is_signature(transaction: Transaction, schedule: Schedule, bidder: str) -> bool:
    """Whether the bidder's account paid for a signature. If so, the network has verified its signatures."""
    is_of_schedule = transaction.name == SIGNATURE and transaction.entity_id == schedule.id
    is_paid = transaction.is_original and transaction.payer == bidder
    return is_of_schedule and is_paid and transaction.result == "SUCCESS"


def find_signed_at(schedule: Schedule) -> int:
    """The date of the newest signature since its creation; 0 if there is none."""
    moments = (signature.consensus_at for signature in schedule.signatures)
    return max((moment for moment in moments if moment > schedule.created_at), default=0)


def list_signed(schedule: Schedule, key: LedgerKey | None) -> list[int]:
    """When transactions signed a schedule with every signature that a key requires, the oldest first."""
    moments = sorted({signature.consensus_at for signature in schedule.signatures})
    signed = [moment for moment in moments if key and _satisfies(key, _signers(schedule, moment))]
    return signed[:MAX_SIGNATURES]


def _signers(schedule: Schedule, moment: int) -> set[bytes]:
    of_moment = (each for each in schedule.signatures if each.consensus_at == moment)
    return {signature.public_key for signature in of_moment}


def _satisfies(key: LedgerKey, signers: Collection[bytes]) -> bool:
    """Whether these public keys are enough for a key."""
    if key.type != "ProtobufEncoded":
        return key.content in signers
    from google.protobuf.message import DecodeError
    from hiero_sdk_python.hapi.services.basic_types_pb2 import Key  # the SDK takes 70 MB

    try:
        return _satisfies_nested(Key.FromString(key.content), signers)
    except DecodeError:
        return False


def _satisfies_nested(key: "Key", signers: Collection[bytes]) -> bool:
    kind = key.WhichOneof("key")
    if kind in ("keyList", "thresholdKey"):
        keys = (key.keyList if kind == "keyList" else key.thresholdKey.keys).keys
        needed = len(keys) if kind == "keyList" else key.thresholdKey.threshold
        return 0 < needed <= sum(_satisfies_nested(each, signers) for each in keys)
    return kind in ("ed25519", "ECDSA_secp256k1") and getattr(key, kind) in signers


def read_sale(schedule: Schedule, market: str) -> "ScheduledSale | None":
    """Read the sale that a schedule executes; None unless it has the form of an offer."""
    from google.protobuf.message import DecodeError

    if schedule.creator != market or schedule.waits_for_expiry:
        return None
    try:
        sale = _read_body(schedule.body, market)
    except (DecodeError, StopIteration, UnicodeDecodeError):
        return None
    if sale is None or sale.bidder != schedule.payer or sale.memo != schedule.memo:
        return None
    return sale


def _read_body(content: bytes, market: str) -> "ScheduledSale | None":
    from hiero_sdk_python.hapi.services.schedulable_transaction_body_pb2 import (
        SchedulableTransactionBody,
    )

    from marketplace.hedera.scheduled_sale import ScheduledSale

    body = SchedulableTransactionBody.FromString(content)
    units = next(iter(body.cryptoTransfer.tokenTransfers))
    moved = next(iter(units.nftTransfers))
    token = f"{units.token.shardNum}.{units.token.realmNum}.{units.token.tokenNum}"
    seller, bidder = _write_id(moved.senderAccountID), _write_id(moved.receiverAccountID)
    amounts = {
        _write_id(each.accountID): each.amount
        for each in body.cryptoTransfer.transfers.accountAmounts
    }
    price, rest = divmod(-amounts.get(bidder, 0), TINYBARS)
    part = amounts.get(market, 0) if market != seller else 0
    sale = ScheduledSale(
        token,
        moved.serialNumber,
        seller,
        bidder,
        price,
        part,
        market,
        body.memo,
        body.transactionFee,
    )
    is_sane = (
        not rest
        and 1 <= price <= MAX_HBAR
        and 0 <= part <= price * TINYBARS
        and 1 <= moved.serialNumber <= MAX_INT64
        and bidder not in (seller, market)
        and 1 <= body.transactionFee <= MAX_FEE_TINYBARS
        and read_offer_memo(body.memo.encode(), token, moved.serialNumber) == price
    )
    # Any other content, known or unknown, changes the bytes. The same library read both.
    if is_sane and body.SerializeToString(deterministic=True) == sale.build().SerializeToString(
        deterministic=True
    ):
        return sale
    return None


def _write_id(account: "AccountID") -> str:
    return f"{account.shardNum}.{account.realmNum}.{account.accountNum}"
