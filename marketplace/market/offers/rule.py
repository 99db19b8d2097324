"""The rule of an offer: the ledger alone decides whether a schedule is an offer, and in which state.

Facts in, an offer out: no I/O, no clock. It makes no difference who prepared the schedule, or whether anybody
reported a signature.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from marketplace.events import EventKind
from marketplace.hedera import times
from marketplace.hedera.hbar import TINYBARS, find_credit
from marketplace.hedera.ids import MAX_HBAR, MAX_INT64, TransactionId, numbers
from marketplace.ledger.objects import LedgerKey, Schedule, Transaction, TransactionType
from marketplace.market.listing_rule import Undecided
from marketplace.market.memos import read_offer_memo
from marketplace.store.offers import OfferState

if TYPE_CHECKING:
    from marketplace.hedera.transactions import ScheduledSale

MAX_FEE_TINYBARS = 10 * TINYBARS  # the highest cap of the execution's fee, which the bidder pays
LIFE = 1800 * times.SECOND  # of a schedule that names no expiry, as some SDKs leave it out
MAX_SIGNATURES = 5  # after the creation: an owner's acceptance is looked for in the first ones


class End(NamedTuple):
    """How an offer can end, for good."""

    state: str  # in the API's words
    reason: str  # why nobody can sign it any more, as the end of a sentence
    event: EventKind | None  # a sale is an event of its NFT


ENDS: dict[str, End] = {
    "executed": End("ACCEPTED", "was accepted already", None),
    "failed": End(
        "FAILED", "was accepted, and the ledger refused the sale", EventKind.OFFER_FAILED
    ),
    "withdrawn": End("WITHDRAWN", "was withdrawn", EventKind.OFFER_WITHDRAWN),
    "expired": End("EXPIRED", "has expired", EventKind.OFFER_EXPIRED),
}


class Shop(NamedTuple):
    """What the marketplace asks for."""

    market: str  # its account
    basis_points: int  # of a price, for the marketplace

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Shop":
        return cls(config["ACCOUNT_ID"], config["SALE_FEE_BASIS_POINTS"])


class OfferFacts(NamedTuple):
    """One schedule as the ledger shows it. Each part may come from another replica of the mirror node."""

    schedule: Schedule
    # Of the bidder's account; not needed if the schedule has ended.
    key_at_creation: LedgerKey | None = None
    key: LedgerKey | None = None
    # By consensus timestamp: its creation, its execution, what may be an acceptance, and that of changed_at
    transactions: Mapping[int, Transaction] = {}
    shown_to: int = 0  # the consensus time up to which every replica shows all that happened
    changed_at: int = 0  # of the newest transaction that may have changed the offer, if known
    since: int = 0  # of the oldest of several that may have


class Offer(NamedTuple):
    """One schedule with the form of an offer."""

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
    state_at: int  # of the schedule's newest change whose date is known
    # What the state follows from: the creation, a new key, the execution or the deletion, if known
    by: Transaction | None = None
    accepted: Transaction | None = None  # the owner's signature, if it did not execute the sale


def decide(facts: OfferFacts, shop: Shop) -> Offer | Undecided | None:
    """Apply the rule. A schedule is an offer exactly when

    1. its creator is the bidder, who also pays for its execution, and it is executed as soon as all have
       signed;
    2. its transaction is exactly that of ScheduledSale: one NFT from its owner to the bidder, for
       whole HBAR to the owner, less at least the part that the marketplace asks for;
    3. its memos and that of the transaction which created it are of an offer's form, and name this NFT and
       this price.

    The offer is open while the bidder's account has the key with which it created the schedule: the network
    has verified all signatures that this key requires, and keeps them. Signatures that others add, or that
    the key did not require then, do not count: the network does not verify them.

    Returns None for any other schedule.
    """
    schedule, sale = facts.schedule, read_sale(facts.schedule, shop)
    if sale is None:
        return None
    created = facts.transactions.get(schedule.created_at)
    if created is None:
        return Undecided("the transaction of its creation is not there")
    if read_offer_memo(created.memo, sale.token, sale.serial_no) != sale.price:
        return None
    offer = Offer(
        schedule.id,
        sale.token,
        sale.serial_no,
        sale.seller,
        sale.bidder,
        sale.price,
        created.transaction_id,
        schedule.created_at,
        find_expiry(schedule),
        schedule.body,
        "open",
        schedule.newest_at,
        created,
    )
    if has_ended(schedule, facts.shown_to):
        return _decide_end(facts, offer)
    return _decide_open(facts, offer)


def _decide_end(facts: OfferFacts, offer: Offer) -> Offer | Undecided:
    if executed_at := facts.schedule.executed_at:
        by = facts.transactions.get(executed_at)
        if by is None:
            return Undecided("the transaction of its execution is not there")
        return offer._replace(state="executed" if by.result == "SUCCESS" else "failed", by=by)
    if facts.schedule.is_deleted:
        by = _find_change(facts, TransactionType.SCHEDULE_DELETION, facts.schedule.id)
        state_at = max(offer.state_at, by.consensus_at if by else 0)
        return offer._replace(state="withdrawn", by=by, state_at=state_at)
    return offer._replace(state="expired", by=None)


def _decide_open(facts: OfferFacts, offer: Offer) -> Offer | Undecided:
    """Compare the bidder's key with that of the creation.

    Another key closes the offer at once. The same key opens it only if no replica may lack a newer change: an
    account that changes its key back and forth keeps nothing open.
    """
    if facts.key_at_creation is None:
        return Undecided("the bidder's key at its creation is not there")
    by = _find_change(facts, TransactionType.ACCOUNT_UPDATE, offer.bidder)
    accepted = _find_acceptance(facts, offer)
    if facts.key != facts.key_at_creation:
        # With the key of its creation, the owner's signature would have executed it.
        is_later = by or accepted or facts.shown_to >= offer.created_at
        if is_later:
            return offer._replace(state="closed", by=by, accepted=accepted)
        return Undecided("the bidder's key is another one, or the mirror node shows an older one")
    known_to = max(facts.shown_to, facts.schedule.created_at)
    if facts.changed_at > known_to and not _shows_change(facts):
        return Undecided("a change within the last 90 seconds may not be shown yet")
    return offer._replace(by=by or offer.by, accepted=accepted)


def _shows_change(facts: OfferFacts) -> bool:
    """Whether the schedule itself is what has changed, and shows it. A key's change shows nowhere else."""
    return facts.since in (0, facts.changed_at) and facts.changed_at in facts.schedule.moments


