"""The price of a sale: what the marketplace's own transaction said.

Only the marketplace signs transactions that its account pays for. So their memos are its own words, and the
prices of its prepared purchases are those that were paid. The HBAR that a buyer paid in the end says less: a
mirror node shows them net of staking rewards, and of royalties that the buyer collects. They only confirm a
memo: the account's owner may use it for other transactions, too.
"""

from flask import current_app

from marketplace.hedera.hbar import TINYBARS, format_amount
from marketplace.hedera.ids import NftId
from marketplace.ledger import Deadline
from marketplace.ledger.mirror_schemas import NftEvent, Transaction
from marketplace.market.memos import read_purchase_memo
from marketplace.services import mirror_node
from marketplace.store import prepared_transactions
from marketplace.store.database import read


class TransactionNotShown(Exception):
    """The mirror node shows an entry of a history, but not yet its transaction."""


def may_be_sale(move: NftEvent) -> bool:
    """Tell whether an entry may be a sale of this marketplace: it spent an approval, and paid the fee."""
    return move.is_move and move.is_approval and move.payer == current_app.config["ACCOUNT_ID"]


def find_price(nft_id: NftId, move: NftEvent, deadline: Deadline) -> int | None:
    """The price of one NFT in HBAR, as our transaction named it; None if it was no sale.

    ``move`` is the NFT's change of owner. Raises TransactionNotShown, and the ledger's errors.
    """
    prepared = prepared_transactions.get_prepared_nft(read(), str(move.transaction_id), *nft_id)
    if prepared:
        return prepared["price"]
    # By its id: a list of transactions has no fees of tokens.
    rows = mirror_node().list_transactions(move.transaction_id, deadline)
    signed = next((row for row in rows if row.consensus_at == move.consensus_at), None)
    if signed is None:
        raise TransactionNotShown
    return read_price(signed, nft_id, move.receiver or "") if signed.is_original else None


def read_price(transaction: Transaction, nft_id: NftId, buyer: str) -> int | None:
    """The price in HBAR in the memo of a transaction of ours, if the buyer paid it; otherwise None."""
    price = read_purchase_memo(transaction.memo, *nft_id)
    paid = transaction.find_paid(buyer)
    if price is not None and paid != price * TINYBARS:
        current_app.logger.warning(
            "The memo of %s says that %s was sold for %s HBAR, but %s paid %s. It does not count as a sale.",
            transaction.transaction_id,
            nft_id,
            price,
            buyer,
            format_amount(paid),
        )
        return None
    return price
