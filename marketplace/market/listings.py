"""Listing an NFT: the transaction by which its owner lets the marketplace sell it, for a price."""

from functools import partial

from flask import current_app

from marketplace.errors import OwnerIsMarketplace
from marketplace.market.add_nft import require_owned
from marketplace.market.memos import listing_memo
from marketplace.market.prepare import (
    OPERATOR,
    Caller,
    Kind,
    PreparedTransaction,
    prepare_as_owner,
)


def prepare(
    account_id: str,
    token: str,
    serial_no: int,
    listing_price: int,
    wallet: str,
    caller: Caller = OPERATOR,
    now: int | None = None,
) -> PreparedTransaction:
    """Build the transaction that lists an NFT for a price in HBAR, and remember it.

    Raises NftNotStored, NftGone, NotTheOwner, OwnerIsMarketplace, and the ledger's errors where it must be
    asked.
    """
    from marketplace.market.transactions import build_listing

    require_owned(account_id, token, serial_no)
    settings = current_app.config
    if account_id == settings["ACCOUNT_ID"]:
        raise OwnerIsMarketplace(account_id)
    spender = settings["ACCOUNT_ID"]
    return prepare_as_owner(
        account_id,
        partial(build_listing, token=token, serial_no=serial_no, spender=spender),
        caller=caller,
        now=now,
        kind=Kind.LISTING,
        token=token,
        serial_no=serial_no,
        price=listing_price,
        memo=listing_memo(token, serial_no, listing_price, settings["NAME"]),
        wallet=wallet,
    )
