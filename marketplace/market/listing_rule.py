"""The rule of a listing: the ledger alone decides whether an NFT is for sale, and at which price.

Facts in, a verdict out: no I/O, no clock, no setting but the marketplace's account. It makes no difference
who prepared or reported a listing, under which transaction id, or in which order the facts were read.
"""

from typing import NamedTuple

from marketplace.ledger.objects import History, HistoryEntry, Nft, Transaction, TransactionType
from marketplace.market.memos import read_listing_memo

# Increment this when the rule decides the same facts differently. A sweep then judges again each NFT that the
# marketplace may spend, but that is stored as not for sale.
VERSION = 2
POINTS = ("May be spent", "Approved by its owner", "Memo of a listing")
GONE = "it was burned, or its token was deleted"
NOT_SPENDABLE = "the marketplace may not spend it"
WITHDRAWN = "its owner withdrew the approval"


class NftFacts(NamedTuple):
    """One NFT as the ledger shows it. Each part may come from another replica of the mirror node."""

    nft: Nft
    history: History | None = None  # not needed if the NFT's own row decides
    transaction: Transaction | None = None  # the row with exactly the last event's timestamp


class ForSale(NamedTuple):
    """The owner has approved the marketplace to spend it, and signed a price."""

    listing_price: int  # HBAR
    listed_at: int  # consensus timestamp, in nanoseconds
    decided_by: HistoryEntry | None = None

    @property
    def points_held(self) -> int:
        return len(POINTS)


class NotForSale(NamedTuple):
    reason: str
    points_held: int = 0  # the first ones; the next one does not hold
    decided_by: HistoryEntry | None = (
        None  # the event that ended the listing, if its history was read
    )


class Undecided(NamedTuple):
    """The facts contradict each other, because replicas differ: they must be read again."""

    reason: str
    points_held: int = 0  # the first ones; the next one is undecided
    decided_by: HistoryEntry | None = None


Verdict = ForSale | NotForSale | Undecided


def needs_history(nft: Nft, market: str) -> bool:
    """Tell whether the NFT's own row is not enough to decide. Only a row that ends a listing is enough."""
    return nft.spender == market and not nft.is_gone


def explain_end(reason: str) -> str:
    """Why a listing has ended, though its NFT still belongs to who listed it."""
    return WITHDRAWN if reason == NOT_SPENDABLE else reason


def decide(facts: NftFacts, market: str) -> Verdict:
    """Apply the rule, and tell which of its points hold. An NFT is for sale exactly when

    1. the ledger has it, neither burned nor of a deleted token, with an owner, and the marketplace may
       spend it;
    2. the newest entry of its history that can change owner or spender is an approval, and the transaction
       with exactly its timestamp was paid by the owner, and was neither scheduled nor made by a contract.
       Other rows under its id do not count: the first row of a schedule has a memo that its payer wrote;
    3. the memo names this NFT and a price.
    """
    nft, history, approval = facts
    event = history.last_event if history else None
    if not needs_history(nft, market):
        return NotForSale(GONE if nft.is_gone else NOT_SPENDABLE, 0, event)
    if history is None or history.newest_at != nft.modified_at:
        return Undecided("its row and its history are of different moments", 1, event)
    if history.is_cut:
        too_far = "its last event is too far back: its metadata was updated too often since"
        return NotForSale(too_far, 1)
    if event is None:
        return Undecided("its history does not say who may spend it", 1)
    if event.name != TransactionType.APPROVAL:
        return NotForSale(f"a later {event.name} ended it", 1, event)
    id = event.transaction_id
    if (
        approval is None
        or approval.consensus_at != event.consensus_at
        or approval.result != "SUCCESS"
    ):
        return Undecided(f"the transaction of its last event, {id}, is not there", 1, event)
    if approval.name != TransactionType.APPROVAL or not approval.is_original:
        return NotForSale(f"a schedule or a contract approved it: {id}", 1, event)
    if approval.payer != nft.owner:
        return NotForSale(f"{id} was paid by {approval.payer}, not by its owner", 1, event)
    price = read_listing_memo(approval.memo, nft.token, nft.serial_no)
    if price is None:
        memo = f"the memo of {id} names no price for it"
        return NotForSale(f"a later {TransactionType.APPROVAL} ended it: {memo}", 2, event)
    return ForSale(price, approval.consensus_at, event)
