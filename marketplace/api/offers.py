"""Offers: to make, to accept and to withdraw one, and to list them."""

from typing import Any

from marketplace import errors
from marketplace.api import paging
from marketplace.api.authentication import make_request, require_scope
from marketplace.api.cache import request_cache
from marketplace.api.http import Blueprint
from marketplace.api.paging import BY_OFFER, Page, Position
from marketplace.api.schemas.common import (
    AccountPathSchema,
    CollectionPathSchema,
    NftPathSchema,
    WalletPathSchema,
)
from marketplace.api.schemas.listings import PreparedTransactionSchema
from marketplace.api.schemas.offers import (
    MADE,
    AcceptOfferSchema,
    MakeOfferSchema,
    OfferPathSchema,
    OfferRecordSchema,
    OfferSchema,
    OffersQuerySchema,
    PreparedAcceptanceSchema,
    PreparedOfferSchema,
    UserOffersQuerySchema,
    WithdrawOfferSchema,
)
from marketplace.hedera import times
from marketplace.hedera.ids import MAX_HBAR, NftId
from marketplace.market.offers import prepare
from marketplace.market.prepared import PreparedTransaction
from marketplace.market.requests import require_collection, require_not_hidden
from marketplace.services import read
from marketplace.store import nfts, offers
from marketplace.store.offers import MadeOfferRow, OfferFilter

OF_A_SALE = (
    errors.NotFound,
    errors.AccountBlocked,
    errors.NftGone,
    errors.BuyerIsOwner,
    errors.AccountIsMarketplace,
    errors.BuyerBalanceTooLow,
    errors.BuyerNotAssociated,
    errors.PurchaseImpossible,
    errors.NothingLeftForSeller,
    errors.FeesChangeable,
    errors.FeesInTokens,
    errors.LedgerUndecided,
)
BEFORE_ALL = (MAX_HBAR + 1, "")  # the position of no offer
ENDS = {
    "executed": "ACCEPTED",
    "failed": "FAILED",
    "withdrawn": "WITHDRAWN",
    "expired": "EXPIRED",
}

blp = Blueprint("Offers", __name__, description="Offers for NFTs, listed or not")


@blp.post("/offer/<wallet>")
@require_scope("write")
@blp.arguments(WalletPathSchema, location="path")
@blp.arguments(MakeOfferSchema)
@blp.response(200, PreparedTransactionSchema, description="The transaction to sign")
@blp.refuses(errors.NftNotStored, errors.Hidden, *OF_A_SALE)
def make_offer_for_nft(
    account_id: str, token: str, serial_no: int, offer_price: int, expires_in: int
) -> PreparedTransaction:
    """Make an offer for an NFT

    byteArray is the bidder's unsigned ScheduleCreate of exactly this sale: the NFT goes from its owner to the
    bidder, and the price from the bidder to the owner, minus the marketplace's fee. The bidder's wallet signs
    and submits it, and pays for it. The offer is open once the ledger has it. Once the owner has signed, too,
    the network executes the sale, and the bidder pays for that. No HBAR is locked: an offer that the bidder
    can no longer pay is not covered. The service refuses an offer whose sale would fail. Report it with
    transactionId: the answer has its offerId.
    """
    request = make_request(account_id, [NftId(token, serial_no)])
    return prepare.make(request, prepare.OfferTerms(offer_price, expires_in))


@blp.post("/acceptoffer/<wallet>")
@require_scope("write")
@blp.arguments(WalletPathSchema, location="path")
@blp.arguments(AcceptOfferSchema)
@blp.response(200, PreparedAcceptanceSchema, description="The transaction to sign")
@blp.refuses(
    errors.OfferUnknown,
    errors.Hidden,
    errors.NotTheOwner,
    errors.OfferEnded,
    errors.PriceChanged,
    *OF_A_SALE,
)
def accept_offer(account_id: str, offer_id: str, expected_price: int | None) -> PreparedTransaction:
    """Accept an offer

    byteArray is the owner's unsigned ScheduleSign. The network executes the sale as soon as it has this
    signature. If the NFT is listed, the sale ends the listing. Send as expectedPrice the price that the owner
    saw; metadata.sellerReceives is what is left of it after the marketplace's fee and royalties. If the
    bidder's key has changed within the last 90 seconds, the answer is a 503: try again.
    """
    return prepare.accept(make_request(account_id), offer_id, expected_price)


