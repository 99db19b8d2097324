"""Takes transactions that a wallet signed and returned, and submits them."""

from flask import current_app

from marketplace.errors import (
    FieldInvalid,
    LedgerAnswerInvalid,
    LedgerBusy,
    NotPrepared,
    Unavailable,
)
from marketplace.hedera.ids import TransactionId
from marketplace.market import mirror_turns, reports
from marketplace.market.buying.hand_in import hand_in
from marketplace.market.prepare import Caller, TransactionRequest
from marketplace.market.reports import Answer
from marketplace.services import mirror_node


def answer(request: TransactionRequest, transaction: bytes, signature_map: bytes) -> Answer:
    """Submit a signed transaction, and tell whether the ledger shows its effect already.

    ``signature_map``: further signatures. Raises FieldInvalid; what hand_in() and reports.answer() do.
    """
    from marketplace.hedera import signed

    try:
        read = signed.read(transaction, signature_map)
    except signed.Unreadable as error:
        message = f"must be a signed transaction: {error}"
        raise FieldInvalid({"json": {"signedTransaction": [message]}}) from None
    transaction_id = str(read.transaction_id)
    if read.transaction_id.account_id != current_app.config["ACCOUNT_ID"]:
        raise NotPrepared(request.account_id, *request.nft_ids[0], transaction_id)
    row, is_new = hand_in(request, read)
    if is_new and not _is_shown(read.transaction_id, request.caller):
        return Answer(True, expires_at=row["expires_at"])
    return reports.answer(request.account_id, request.nft_ids, transaction_id, request.caller)


def _is_shown(transaction_id: TransactionId, caller: Caller) -> bool:
    """Look once: what was just submitted is shown some seconds later."""
    try:
        with mirror_turns.take(caller, 1) as deadline:
            return bool(mirror_node().list_transactions(transaction_id, deadline))
    except (LedgerBusy, LedgerAnswerInvalid, Unavailable):
        return False
