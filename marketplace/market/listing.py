"""Prepares listings and withdrawals."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from flask import current_app

from marketplace.errors import (
    AccountIsMarketplace,
    LedgerAnswerInvalid,
    LedgerUndecided,
    LedgerUnreachable,
    NotListed,
)
from marketplace.hedera.hbar import find_credit
from marketplace.hedera.ids import NftId
from marketplace.ledger import Deadline
from marketplace.market import collection_facts, reconciler, sale_checks
from marketplace.market.memos import (
    bulk_listing_memo,
    bulk_withdrawal_memo,
    listing_memo,
    withdrawal_memo,
)
from marketplace.market.prepared import PreparedNft, PreparedTransaction, prepare_unsigned
from marketplace.market.reconciler import Reconciliation
from marketplace.market.requests import (
    MarketRequest,
    begin,
    for_each,
    require_nfts,
    require_none_hidden,
    require_not_blocked,
    require_owned,
    require_owner,
)
from marketplace.store.nfts import NftRow


def prepare_listing(
    request: MarketRequest, listing_price: int, now: int | None = None
) -> PreparedTransaction:
    """Build the transaction that lists NFTs of a token, each for a price in HBAR, and store a record of it.

    If the ledger does not answer, the stored owner gets the transaction anyway. ``now``: the preparation
    time, by default the present.
    """
    from marketplace.hedera.transactions import build_listing

    require_none_hidden(request.nft_ids)
    stored = require_nfts(request.nft_ids)
    with begin(request) as (request, deadline):
        require_not_blocked(request.account_id)
        require_owned(request.account_id, stored, deadline)
        receives = _find_received(request, listing_price, deadline)
    spender, name = current_app.config["ACCOUNT_ID"], current_app.config["NAME"]
    if request.account_id == spender:
        raise AccountIsMarketplace(request.account_id)
    first, *others = request.nft_ids
    memo = listing_memo(*first, listing_price, name)
    if others:
        memo = bulk_listing_memo(first.token, listing_price, name)
    nfts = [PreparedNft(*nft_id, listing_price) for nft_id in request.nft_ids]
    build = partial(build_listing, spender=spender, **_named(nfts))
    prepared = prepare_unsigned("listing", request, nfts, memo, build, now=now)
    return replace(prepared, seller_receives=receives)


def _find_received(request: MarketRequest, listing_price: int, deadline: Deadline) -> int | None:
    """What custom fees leave the seller of each NFT, in tinybars; None if the fees are not known.

    A purchase asks the ledger for the fees again.
    """
    token_id = request.nft_ids[0].token
    try:
        token = collection_facts.recall_token(token_id, deadline)
        if token is None:
            return None
        sale_checks.require_unchangeable(token_id, token)
        credit = find_credit(listing_price, current_app.config["SALE_FEE_BASIS_POINTS"])
        lot = sale_checks.Lot(token_id, request.account_id, credit)
        return sale_checks.find_received(lot, token)
    except (LedgerUnreachable, LedgerAnswerInvalid):
        return None


def prepare_withdrawal(request: MarketRequest) -> PreparedTransaction:
    """Build the transaction that withdraws listings of a token, and store a record of it.

    Reconciles the NFTs first. If the ledger does not answer, the stored owner gets the transaction anyway:
    only the owner can sign it. Hidden NFTs can be withdrawn, and blocked owners can withdraw.
    """
    from marketplace.hedera.transactions import build_withdrawal

    stored = require_nfts(request.nft_ids)
    with begin(request) as (request, deadline):
        _require_all_listed(request.account_id, stored, deadline)
    first, *others = request.nft_ids
    memo = withdrawal_memo(*first, current_app.config["NAME"])
    if others:
        memo = bulk_withdrawal_memo(first.token, current_app.config["NAME"])
    nfts = [PreparedNft(*nft_id) for nft_id in request.nft_ids]
    return prepare_unsigned(
        "withdrawal", request, nfts, memo, partial(build_withdrawal, **_named(nfts))
    )


def _named(nfts: Sequence[PreparedNft]) -> dict[str, Any]:
    """NFTs of one token, as transactions name them."""
    return {"token": nfts[0].token, "serial_nos": [nft.serial_no for nft in nfts]}


def _require_all_listed(account_id: str, nfts: Mapping[NftId, NftRow], deadline: Deadline) -> None:
    try:
        reconciled = reconciler.reconcile([*nfts], deadline)
    except (LedgerUnreachable, LedgerAnswerInvalid):
        if {nft["owner"] for nft in nfts.values()} != {account_id}:
            raise
    else:
        for_each(
            nfts, lambda nft_id: _require_for_sale(account_id, nfts[nft_id], reconciled[nft_id])
        )


def _require_for_sale(account_id: str, nft: NftRow, reconciled: Reconciliation) -> None:
    nft, nft_id = reconciled.nft or nft, (nft["token"], nft["serial_no"])
    require_owner(nft, account_id)
    if nft["is_for_sale"]:
        return
    if not reconciled.is_decided:
        raise LedgerUndecided(*nft_id, reconciled.reason)
    raise NotListed(*nft_id)
