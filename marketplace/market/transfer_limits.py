"""The network's limits on one transfer, which apply to purchases of several NFTs.

Source: ledger.transfers.maxLen, ledger.xferBalanceChanges.maxLen, CustomFeeAssessmentStep and
AssessmentResult of https://github.com/hiero-ledger/hiero-consensus-node.
"""

from collections.abc import Callable, Sequence
from itertools import groupby

from flask import current_app

from marketplace.errors import CollectionsMixed, PurchaseImpossible
from marketplace.hedera.hbar import find_credit
from marketplace.ledger.objects import LedgerToken
from marketplace.market.custom_fees import Sale, find_owed
from marketplace.store.nfts import NftRow

MAX_ACCOUNTS = 10  # that pay or receive HBAR, before custom fees
MAX_CHANGES = 20  # of balances and of owners, with custom fees


def group_sales(nfts: Sequence[NftRow]) -> list[Sale]:
    """Group the NFTs of a purchase by seller. Raises CollectionsMixed, and PurchaseImpossible.

    For each seller and token, the network charges one royalty on the seller's whole credit. So if a seller
    sold NFTs of two tokens, both royalties would be charged on both prices.
    """
    sales = []
    for seller, group in groupby(sorted(nfts, key=_seller), key=_seller):
        sold = [*group]
        token = sold[0]["token"]
        if others := [nft for nft in sold if nft["token"] != token]:
            named = ", ".join(f"{nft['token']} #{nft['serial_no']}" for nft in others)
            raise CollectionsMixed(seller, named)
        dates = [nft["last_listed_at"] for nft in sold]
        sales.append(
            Sale(
                token,
                seller,
                credit=sum(_find_credit(nft) for nft in sold),
                listed_at=None if None in dates else min(filter(None, dates)),
                nfts=len(sold),
            )
        )
    rest = 1 + bool(current_app.config["SALE_FEE_BASIS_POINTS"])  # the buyer, and the marketplace
    if len(sales) + rest > MAX_ACCOUNTS:
        reason = (
            f"{len(sales) + rest} accounts would pay or receive HBAR, and a transfer can have"
            f" {MAX_ACCOUNTS}: buy from {MAX_ACCOUNTS - rest} sellers at most at once"
        )
        raise PurchaseImpossible(reason, "TRANSFER_LIST_SIZE_LIMIT_EXCEEDED")
    return sales


def require_few_changes(
    buyer: str, sales: Sequence[Sale], find_token: Callable[[str], LedgerToken]
) -> None:
    """Raise PurchaseImpossible if custom fees make a purchase change too much."""
    owed = [
        fee for sale in sales for fees in find_owed(sale, find_token(sale.token)) for fee in fees
    ]
    accounts = {buyer, *(sale.seller for sale in sales), *(fee.collector for fee in owed)}
    if current_app.config["SALE_FEE_BASIS_POINTS"]:
        accounts.add(current_app.config["ACCOUNT_ID"])
    nfts = sum(sale.nfts for sale in sales)
    if owed and nfts + len(accounts) > MAX_CHANGES:
        reason = (
            f"{nfts} NFTs and the balances of {len(accounts)} accounts would change, with the collectors of"
            f" custom fees, and a transfer can change {MAX_CHANGES} in all: buy fewer at once"
        )
        raise PurchaseImpossible(reason, "CUSTOM_FEE_CHARGING_EXCEEDED_MAX_ACCOUNT_AMOUNTS")


def _seller(nft: NftRow) -> str:
    return nft["owner"]


def _find_credit(nft: NftRow) -> int:
    return find_credit(nft["listing_price"], current_app.config["SALE_FEE_BASIS_POINTS"])
