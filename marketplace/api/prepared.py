"""How prepared transactions are answered, and what is not on the ledger yet."""

from typing import Any

from flask import current_app

from marketplace.market.listing.prepared import PreparedTransaction

Answer = dict[str, Any]

RETRY_AFTER_SECONDS = 3  # about the delay of mirror nodes


def answer_prepared(prepared: PreparedTransaction) -> Answer:
    metadata = {
        "account_id": prepared.account_id,
        "return_transaction": prepared.returns,
        "transaction_id": prepared.transaction_id,
        "expires_at": prepared.expires_at,
        "network": current_app.config["NETWORK"],
        "offer_id": prepared.offer_id,
        "seller_receives": (
            None if prepared.seller_receives is None else str(prepared.seller_receives)
        ),
    }
    return {"transaction": prepared.transaction, "metadata": metadata}
