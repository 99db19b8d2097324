"""Offers: to make, to accept and to withdraw one, and to list them."""

from typing import Any

from marshmallow import fields

from marketplace import errors
from marketplace.api import paging
from marketplace.api.authentication import make_request, require_scope
from marketplace.api.cache import request_cache
from marketplace.api.fields import Base64, CamelCaseSchema, Choice, EntityId, Flag, WholeNumber
from marketplace.api.http import Blueprint
from marketplace.api.listings import OF_A_SALE
from marketplace.api.nfts import find_nft
from marketplace.api.paging import BY_OFFER, Page, Position
from marketplace.api.schemas import (
    AccountPathSchema,
    AccountSchema,
    CollectionPathSchema,
    NftPathSchema,
    OfferMetadataSchema,
    PreparedOfferSchema,
    PreparedTransactionSchema,
    RequestSchema,
    WalletPathSchema,
    account,
    account_name_field,
    integer,
    limit_field,
    moment,
    page_field,
    serial_no_field,
    serial_number,
    show,
    text,
    token_field,
    token_id,
    word,
)
from marketplace.hedera import times
from marketplace.hedera.ids import MAX_HBAR, NftId
from marketplace.market.offers import prepare
from marketplace.market.offers.rule import ENDS
from marketplace.market.prepared import PreparedTransaction
from marketplace.market.requests import require_collection, require_not_hidden
from marketplace.services import read
from marketplace.store import offers
from marketplace.store.offers import BEFORE_ALL, MadeOfferRow, OfferFilter

MADE, RECEIVED = "made", "received"  # offers: by their bidder, or by the NFT's owner


def offer_id_field() -> EntityId:
    return EntityId("The offer's ID, which is its schedule's", "0.0.8001", required=True)


class OfferPathSchema(RequestSchema):
    offer_id = offer_id_field()


class OffersQuerySchema(RequestSchema):
    limit = limit_field("offers", 20, 100)
    page = page_field((BY_OFFER,))


class UserOffersQuerySchema(OffersQuerySchema):
    side = Choice(
        "made: the account's offers, in any state; received: the open offers for its NFTs",
        (MADE, RECEIVED),
        load_default=MADE,
    )


class MakeOfferSchema(RequestSchema):
    account_id = account_name_field("The account that makes the offer and signs", "0.0.1002")
    token = token_field()
    serial_no = serial_no_field()
    offer_price = WholeNumber("The offered price in HBAR", 50, high=MAX_HBAR, required=True)
    expires_in = WholeNumber("Days until the offer ends", 7, high=60, load_default=7)


class AcceptOfferSchema(RequestSchema):
    account_id = account_name_field("The account that owns the NFT and signs")
    offer_id = offer_id_field()
    expected_price = WholeNumber(
        "The price in HBAR that the owner saw. If the offer has another price, the call is refused",
        50,
        high=MAX_HBAR,
        load_default=None,
    )


class WithdrawOfferSchema(RequestSchema):
    account_id = account_name_field(
        "The account that made the offer, or to which it was made, and that signs", "0.0.1002"
    )
    offer_id = offer_id_field()


class AcceptanceMetadataSchema(OfferMetadataSchema):
    seller_receives = show(
        fields.String,
        "What the seller receives in tinybars: the price without the marketplace's part and the collection's"
        " royalties and fees",
        "4750000000",
    )


class PreparedAcceptanceSchema(PreparedTransactionSchema):
    """The acceptance of an offer, to be signed."""

    metadata = fields.Nested(AcceptanceMetadataSchema, required=True)


class OfferSchema(CamelCaseSchema):
    """An offer for an NFT: the bidder's schedule of the sale."""

    schedule_id = text("The offer's ID, which is its schedule's", "0.0.8001", key="offerId")
    token = token_id()
    serial_no = serial_number()
    seller = account(AccountSchema, "The NFT's owner, who can accept the offer", data_key="from")
    bidder = account(AccountSchema, "The bidder, who receives the NFT", data_key="to")
    price = integer("What the bidder pays, in HBAR", 50)
    expires_at = moment("When the offer ends, in UTC")
    is_covered = show(
        Flag,
        "Whether the bidder could pay the offer when this was last checked",
        True,
        key="covered",
    )
    created_at = moment("The consensus time of the schedule's creation, in UTC")
    state = word(
        "OPEN: the owner can accept, if the offer is covered. CLOSED: the owner cannot accept at the moment,"
        " because the bidder's account has another key, the NFT has another owner or is hidden, an account is"
        " blocked, or the marketplace asks for a larger fee. ACCEPTED: sold. FAILED: accepted, but the ledger"
        " refused the sale",
        "OPEN",
        ["OPEN", "CLOSED", "ACCEPTED", "FAILED", "WITHDRAWN", "EXPIRED"],
    )
    accepted_at = moment(
        "When the owner accepted the offer, if the sale was not executed: until expiresAt it may still be",
        nullable=True,
    )


class OfferRecordSchema(OfferSchema):
    """One offer, as the ledger showed it last."""

    transaction_id = text(
        "The transaction that created the schedule", "0.0.9001@1763640000.123456789"
    )
    body = show(
        Base64,
        "The scheduled transaction as the mirror node shows it: a HAPI SchedulableTransactionBody in base64",
        "CIDh6xcSVE9mZmVyIG9mIDUwIEhCQVIg...",
        key="transactionBody",
    )


blp = Blueprint("Offers", __name__, description="Offers for NFTs, listed or not")


@blp.post("/offer/<wallet>")
@require_scope("write")
@blp.arguments(WalletPathSchema, location="path")
@blp.arguments(MakeOfferSchema)
@blp.response(200, PreparedTransactionSchema, description="The transaction to sign")
@blp.refuses(errors.NftNotStored, errors.NotFound, errors.NftGone, *OF_A_SALE)
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
    return prepare.make(request, offer_price, expires_in)


@blp.post("/acceptoffer/<wallet>")
@require_scope("write")
@blp.arguments(WalletPathSchema, location="path")
@blp.arguments(AcceptOfferSchema)
@blp.response(200, PreparedAcceptanceSchema, description="The transaction to sign")
@blp.refuses(
    errors.OfferUnknown,
    errors.NotFound,
    errors.NftGone,
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
    offer = offers.get_made(read(), offer_id, times.to_iso(times.now()))
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
    require_not_hidden(token, serial_no)  # its row may not say so yet
    find_nft(token, serial_no)
    return _list_page(OfferFilter(token, serial_no), limit, page)


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
    end = ENDS.get(offer["state"])
    state = end and end.state
    if end is None and offer["expires_at"] <= times.to_iso(times.now()):
        state = "EXPIRED"
    return {**offer, "state": state or ("OPEN" if offer["is_acceptable"] else "CLOSED")}


def _cache_until(found: list[MadeOfferRow]) -> None:
    """Let a response leave the cache when its first offer expires."""
    now = times.to_iso(times.now())
    moments = [offer["expires_at"] for offer in found if offer["expires_at"] > now]
    if moments:
        request_cache().until = times.to_nanoseconds(min(moments))
