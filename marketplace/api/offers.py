"""Offers: to make, to accept and to withdraw one, and to list them."""

from typing import Any

from flask import Response

from marketplace import errors
from marketplace.api import paging
from marketplace.api.authentication import caller, require_scope
from marketplace.api.blueprint import Blueprint
from marketplace.api.paging import BY_OFFER, Page, Position
from marketplace.api.prepared import (
    RETRY_AFTER_HEADER,
    Answer,
    answer_pending,
    answer_prepared,
)
from marketplace.api.request_schemas import (
    MADE,
    AcceptOfferSchema,
    AccountPathSchema,
    CollectionPathSchema,
    MakeOfferSchema,
    NftPathSchema,
    OfferPathSchema,
    OffersQuerySchema,
    UserOffersQuerySchema,
    WalletPathSchema,
    WithdrawOfferSchema,
)
from marketplace.api.response_cache import request_cache
from marketplace.api.response_schemas import (
    OfferRecordSchema,
    OfferSchema,
    PreparedOfferSchema,
    ReportResultSchema,
    ResultSchema,
)
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.market.moderation import require_shown
from marketplace.market.offers import answers, deletion, lists, making
from marketplace.market.offers.making import Wanted
from marketplace.market.prepare import TransactionRequest
from marketplace.store import nfts
from marketplace.store.database import read
from marketplace.store.offers import OfferFilter
from marketplace.store.rows import OfferRow

OF_OFFERS = (errors.OffersOff, errors.OfferUnknown)
OF_A_SALE = (
    errors.WalletUnknown,
    errors.AccountBlocked,
    errors.NftGone,
    errors.BuyerIsOwner,
    errors.BuyerIsMarketplace,
    errors.OwnerIsMarketplace,
    errors.KeyShared,
    errors.BuyerBalanceTooLow,
    errors.BidderBalanceTooLow,
    errors.BuyerNotAssociated,
    errors.PurchaseImpossible,
    errors.NothingLeftForSeller,
    errors.FeesInTokens,
    errors.LedgerUndecided,
    errors.LedgerBehind,
)
OF_SUBMISSION = (
    errors.TooManyPurchases,
    errors.FeesSpent,
    errors.BudgetTooSmall,
    errors.ClockBehind,
    errors.SignerFailed,
    errors.NodesUnreachable,
    errors.TransactionRefused,
)
PENDING = {
    "schema": ReportResultSchema,
    "example": {"result": "PENDING"},
    "headers": RETRY_AFTER_HEADER,
    "description": "The ledger does not show it yet: send the same request again",
    "success": True,
}

blp = Blueprint("Offers", __name__, description="Offers for NFTs, listed or not")


@blp.post("/offer/<wallet>")
@require_scope("write")
@blp.arguments(WalletPathSchema, location="path")
@blp.arguments(MakeOfferSchema)
@blp.response(200, PreparedOfferSchema, description="The transaction to sign")
@blp.alt_response(202, **PENDING)
@blp.refuses(
    errors.OffersOff,
    errors.NftNotStored,
    errors.Hidden,
    errors.TooManyOffers,
    errors.OfferTooLow,
    *OF_A_SALE,
    *OF_SUBMISSION,
)
def make_offer_for_nft(
    account_id: str, wallet: str, token: str, serial_no: int, offer_price: int, expires_in: int
) -> Answer | Response:
    """Make an offer for an NFT

    The service refuses an offer whose sale would fail. Otherwise, the marketplace creates a schedule of
    exactly this sale, and pays for it: the NFT goes from its owner to the bidder, and the price from the
    bidder to the owner, minus the marketplace's fee. byteArray is the bidder's unsigned ScheduleSign. The
    offer is open once the ledger has it. Once the owner has signed, too, the network executes the sale, and
    the bidder pays for the execution. No HBAR is locked: an offer that the bidder can no longer pay is not
    covered. While an offer is not signed, the same request within half an hour returns the same offer.
    Wallets show little of what is signed: docs/offers.md says how to check it.
    """
    request = TransactionRequest(account_id, [NftId(token, serial_no)], wallet, caller())
    prepared = making.make(request, Wanted(offer_price, expires_in))
    return answer_prepared(prepared) if prepared else answer_pending()


@blp.post("/acceptoffer/<wallet>")
@require_scope("write")
@blp.arguments(WalletPathSchema, location="path")
@blp.arguments(AcceptOfferSchema)
@blp.response(200, PreparedOfferSchema, description="The transaction to sign")
@blp.refuses(
    *OF_OFFERS,
    errors.Hidden,
    errors.NotTheOwner,
    errors.OfferNotSigned,
    errors.OfferEnded,
    errors.OfferPriceOther,
    *OF_A_SALE,
)
def accept_offer(account_id: str, wallet: str, offer_id: str, expected_price: int | None) -> Answer:
    """Accept an offer

    byteArray is the owner's unsigned ScheduleSign. The network executes the sale as soon as it has this
    signature. If the NFT is listed, the sale ends the listing. Send as expectedPrice the price that the owner
    saw.
    """
    prepared = answers.accept(account_id, wallet, offer_id, expected_price, caller())
    return answer_prepared(prepared)


