"""The transactions of an offer that its bidder or the NFT's owner signs and pays for."""

from collections.abc import Callable

from flask import current_app

from marketplace.hedera import times
from marketplace.hedera.ids import TransactionId
from marketplace.market import prepare
from marketplace.market.nodes import next_node
from marketplace.market.prepare import Draft, PreparedNft, PreparedTransaction, TransactionRequest
from marketplace.market.valid_start import find_start
from marketplace.store import prepared_transactions
from marketplace.store.database import write
from marketplace.store.rows import Kind, OfferRow

# Of each kind, account and NFT, the newest ones of an end user are kept, and of all of its access token.
KEPT_FOR_EACH_NFT = 5
KEPT_FOR_EACH_TOKEN = 50
VALID_SECONDS = 180  # the ledger's maximum


def prepare_unsigned(
    kind: Kind, request: TransactionRequest, offer: OfferRow, build: Callable[..., bytes], memo: str
) -> PreparedTransaction:
    """Store and build a transaction about an offer. Raises LedgerBehind, and the database's errors."""
    start, now = find_start(), times.now()
    nft = PreparedNft(offer["token"], offer["serial_no"], offer["price"], offer["seller"])
    draft = Draft(
        kind,
        request.account_id,
        memo,
        now,
        start,
        VALID_SECONDS,
        schedule_id=offer["schedule_id"],
    )
    with write() as db:
        row = prepare.insert(db, request, [nft], draft)
        prepared_transactions.delete_prepared_beyond(
            db, row, of_user=KEPT_FOR_EACH_NFT, of_token=KEPT_FOR_EACH_TOKEN
        )
    transaction = build(
        schedule_id=offer["schedule_id"],
        transaction_id=TransactionId.require(row["transaction_id"]),
        memo=memo,
        max_fee_tinybars=current_app.config["MAX_TRANSACTION_FEE"],
        valid_seconds=VALID_SECONDS,
        node_account_id=next_node(),
    )
    return PreparedTransaction(
        request.account_id, transaction, row["transaction_id"], VALID_SECONDS, offer["schedule_id"]
    )
