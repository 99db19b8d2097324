"""The transactions that a user signs and pays for: stored and built here, and signed by the user's wallet."""

from collections.abc import Callable, Sequence
from functools import partial

from flask import current_app

from marketplace.hedera import times
from marketplace.hedera.ids import TransactionId
from marketplace.market import prepare
from marketplace.market.nodes import next_node
from marketplace.market.prepare import (
    START_BEFORE_NOW,
    VALID_SECONDS,
    Draft,
    PreparedNft,
    PreparedTransaction,
    TransactionRequest,
)
from marketplace.market.valid_start import find_start
from marketplace.store import prepared_transactions
from marketplace.store.database import write
from marketplace.store.offers import OfferRow
from marketplace.store.prepared_transactions import Kind

# For each kind, account and NFT, an end user's newest transactions are kept. A second limit covers all of an
# access token's end users, since a token can invent end users.
KEPT_FOR_EACH_NFT = 5
KEPT_FOR_EACH_TOKEN = 50


def prepare_unsigned(
    kind: Kind,
    request: TransactionRequest,
    nfts: Sequence[PreparedNft],
    memo: str,
    build: Callable[..., bytes],
    offer_id: str | None = None,
    now: int | None = None,
) -> PreparedTransaction:
    """Store a transaction's record, and build the transaction.

    ``build`` receives the parameters that all kinds share. ``now``: the preparation time, by default the
    present. Raises LedgerBehind, and the database's errors.
    """
    start = now - START_BEFORE_NOW if now else find_start()
    now = now or times.now()
    node = next_node()
    draft = Draft(kind, request.account_id, memo, now, start, VALID_SECONDS, schedule_id=offer_id)

    def build_for(transaction_id: TransactionId) -> bytes:
        return build(
            transaction_id=transaction_id,
            memo=memo,
            max_fee_tinybars=current_app.config["MAX_TRANSACTION_FEE"],
            valid_seconds=VALID_SECONDS,
            node_account_id=node,
        )

    with write() as db:
        row = prepare.insert(db, request, nfts, draft, build_for)
        prepared_transactions.delete_prepared_beyond(
            db, row, of_user=KEPT_FOR_EACH_NFT, of_token=KEPT_FOR_EACH_TOKEN
        )
    transaction = bytes(row["unsigned"] or b"")
    return PreparedTransaction(request.account_id, transaction, row["transaction_id"], offer_id)


def prepare_for_offer(
    kind: Kind, request: TransactionRequest, offer: OfferRow, memo: str, build: Callable[..., bytes]
) -> PreparedTransaction:
    """The same for a transaction about an offer's schedule."""
    nft = PreparedNft(offer["token"], offer["serial_no"], offer["price"], offer["seller"])
    build = partial(build, schedule_id=offer["schedule_id"])
    return prepare_unsigned(kind, request, [nft], memo, build, offer["schedule_id"])
