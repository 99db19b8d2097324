"""Answers a bidder's or an owner's report about an offer.

| The report about an offer                               | answer              |
|---------------------------------------------------------|---------------------|
| The offer is as the reported transaction wants it       | OK                  |
| The ledger refused the transaction                      | Refused             |
| The owner accepted a minute ago, and nothing was sold   | OfferNotExecuted    |
| It is on the ledger, and the offer may follow           | PENDING             |
| It may still be submitted, or be shown                  | PENDING             |
| The offer has ended otherwise                           | OfferEnded          |
| It never was submitted                                  | Expired             |
"""

from marketplace.errors import (
    MarketplaceError,
    NeitherBidderNorOwner,
    NotPrepared,
    OfferNotExecuted,
    TransactionAltered,
    TransactionExpired,
    TransactionRefused,
)
from marketplace.hedera import times
from marketplace.hedera.ids import TransactionId
from marketplace.ledger import Deadline
from marketplace.ledger.objects import TransactionType
from marketplace.market.offers.prepare import find_offer, prepare_withdrawal, require_unended
from marketplace.market.offers.reconciler import reconcile_offers
from marketplace.market.report_rule import ReportAnswer, find_executed, find_latest_expiry
from marketplace.market.requests import MarketRequest
from marketplace.services import mirror_node
from marketplace.store.offers import OfferRow
from marketplace.store.prepared_transactions import Kind, PreparedTransactionRow

# An acceptance that did not execute the sale by then is reported to the owner.
EXECUTION = times.MINUTE
# The states that each kind wants.
WANTED: dict[Kind, tuple[str, ...]] = {
    "offer": ("open", "closed", "executed", "failed"),
    "acceptance": ("executed",),
    "offer_withdrawal": ("withdrawn",),
}
WORDS: dict[Kind, str] = {
    "offer": "offer",
    "acceptance": "acceptance",
    "offer_withdrawal": "withdrawal",
}


def answer_new(
    row: PreparedTransactionRow, transaction_id: str | None, deadline: Deadline
) -> ReportAnswer:
    """Tell whether the transaction that creates an offer had its effect."""
    named = transaction_id or row["transaction_id"]
    rows = mirror_node().list_transactions(TransactionId.require(named), deadline)
    signed = find_executed(rows)
    if signed is None:
        return _wait(named, "offer", row["expires_at"], deadline)
    if signed.result != "SUCCESS":
        raise TransactionRefused(named, "offer", signed.result)
    if signed.name != TransactionType.SCHEDULE_CREATION or signed.entity_id is None:
        raise TransactionAltered(named, "offer", signed.name)
    offer = reconcile_offers([signed.entity_id], deadline)[signed.entity_id].offer
    if offer is None:
        if signed.consensus_at < times.now() - times.ALLOWED_LAG:
            raise TransactionAltered(named, "offer", signed.name)
        return ReportAnswer(True)
    if offer["state"] not in WANTED["offer"]:
        require_unended(offer)
    return ReportAnswer(False, offer_id=offer["schedule_id"])


def answer(
    request: MarketRequest,
    offer_id: str,
    row: PreparedTransactionRow | None,
    transaction_id: str | None,
    deadline: Deadline,
) -> ReportAnswer:
    """Tell whether an account's signed transaction about an offer had its effect."""
    offer, _ = find_offer(offer_id, deadline)
    if transaction_id and not TransactionId.require(transaction_id).is_possible:
        nft_id = offer["token"], offer["serial_no"]
        raise NotPrepared(request.account_id, *nft_id, transaction_id)
    kind = row["kind"] if row else _guess(request.account_id, offer)
    if offer["state"] in WANTED[kind]:
        return ReportAnswer(False)
    answer = _judge(kind, offer, row, transaction_id, deadline)
    accepted_at = offer["accepted_at"] if kind == "acceptance" else None
    if accepted_at and times.now() - times.to_nanoseconds(accepted_at) > EXECUTION:
        withdrawal = prepare_withdrawal(request, offer)
        ends_at, price = times.to_second(offer["expires_at"]), offer["price"]
        raise OfferNotExecuted(request.account_id, offer_id, ends_at, price, withdrawal)
    return answer


def _guess(account_id: str, offer: OfferRow) -> Kind:
    """The kind of transaction that an account must have signed, if none was prepared here."""
    if account_id == offer["bidder"]:
        return "offer"
    if account_id == offer["seller"]:
        return "acceptance"
    raise NeitherBidderNorOwner(account_id, offer["schedule_id"], offer["bidder"], offer["seller"])


def _judge(
    kind: Kind,
    offer: OfferRow,
    row: PreparedTransactionRow | None,
    transaction_id: str | None,
    deadline: Deadline,
) -> ReportAnswer:
    named = transaction_id or (row["transaction_id"] if row else None)
    rows = []
    if named:
        rows = mirror_node().list_transactions(TransactionId.require(named), deadline)
    signed = find_executed(rows)
    if named and signed and signed.result != "SUCCESS":
        raise TransactionRefused(named, WORDS[kind], signed.result)
    if offer["state"] == "failed":
        raise _find_failure(offer, kind, deadline)
    require_unended(offer)
    if signed or named is None:
        return ReportAnswer(True, expires_at=row["expires_at"] if row else None)
    return _wait(named, WORDS[kind], row["expires_at"] if row else None, deadline)


def _wait(named: str, word: str, expires_at: str | None, deadline: Deadline) -> ReportAnswer:
    """A transaction that is not on the ledger yet. Raises TransactionExpired if it never will be."""
    if expires_at is None:
        expires_at = find_latest_expiry(named)
    overdue = min(times.now(), mirror_node().recall_present(deadline).ended_at) - times.ALLOWED_LAG
    if expires_at < times.to_iso(overdue):
        raise TransactionExpired(named, word)
    return ReportAnswer(True, expires_at=expires_at)


def _find_failure(offer: OfferRow, kind: Kind, deadline: Deadline) -> MarketplaceError:
    """The ledger refused the sale itself. Its row has the consensus time at which the offer ended."""
    executed = mirror_node().find_transaction(times.to_nanoseconds(offer["state_at"]), deadline)
    result = executed.result if executed else "UNKNOWN"
    return TransactionRefused(offer["transaction_id"], WORDS[kind], result)