def _find_change(facts: OfferFacts, name: str, entity_id: str) -> Transaction | None:
    """The newest change, if it is of this type and this entity."""
    row = facts.transactions.get(facts.changed_at)
    is_this = row and (row.name, row.entity_id, row.result) == (name, entity_id, "SUCCESS")
    return row if is_this else None


def _find_acceptance(facts: OfferFacts, offer: Offer) -> Transaction | None:
    """The owner's own ScheduleSign. The network has verified its signatures, as the owner paid for it."""
    for _, row in sorted(facts.transactions.items()):
        is_sign = row.name == TransactionType.SCHEDULE_SIGNATURE and row.is_original
        if is_sign and (row.entity_id, row.payer) == (offer.schedule_id, offer.seller):
            return row
    return None


def find_expiry(schedule: Schedule) -> int:
    return schedule.expires_at or schedule.created_at + LIFE


def has_ended(schedule: Schedule, shown_to: int) -> bool:
    """Whether a schedule can no longer be signed. By ``shown_to``, every replica shows an execution."""
    is_over = bool(schedule.executed_at) or schedule.is_deleted
    return is_over or find_expiry(schedule) <= shown_to


def list_signed(schedule: Schedule) -> list[int]:
    """When the first transactions signed a schedule after its creation. Anybody can add more."""
    moments = {signature.consensus_at for signature in schedule.signatures}
    return sorted(moment for moment in moments if moment > schedule.created_at)[:MAX_SIGNATURES]


def read_sale(schedule: Schedule, shop: Shop) -> "ScheduledSale | None":
    """Read the sale that a schedule executes; None unless it has the form of an offer."""
    from google.protobuf.message import DecodeError

    if schedule.creator != schedule.payer or schedule.waits_for_expiry:
        return None
    try:
        sale = _read_body(schedule.body, shop.market)
    except (DecodeError, StopIteration, UnicodeDecodeError):
        return None
    if sale is None or sale.bidder != schedule.payer or sale.memo != schedule.memo:
        return None
    asked = sale.price * TINYBARS - find_credit(sale.price, shop.basis_points)
    is_paid = sale.seller == shop.market or sale.part_tinybars >= asked
    return sale if is_paid else None


def read_part(content: bytes, market: str) -> int:
    """The marketplace's part of a stored offer's price, in tinybars."""
    sale = _read_body(content, market)
    return sale.part_tinybars if sale else 0


def _read_body(content: bytes, market: str) -> "ScheduledSale | None":
    from hiero_sdk_python.hapi.services.schedulable_transaction_body_pb2 import (
        SchedulableTransactionBody,
    )

    from marketplace.hedera.transactions import ScheduledSale, read_account_id

    body = SchedulableTransactionBody.FromString(content)
    units = next(iter(body.cryptoTransfer.tokenTransfers))
    moved = next(iter(units.nftTransfers))
    token = f"{units.token.shardNum}.{units.token.realmNum}.{units.token.tokenNum}"
    seller, bidder = map(read_account_id, (moved.senderAccountID, moved.receiverAccountID))
    amounts = {
        read_account_id(each.accountID): each.amount
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
    # SDKs differ in the order of the accounts. Any other content, known or unknown, changes the bytes: the
    # same library read both.
    body.cryptoTransfer.transfers.accountAmounts.sort(
        key=lambda each: numbers(read_account_id(each.accountID))
    )
    if is_sane and body.SerializeToString(deterministic=True) == sale.build().SerializeToString(
        deterministic=True
    ):
        return sale
    return None
