"""The rule of an offer: the ledger alone decides whether a schedule is an offer, and in which state.

The transaction inside of the schedule has one form: that of hedera/scheduled_sale.py.
"""

from typing import NamedTuple

from marketplace.hedera.ids import TransactionId
from marketplace.store.rows import OfferState


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
    state_at: int  # of the newest fact that the state follows from
    opened_at: int | None = None  # of the bidder's signature
