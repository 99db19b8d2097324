"""Finds a sale's price in the memo of the marketplace's own transaction, or in the schedule of an offer.

Only the marketplace signs transactions that its account pays for, so their memos can be trusted. A schedule
must be an offer by its rule. The buyer's HBAR transfers say less: a mirror node shows them net of staking
rewards, and of royalties that the buyer collects. They only confirm a memo, because the account's owner may
use it for other transactions, too.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from flask import current_app

from marketplace.hedera.hbar import TINYBARS, format_amount
from marketplace.hedera.ids import NftId
from marketplace.ledger import Deadline
from marketplace.ledger.objects import LedgerNftTransfer, NftEvent, Transaction
from marketplace.market.memos import (
    read_basket_memo,
    read_listing_memo,
    read_offer_memo,
    read_purchase_memo,
)
from marketplace.market.offers.rule import CREATION, Shop, read_sale
from marketplace.services import mirror_node
from marketplace.store import offers, prepared_transactions
from marketplace.store.database import read


class TransactionNotShown(Exception):
    """The mirror node shows an entry of a history, but not yet its transaction."""


class Sale(NamedTuple):
    price: int  # HBAR
    offer_id: str | None = None  # of the offer that was accepted


def may_be_sale(move: NftEvent) -> bool:
    """Tell whether an entry may be a sale of this marketplace.

    The marketplace's account spent an approval and paid the fee; or the receiver paid, as an offer's bidder.
    """
    is_purchase = move.is_approval and move.payer == current_app.config["ACCOUNT_ID"]
    return move.is_move and (is_purchase or move.payer == move.receiver)


def find_sale(nft_id: NftId, move: NftEvent, deadline: Deadline) -> Sale | None:
    """The sale by which an NFT changed its owner; None if it was no sale.

    Raises TransactionNotShown, and the ledger's errors.
    """
    if move.payer == move.receiver:
        return _find_accepted(nft_id, move, deadline)
    price = _find_price(nft_id, move, deadline)
    return None if price is None else Sale(price)


def _find_accepted(nft_id: NftId, move: NftEvent, deadline: Deadline) -> Sale | None:
    """The sale by an offer: its schedule has the id of this transaction, and was executed as a whole."""
    parties = (*nft_id, move.sender, move.receiver)
    stored = offers.get_offer_of_transaction(read(), str(move.transaction_id))
    if stored:
        of_offer = (stored["token"], stored["serial_no"], stored["seller"], stored["bidder"])
        return Sale(stored["price"], stored["schedule_id"]) if parties == of_offer else None
    executed = mirror_node().find_transaction(move.consensus_at, deadline)
    if executed is None:
        raise TransactionNotShown
    if not executed.scheduled or read_offer_memo(executed.memo, *nft_id) is None:
        return None
    rows = mirror_node().list_transactions(move.transaction_id, deadline)
    created = next((row for row in rows if row.name == CREATION and row.is_original), None)
    if created is None or created.entity_id is None:
        raise TransactionNotShown  # another replica answered
    schedule = mirror_node().find_schedule(created.entity_id, deadline)
    if schedule is None:
        raise TransactionNotShown
    settings = current_app.config
    sale = read_sale(schedule, Shop(settings["ACCOUNT_ID"], settings["SALE_FEE_BASIS_POINTS"]))
    if sale and parties == (sale.token, sale.serial_no, sale.seller, sale.bidder):
        return Sale(sale.price, schedule.id)
    return None


def _find_price(nft_id: NftId, move: NftEvent, deadline: Deadline) -> int | None:
    """The price of one NFT in HBAR, as our transaction named it; None if it was no sale."""
    prepared = prepared_transactions.get_prepared_nft(read(), str(move.transaction_id), *nft_id)
    if prepared:
        return prepared["price"]
    # By its id: a list of transactions has no fees of tokens.
    rows = mirror_node().list_transactions(move.transaction_id, deadline)
    signed = next((row for row in rows if row.consensus_at == move.consensus_at), None)
    if signed is None:
        raise TransactionNotShown
    if not signed.is_original:
        return None
    if len(signed.nft_transfers) > 1:
        return _find_price_in_basket(signed, nft_id, move.receiver or "", deadline)
    return read_price(signed, nft_id, move.receiver or "")


def _find_price_in_basket(
    transaction: Transaction, nft_id: NftId, buyer: str, deadline: Deadline
) -> int | None:
    """The price of one NFT of several: that of the listing which the purchase ended.

    The memo has only the sum, and sellers may have changed their prices meanwhile. So the listings' prices
    count only if they add up to the memo's sum, and if each seller was paid accordingly.
    """
    price = read_basket_memo(transaction.memo, len(transaction.nft_transfers))
    if not _is_paid(transaction, price, buyer):
        return None
    find = partial(_find_ended_listing, before=transaction.consensus_at, deadline=deadline)
    moved = transaction.nft_transfers
    prices = mirror_node().ask(*(partial(find, nft) for nft in moved))
    if None not in prices and sum(prices) == price and _are_paid(transaction, prices):
        by_id = {(nft.token, nft.serial_no): each for nft, each in zip(moved, prices, strict=True)}
        return by_id.get(nft_id)
    current_app.logger.warning(
        "%s was a purchase of several NFTs for %s HBAR, but their listings do not say what each cost. They do"
        " not count as sales.",
        transaction.transaction_id,
        price,
    )
    return None


def _are_paid(transaction: Transaction, prices: Sequence[int]) -> bool:
    """Whether each seller in a basket earned the same fraction of its prices."""
    of_seller = Counter[str]()
    for nft, price in zip(transaction.nft_transfers, prices, strict=True):
        of_seller[nft.sender or ""] += price
    earned = {seller: transaction.find_earned(seller) for seller in of_seller}
    part = Fraction(sum(earned.values()), of_seller.total())
    # The marketplace's part of each NFT is rounded to a tinybar.
    rounding = len(prices)
    return all(
        abs(earned[seller] - part * price) <= rounding for seller, price in of_seller.items()
    )


def _find_ended_listing(moved: LedgerNftTransfer, before: int, deadline: Deadline) -> int | None:
    """The price at which its seller had listed an NFT just before a moment; None if the ledger shows none.

    Raises TransactionNotShown.
    """
    nft_id = NftId(moved.token, moved.serial_no)
    history = mirror_node().find_history(*nft_id, deadline, before - 1)
    entries = [entry for entry in history.entries if entry.consensus_at < before]
    last = next((entry for entry in entries if not entry.is_harmless), None)
    approval = last and mirror_node().find_transaction(last.consensus_at, deadline)
    is_short = (history.newest_at or 0) < before or (history.is_torn and last is None)
    if is_short or (last and approval is None):
        raise TransactionNotShown
    if approval is None or not approval.is_original or approval.payer != moved.sender:
        return None
    return read_listing_memo(approval.memo, *nft_id)


def read_price(transaction: Transaction, nft_id: NftId, buyer: str) -> int | None:
    """The price in HBAR in the memo of a transaction of ours, if the buyer paid it; otherwise None."""
    price = read_purchase_memo(transaction.memo, *nft_id)
    return price if _is_paid(transaction, price, buyer) else None


def _is_paid(transaction: Transaction, price: int | None, buyer: str) -> bool:
    """Whether the buyer paid what a memo says, in HBAR. A memo that says something else is logged."""
    paid = transaction.find_paid(buyer)
    if price is not None and paid != price * TINYBARS:
        current_app.logger.warning(
            "The memo of %s says %s HBAR, but %s paid %s. It does not count as a sale.",
            transaction.transaction_id,
            price,
            buyer,
            format_amount(paid),
        )
    return price is not None and paid == price * TINYBARS
