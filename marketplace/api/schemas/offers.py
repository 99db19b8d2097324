"""Offers: queries, bodies and responses."""

from marshmallow import fields

from marketplace.api.fields import Base64, CamelCaseSchema, Choice, EntityId, Flag, WholeNumber
from marketplace.api.paging import BY_OFFER
from marketplace.api.schemas.common import (
    AccountSchema,
    RequestSchema,
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
from marketplace.api.schemas.listings import PreparedTransactionSchema, SigningMetadataSchema
from marketplace.hedera.ids import MAX_HBAR

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


class OfferMetadataSchema(SigningMetadataSchema):
    offer_id = text("The offer's ID, which is its schedule's", "0.0.8001")


class AcceptanceMetadataSchema(OfferMetadataSchema):
    seller_receives = show(
        fields.String,
        "What the seller receives in tinybars: the price without the marketplace's part and the collection's"
        " royalties and fees",
        "4750000000",
    )


class PreparedOfferSchema(PreparedTransactionSchema):
    """A transaction about an offer, to be signed."""

    metadata = fields.Nested(OfferMetadataSchema, required=True)


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