@blp.post("/withdrawoffer/<wallet>")
@require_scope("write")
@blp.arguments(WalletPathSchema, location="path")
@blp.arguments(WithdrawOfferSchema)
@blp.response(200, PreparedOfferSchema, description="The transaction to sign")
@blp.refuses(
    errors.OfferUnknown,
    errors.NotFound,
    errors.NeitherBidderNorOwner,
    errors.OfferEnded,
    errors.OfferNotDeletable,
)
def withdraw_offer(account_id: str, offer_id: str) -> PreparedTransaction:
    """Withdraw or decline an offer

    byteArray is the unsigned ScheduleDelete of the bidder, or of the owner to whom the offer was made. Nobody
    else needs to sign. It also takes back an acceptance that has not executed the sale.
    """
    return prepare.withdraw(make_request(account_id), offer_id)


@blp.get("/offers/<offerId>")
@require_scope("read")
@blp.arguments(OfferPathSchema, location="path")
@blp.response(200, OfferRecordSchema, description="The offer")
@blp.refuses(errors.OfferUnknown, errors.Hidden)
def get_offer(offer_id: str) -> dict[str, Any]:
    """Get an offer

    Returns the offer in any state, with the bytes of the scheduled transaction as the mirror node shows them.
    """
    offer = offers.get_shown(read(), offer_id, times.to_iso(times.now()))
    if offer is None:
        raise errors.OfferUnknown(offer_id)
    require_not_hidden(offer["token"], offer["serial_no"])
    _cache_until([offer])
    return _with_state(offer)


@blp.get("/nft/<tokenId>/<serialNo>/offers")
@require_scope("read")
@blp.arguments(NftPathSchema, location="path")
@blp.arguments(OffersQuerySchema, location="query")
@blp.response(
    200, OfferSchema(many=True), description="The open offers", headers=paging.PAGE_HEADERS
)
@blp.refuses(errors.NftNotStored, errors.Hidden)
@paging.with_events_cursor
def list_nft_offers(
    token: str, serial_no: int, limit: int, page: Position | None
) -> Page[dict[str, Any]]:
    """List the open offers for an NFT

    The highest offer comes first, ties by offerId.
    """
    require_not_hidden(token, serial_no)
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
@blp.refuses(errors.CollectionNotStored, errors.Hidden)
@paging.with_events_cursor
def list_collection_offers(token: str, limit: int, page: Position | None) -> Page[dict[str, Any]]:
    """List the open offers for a collection's NFTs

    The highest offer comes first, ties by offerId.
    """
    require_not_hidden(token)
    offers = _list_page(OfferFilter(token), limit, page)
    require_collection(token, offers)
    return offers


@blp.get("/user/<accountId>/offers")
@require_scope("read")
@blp.arguments(AccountPathSchema, location="path")
@blp.arguments(UserOffersQuerySchema, location="query")
@blp.response(200, OfferSchema(many=True), description="The offers", headers=paging.PAGE_HEADERS)
@paging.with_events_cursor
def list_user_offers(
    account_id: str, side: str, limit: int, page: Position | None
) -> Page[dict[str, Any]]:
    """List an account's offers

    Returns the offers that the account made, in any state, or the open ones for its NFTs. The highest comes
    first, ties by offerId.
    """
    if side != MADE:
        return _list_page(OfferFilter(seller=account_id), limit, page)
    now = times.to_iso(times.now())
    rows = offers.list_made(read(), account_id, _find_position(page), limit + 1, now)
    return _answer_page(rows, limit)


def _list_page(chosen: OfferFilter, limit: int, page: Position | None) -> Page[dict[str, Any]]:
    now = times.to_iso(times.now())
    rows = offers.list_open(read(), chosen, _find_position(page), limit + 1, now)
    return _answer_page(rows, limit)


def _find_position(page: Position | None) -> tuple[int, str]:
    return (int(page.key), page.entity_id) if page else BEFORE_ALL


def _answer_page(rows: list[MadeOfferRow], limit: int) -> Page[dict[str, Any]]:
    _cache_until(rows)
    return paging.page([*map(_with_state, rows)], limit, BY_OFFER)


def _with_state(offer: MadeOfferRow) -> dict[str, Any]:
    """An offer, with its state in the API's words."""
    state = ENDS.get(offer["state"])
    if state is None and offer["expires_at"] <= times.to_iso(times.now()):
        state = "EXPIRED"
    return {**offer, "state": state or ("OPEN" if offer["is_acceptable"] else "CLOSED")}


def _cache_until(found: list[MadeOfferRow]) -> None:
    """Let a response leave the cache when its first offer expires."""
    now = times.to_iso(times.now())
    moments = [offer["expires_at"] for offer in found if offer["expires_at"] > now]
    if moments:
        request_cache().until = times.to_nanoseconds(min(moments))
