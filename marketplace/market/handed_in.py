"""Takes transactions that a wallet signed and returned, and submits them."""

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
from marketplace.market import mirror_turns, reports, submission
from marketplace.market.buying.hand_in import hand_in
from marketplace.market.prepare import Caller, TransactionRequest
from marketplace.market.report_rule import NAMES
from marketplace.market.reports import Answer
from marketplace.services import mirror_node
from marketplace.store import prepared_transactions
from marketplace.store.database import read as read_database
from marketplace.store.prepared_transactions import PreparedTransactionRow

if TYPE_CHECKING:  # the SDK takes 70 MB
    from marketplace.hedera.signed import Signed


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
    if read.transaction_id.account_id == current_app.config["ACCOUNT_ID"] and request.nft_ids:
        row, is_new = hand_in(request, read)
    else:
        row, is_new = _pass_on(read), True
    if row["kind"] not in NAMES or (is_new and not _is_shown(read.transaction_id, request.caller)):
        return Answer(True, expires_at=row["expires_at"])
    return reports.answer(request.account_id, request.nft_ids, transaction_id, request.caller)


def _pass_on(signed: "Signed") -> PreparedTransactionRow:
    """Submit a transaction that its signer pays for, if it was prepared here, byte for byte."""
    from marketplace.hedera.encoding import list_forms
    from marketplace.hedera.signed import read, write

    id = str(signed.transaction_id)
    row = prepared_transactions.get_prepared_transaction(read_database(), id)
    kind = row["kind"].replace("_", " ") if row else "transaction"
    if (
        row is None
        or row["unsigned"] is None
        or signed.body not in list_forms(read(bytes(row["unsigned"])).body)
    ):
        raise NotAsPrepared(id, kind)
    if row["expires_at"] <= times.to_iso(times.now()):
        raise TransactionExpired(id, kind)
    submission.submit(write(signed.body, signed.pairs), signed.node, id, kind)
    return row


def _is_shown(transaction_id: TransactionId, caller: Caller) -> bool:
    """Look once: what was just submitted is shown some seconds later."""
    try:
        with mirror_turns.take(caller, 1) as deadline:
            return bool(mirror_node().list_transactions(transaction_id, deadline))
    except (LedgerBusy, LedgerAnswerInvalid, Unavailable):
        return False
