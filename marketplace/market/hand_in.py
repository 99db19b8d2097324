"""Takes a signed transaction: passes a purchase to buying/, and submits any other one unchanged."""

from typing import TYPE_CHECKING

from flask import current_app

from marketplace.errors import (
    FieldInvalid,
    LedgerAnswerInvalid,
    LedgerBusy,
    NotAsPrepared,
    TransactionExpired,
    Unavailable,
)
from marketplace.hedera import times
from marketplace.hedera.ids import TransactionId
from marketplace.market import nodes, report
from marketplace.market.buying import purchase
from marketplace.market.report_rule import NAMES, ReportAnswer
from marketplace.market.requests import Caller, TransactionRequest, begin
from marketplace.services import mirror_node, read
from marketplace.store import prepared_transactions
from marketplace.store.prepared_transactions import PreparedTransactionRow

if TYPE_CHECKING:  # the SDK takes 70 MB
    from marketplace.hedera.signatures import SignedBody


def hand_in(request: TransactionRequest, transaction: bytes, signature_map: bytes) -> ReportAnswer:
    """Submit a signed transaction, and tell whether the ledger shows its effect already.

    ``signature_map``: further signatures. Raises FieldInvalid, and the errors of a purchase and of a report.
    """
    from marketplace.hedera import signatures

    try:
        handed_in = signatures.read(transaction, signature_map)
    except signatures.Unreadable as error:
        message = f"must be a signed transaction: {error}"
        raise FieldInvalid({"json": {"signedTransaction": [message]}}) from None
    is_purchase = handed_in.transaction_id.account_id == current_app.config["ACCOUNT_ID"]
    if is_purchase and request.nft_ids:
        row, is_new = purchase.hand_in(request, handed_in)
    else:
        row, is_new = _submit_unchanged(handed_in), True
    is_unseen = is_new and not _is_on_ledger(handed_in.transaction_id, request.caller)
    if is_unseen or row["kind"] not in NAMES:
        return ReportAnswer(True, expires_at=row["expires_at"])
    return report.answer(request, str(handed_in.transaction_id))


def _submit_unchanged(handed_in: "SignedBody") -> PreparedTransactionRow:
    """Submit a transaction that its signer pays for, if it was prepared here, byte for byte."""
    from marketplace.hedera import signatures
    from marketplace.hedera.transactions import list_forms

    id = str(handed_in.transaction_id)
    row = prepared_transactions.get_prepared_transaction(read(), id)
    kind = row["kind"].replace("_", " ") if row else "transaction"
    if (
        row is None
        or row["unsigned"] is None
        or handed_in.body not in list_forms(signatures.read(bytes(row["unsigned"])).body)
    ):
        raise NotAsPrepared(id, kind)
    if row["expires_at"] <= times.to_iso(times.now()):
        raise TransactionExpired(id, kind)
    transaction = signatures.write(handed_in.body, handed_in.pairs)
    nodes.submit(transaction, handed_in.node, id, kind)
    return row


def _is_on_ledger(transaction_id: TransactionId, caller: Caller) -> bool:
    """Look once: what was just submitted is shown some seconds later."""
    payer = TransactionRequest(transaction_id.account_id, caller=caller)
    try:
        with begin(payer) as (_, deadline):
            return bool(mirror_node().list_transactions(transaction_id, deadline))
    except (LedgerBusy, LedgerAnswerInvalid, Unavailable):
        return False