@blp.post("/withdrawoffer/<wallet>")
@require_scope("write")
@blp.arguments(WalletPathSchema, location="path")
@blp.arguments(WithdrawOfferSchema)
@blp.response(200, PreparedOfferSchema, description="The transaction to sign")
@blp.refuses(
    *OF_OFFERS,
    errors.WalletUnknown,
    errors.NotTheBidder,
    errors.OfferEnded,
    errors.WithdrawalNeedsMarketplace,
    errors.LedgerBehind,
)
def withdraw_offer(account_id: str, wallet: str, offer_id: str) -> Answer:
    """Withdraw an offer

    byteArray is the bidder's unsigned ScheduleDelete. Nobody else needs to sign. If the wallet does not sign
    it, the caller who made the offer can delete it: DELETE /v1/offers/<offerId>.
    """
    return answer_prepared(answers.withdraw(account_id, wallet, offer_id, caller()))


@blp.delete("/offers/<offerId>")
@require_scope("write")
@blp.arguments(OfferPathSchema, location="path")
@blp.response(200, ResultSchema, description="The offer is withdrawn")
@blp.alt_response(202, **PENDING)
@blp.refuses(*errors.answered_by(errors.BODIES))
@blp.refuses(
    *OF_OFFERS, errors.NotYourOffer, errors.OfferEnded, errors.LedgerBehind, *OF_SUBMISSION
)
def delete_offer_of_caller(offer_id: str) -> Answer | Response:
    """Delete your offer

    The marketplace deletes the offer's schedule. Only the caller who made the offer can do this: the same
    access token and end user. You can repeat the call.
    """
    return {"result": "OK"} if deletion.delete(offer_id, caller()) else answer_pending()


@blp.get("/offers/<offerId>")
@require_scope("read")
@blp.arguments(OfferPathSchema, location="path")
@blp.response(200, OfferRecordSchema, description="The offer")
@blp.refuses(*OF_OFFERS, errors.Hidden)
def get_offer(offer_id: str) -> dict[str, Any]:
    """Get an offer

    Returns the offer in any state, with the bytes of the scheduled transaction as the mirror node shows them.
    """
    offer = lists.find(offer_id, times.now())
    _cache_until([offer])
    return offer


@blp.get("/nft/<tokenId>/<serialNo>/offers")
@require_scope("read")
@blp.arguments(NftPathSchema, location="path")
@blp.arguments(OffersQuerySchema, location="query")
@blp.response(
    200, OfferSchema(many=True), description="The open offers", headers=paging.PAGE_HEADERS
)
@blp.refuses(errors.OffersOff, errors.NftNotStored, errors.Hidden)
@paging.with_events_cursor
def list_nft_offers(
    token: str, serial_no: int, limit: int, page: Position | None
) -> Page[OfferRow]:
    """List the open offers for an NFT

    The highest offer comes first, ties by offerId.
    """
    require_shown(token, serial_no)
    offers = _list_page(OfferFilter(token, serial_no), limit, page)
    if not offers and nfts.get_nft(read(), token, serial_no) is None:
        raise errors.NftNotStored(token, serial_no)
    return offers


@blp.get("/collection/<tokenId>/offers")
@require_scope("read")
@blp.arguments(CollectionPathSchema, location="path")
@blp.arguments(OffersQuerySchema, location="query")
@blp.response(
    200, OfferSchema(many=True), description="The open offers", headers=paging.PAGE_HEADERS
)
@blp.refuses(errors.OffersOff, errors.CollectionNotStored, errors.Hidden)
@paging.with_events_cursor
def list_collection_offers(token: str, limit: int, page: Position | None) -> Page[OfferRow]:
    """List the open offers for a collection's NFTs

    The highest offer comes first, ties by offerId.
    """
    require_shown(token)
    offers = _list_page(OfferFilter(token), limit, page)
    if not offers and not nfts.is_any_stored_of_token(read(), token):
        raise errors.CollectionNotStored(token)
    return offers


@blp.get("/user/<accountId>/offers")
@require_scope("read")
@blp.arguments(AccountPathSchema, location="path")
@blp.arguments(UserOffersQuerySchema, location="query")
@blp.response(
    200, OfferSchema(many=True), description="The open offers", headers=paging.PAGE_HEADERS
)
@blp.refuses(errors.OffersOff)
@paging.with_events_cursor
def list_user_offers(
    account_id: str, side: str, limit: int, page: Position | None
) -> Page[OfferRow]:
    """List an account's open offers

    Returns the offers that the account made, or those for its NFTs. The highest comes first, ties by offerId.
    """
    is_made = side == MADE
    chosen = OfferFilter(bidder=account_id) if is_made else OfferFilter(seller=account_id)
    return _list_page(chosen, limit, page)


def _list_page(chosen: OfferFilter, limit: int, page: Position | None) -> Page[OfferRow]:
    after = page and (int(page.key), page.entity_id)
    rows = lists.list_open(chosen, after, limit + 1, times.now())
    _cache_until(rows)
    return paging.page(rows, limit, BY_OFFER)


def _cache_until(offers: Any) -> None:
    """Let a response leave the cache when its first offer expires."""
    moments = [
        offer["expires_at"] for offer in offers if offer["expires_at"] > times.to_iso(times.now())
    ]
    if moments:
        request_cache().until = times.to_nanoseconds(min(moments))
