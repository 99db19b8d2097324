"""Answers reports of signed transactions about offers: compares the offer with the ledger, then judges.

| The report                                              | answer       |
|---------------------------------------------------------|--------------|
| The offer is as the reported transaction wants it       | OK           |
| The ledger refused the transaction                      | Refused      |
| It is on the ledger, and the offer may follow           | PENDING      |
| It may still be submitted, or be shown                  | PENDING      |
| The offer has ended otherwise                           | OfferEnded   |
| It never was submitted                                  | Expired      |
| Nothing was prepared for the account                    | OfferUnknown |
"""

from marketplace.errors import (
    MarketplaceError,
    NotTheBidder,
    TransactionExpired,
    TransactionRefused,
)
from marketplace.hedera import times
from marketplace.hedera.ids import TransactionId
from marketplace.ledger import ALLOWED_LAG, Deadline
from marketplace.market import mirror_turns
from marketplace.market.add_nft import find_account_id
from marketplace.market.offers import checks
from marketplace.market.offers.answers import require_unended
from marketplace.market.prepare import OPERATOR, Caller
from marketplace.market.report_rule import LONGEST_VALIDITY
from marketplace.market.reports import Answer
from marketplace.services import mirror_node
from marketplace.store import prepared_transactions
from marketplace.store.database import read
from marketplace.store.rows import Kind, OfferRow, PreparedTransactionRow

# The states that each kind wants. An executed offer was signed before.
WANTED: dict[Kind, tuple[str, ...]] = {
    "offer_signature": ("signed", "executed", "failed"),
    "acceptance": ("executed",),
    "offer_withdrawal": ("withdrawn",),
}
WORDS: dict[Kind, str] = {
    "offer_signature": "offer",
    "acceptance": "acceptance",
    "offer_withdrawal": "withdrawal",
}


def answer(
    account_id: str, offer_id: str, transaction_id: str | None = None, caller: Caller = OPERATOR
) -> Answer:
    """Tell whether an account's signed transaction about an offer had its effect.

    Raises OffersOff, OfferUnknown, AccountNotOnLedger, NotTheBidder, OfferEnded, TransactionRefused,
    TransactionExpired, LedgerBusy, and the ledger's own errors.
    """
    checks.require_on()
    with mirror_turns.take(caller) as deadline:
        account_id = find_account_id(account_id, deadline)
        offer = checks.find_offer(offer_id, deadline)
        row = _find_prepared(account_id, offer, transaction_id, caller)
        kind = row["kind"] if row else _guess(account_id, offer)
        if offer["state"] in WANTED[kind]:
            return Answer(False)
        return _judge(kind, offer, row, transaction_id, deadline)


def _find_prepared(
    account_id: str, offer: OfferRow, transaction_id: str | None, caller: Caller
) -> PreparedTransactionRow | None:
    """Find the transaction prepared under an id, or the account's newest without one; None if none exists."""
    offer_id, by = offer["schedule_id"], (caller.token, caller.end_user)
    if transaction_id:
        row = prepared_transactions.get_prepared_transaction(read(), transaction_id)
        is_this = row and (row["schedule_id"], row["account_id"]) == (offer_id, account_id)
        if row and is_this:
            return row
    find = prepared_transactions.get_newest_of_schedule
    return find(read(), offer_id, account_id, by) or find(read(), offer_id, account_id)


def _guess(account_id: str, offer: OfferRow) -> Kind:
    """The kind of transaction that an account must have signed, if none was prepared here."""
    if account_id == offer["bidder"]:
        return "offer_signature"
    if account_id == offer["seller"]:
        return "acceptance"
    raise NotTheBidder(account_id, offer["schedule_id"], offer["bidder"])


def _judge(
    kind: Kind,
    offer: OfferRow,
    row: PreparedTransactionRow | None,
    transaction_id: str | None,
    deadline: Deadline,
) -> Answer:
    named = transaction_id or (row["transaction_id"] if row else None)
    rows = []
    if named:
        rows = mirror_node().list_transactions(TransactionId.require(named), deadline)
    signed = next((each for each in rows if each.is_original), None)
    if named and signed and signed.result != "SUCCESS":
        raise TransactionRefused(named, WORDS[kind], signed.result)
    if offer["state"] == "failed":
        raise _find_failure(offer, kind, deadline)
    require_unended(offer)
    expires_at = row["expires_at"] if row else None
    if named and row is None:
        start = TransactionId.require(named).valid_start
        expires_at = times.to_iso(start + LONGEST_VALIDITY)
    overdue = min(times.now(), mirror_node().recall_present(deadline).ended_at) - ALLOWED_LAG
    if signed is None and named and (expires_at or "") < times.to_iso(overdue):
        raise TransactionExpired(named, WORDS[kind])
    return Answer(True, expires_at=expires_at)


def _find_failure(offer: OfferRow, kind: Kind, deadline: Deadline) -> MarketplaceError:
    """The ledger refused the sale itself. Its row has the id of the offer's creation."""
    transaction_id = TransactionId.require(offer["transaction_id"])
    rows = mirror_node().list_transactions(transaction_id, deadline)
    executed = next((each for each in rows if each.scheduled), None)
    result = executed.result if executed else "UNKNOWN"
    return TransactionRefused(offer["transaction_id"], WORDS[kind], result)
