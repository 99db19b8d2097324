"""Schemas of responses: the only module that knows the names of their fields on the wire.

Inside names are those of the database's columns, in the contract's order. The names on the wire are their
camelCase, or data_key.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

from marshmallow import Schema, fields

from marketplace.api.fields import (
    Base64,
    CamelCaseSchema,
    ConsensusTimestamp,
    Flag,
    MediaUrl,
    Milliseconds,
    OriginalImageUrl,
    PriceWhileListed,
    Wrapped,
)
from marketplace.events import EventKind
from marketplace.settings import NETWORKS
from marketplace.version import __version__

Kind = TypeVar("Kind", bound=fields.Field[Any])


DATE_EXAMPLE = "2026-11-20T12:34:56.789Z"


def show(
    kind: type[Kind],
    description: str,
    example: object,
    key: str | None = None,
    nullable: bool = False,
    **more: Any,
) -> Kind:
    """A field that every response has. ``key`` is its name on the wire, if that is not its camelCase name."""
    metadata = {"description": description, "example": example, **more}
    return kind(data_key=key, required=True, allow_none=nullable, metadata=metadata)


def text(
    description: str, example: str | None, key: str | None = None, **more: Any
) -> fields.String:
    return show(fields.String, description, example, key, **more)


def word(
    description: str, example: str, known: Sequence[str], key: str | None = None
) -> fields.String:
    """A word of a list that may grow: a string, since generated clients refuse what an enum lacks."""
    return text(
        f"{description}. Known values, to which more may be added: {', '.join(known)}", example, key
    )


def integer(description: str, example: int, **more: Any) -> fields.Integer:
    return show(fields.Integer, description, example, format="int64", **more)


def total(description: str, example: int, nullable: bool = False) -> fields.Integer:
    return integer(description, example, nullable=nullable, minimum=0)


def hbar_or_null(description: str, example: int) -> fields.Integer:
    return integer(description, example, nullable=True)


def moment(description: str, example: str = DATE_EXAMPLE, **more: Any) -> Milliseconds:
    return show(Milliseconds, description, example, **more, format="date-time")


def nested(schema: type[Schema], description: str, **options: Any) -> fields.Nested:
    """An object that every response has. If ``allow_none`` is set, it may be null."""
    return fields.Nested(schema, required=True, metadata={"description": description}, **options)


def account(schema: type[Schema], description: str, **options: Any) -> Wrapped:
    """An account that every response has: an object, of which a row has the id."""
    return Wrapped(schema, required=True, metadata={"description": description}, **options)


def each(schema: type[Schema], description: str, **options: Any) -> fields.List[Any]:
    """A list of objects that every response has."""
    metadata = {"description": description}
    return fields.List(fields.Nested(schema), required=True, metadata=metadata, **options)


def image_field(description: str, nullable: bool = False) -> MediaUrl:
    example = "http://127.0.0.1:8000/media/5f2c.webp"
    return show(MediaUrl, description, example, "imageUrl", nullable)


def picture_or_null(description: str, key: str) -> MediaUrl:
    return show(MediaUrl, description, "http://127.0.0.1:8000/media/5f2c.webp", key, nullable=True)


def token_field() -> fields.String:
    return text("The collection's token ID", "0.0.5001")


def serial_no_field() -> fields.Integer:
    return integer("The NFT's serial number within the token", 7)


class OwnerSchema(CamelCaseSchema):
    account_id = text("The owner's account ID", "0.0.1001")


class NftSchema(CamelCaseSchema):
    """An NFT record. Contract, section 2.1."""

    token = token_field()
    serial_no = serial_no_field()
    name = text("The NFT's name", "Tides #7")
    file_type = text("The image's MIME type", "image/png")
    is_listed = show(Flag, "Whether the NFT is for sale", True, key="isForSale")
    attributes = text(
        "JSON text: an array of objects with the strings trait_type and value; null if the NFT has no"
        " attributes",
        '[{"trait_type":"Palette","value":"Ember"},{"trait_type":"Form","value":"Current"}]',
        key="stringifiedAttributes",
        nullable=True,
    )
    image = image_field("The optimized image's URL")
    original_image_url = show(
        OriginalImageUrl,
        "The original image's URL; null if not known",
        "http://127.0.0.1:8000/sandbox/ipfs/bafkqacbqfyyc4njqga2q/7.png",
        nullable=True,
    )
    listing_price = show(
        PriceWhileListed, "The price in HBAR; 0 if the NFT is not for sale", 60, format="int64"
    )
    last_listed_at = moment(
        "The consensus time of the last listing, in UTC; null if not known",
        key="lastListedDate",
        nullable=True,
    )
    owner = account(OwnerSchema, "The account that owns the NFT")


class AccountSchema(CamelCaseSchema):
    account_id = text("The account's ID", "0.0.1001")


def account_or_null(description: str, key: str | None = None) -> fields.Nested:
    return account(AccountSchema, description, data_key=key, allow_none=True)


class LastSaleSchema(CamelCaseSchema):
    """The newest sale through this marketplace."""

    price = integer("What the buyer paid, in HBAR", 60)
    date = moment("The sale's consensus time, in UTC")


class FallbackFeeSchema(CamelCaseSchema):
    """The fee that a receiver pays if they pay no price for an NFT."""

    amount = integer("The fee, in tinybars or in the token's smallest unit", 500_000_000)
    token = text("The token in which the fee is paid; null for HBAR", None, nullable=True)


class RoyaltySchema(CamelCaseSchema):
    """A part of the price that the network takes at each sale."""

    collector = text("The account that receives the fee", "0.0.2002", key="accountId")
    numerator = total("Numerator of the royalty's fraction of the price", 5)
    denominator = integer("Denominator of this fraction", 100, minimum=1)
    fallback = nested(
        FallbackFeeSchema,
        "The fee if an NFT is transferred without a price; null for no fee",
        data_key="fallbackFee",
        allow_none=True,
    )


class FixedFeeSchema(CamelCaseSchema):
    """An amount that an NFT's sender pays at each transfer, and a seller at each sale."""

    collector = text("The account that receives the fee", "0.0.2002", key="accountId")
    amount = integer("The fee, in tinybars or in the token's smallest unit", 100_000_000)
    token = text("The token in which the fee is paid; null for HBAR", None, nullable=True)


class NamedCollectionSchema(CamelCaseSchema):
    token = token_field()
    name = text("The collection's name; null if not known", "Tides", nullable=True)
    symbol = text("The collection's symbol; null if not known", "TIDE", nullable=True)
    is_verified = show(
        Flag, "Whether the operator vouches for the collection's name", True, key="verified"
    )


class LinkSchema(CamelCaseSchema):
    """A page on the web."""

    label = text("The link's name", "Discord")
    url = text("The link's http or https URL", "https://discord.com/invite/tides")


class CollectionRecordSchema(NamedCollectionSchema):
    """A collection as last read from the ledger, with its listings and sales here.

    A field that was not read yet is null.
    """

    total_supply = total(
        "The number of NFTs minted and not burned; null if not known", 30, nullable=True
    )
    treasury = account_or_null("The account that receives minted NFTs; null if not known")
    royalties = each(
        RoyaltySchema, "What creators receive at each sale; null if not known", allow_none=True
    )
    fixed_fees = each(
        FixedFeeSchema, "What a seller pays at each sale; null if not known", allow_none=True
    )
    listed = total("The number of NFTs for sale here", 10)
    floor_price = hbar_or_null("The lowest price in HBAR; null if nothing is listed", 15)
    best_offer = hbar_or_null(
        "The highest open and covered offer for one of the NFTs, in HBAR; null if there is none",
        12,
    )
    sales = total("The number of sales through this marketplace", 12)
    volume = total("What buyers paid in these sales, in HBAR", 730)
    sales_24h = total("The number of sales in the last 24 hours", 2)
    volume_24h = total("What buyers paid in the last 24 hours, in HBAR", 115)
    last_sale = nested(LastSaleSchema, "The newest sale; null if there is none", allow_none=True)
    owners = total("The number of accounts that own a stored NFT of the collection", 7)
    description = text(
        "The collection's own description (HIP-766); null if there is none", "Seas", nullable=True
    )
    banner = picture_or_null("The optimized banner's URL; null if there is none", "bannerUrl")
    logo = picture_or_null("The optimized logo's URL; null if there is none", "logoUrl")
    links = each(
        LinkSchema,
        "The collection's own claims of its web pages: verify a link before you follow it",
    )


class FoundCollectionSchema(NamedCollectionSchema):
    """A collection in a list."""

    image = image_field(
        "The URL of an image of one of the cheapest NFTs for sale, or else of one of the first NFTs; null if"
        " there is none",
        nullable=True,
    )
    listed = total("The number of NFTs for sale here", 10)
    floor_price = hbar_or_null("The lowest price in HBAR; null if nothing is listed", 15)
    volume_24h = total("What buyers paid here in the last 24 hours, in HBAR", 115)


class FoundAccountSchema(AccountSchema):
    """An account that has stored NFTs."""

    listed = total("The number of its NFTs for sale here", 4)


class CollectionOwnerSchema(AccountSchema):
    """An account that owns NFTs of a collection."""

    nfts = total("The number of the collection's stored NFTs that the account owns", 3)


class FoundSchema(CamelCaseSchema):
    """The results of a search: at most 10 of each."""

    collections = each(FoundCollectionSchema, "The collections, as in /v1/collections")
    nfts = each(NftSchema, "The NFTs, if the query ends with a serial number")
    accounts = each(
        FoundAccountSchema,
        "The account, if the query is an account's ID and one of its NFTs is stored",
    )


class TraitValueSchema(CamelCaseSchema):
    value = text("The value", "Ember")
    count = total("The number of stored NFTs with this value, without burned ones", 6)
    listed = total("The number of NFTs with this value for sale here", 2)
    floor_price = hbar_or_null("Their lowest price in HBAR; null if none is for sale", 15)


class TraitSchema(CamelCaseSchema):
    """A trait of a collection's NFTs."""

    trait_type = text("The trait's name", "Palette", "trait_type")
    values = each(TraitValueSchema, "The trait's values, the most frequent first")


class NftTraitSchema(CamelCaseSchema):
    trait_type = text("The trait's name", "Palette", "trait_type")
    value = text("The NFT's value", "Ember")
    count = total("The number of ranked NFTs with this value", 6)
    share = show(fields.Float, "Their share of all ranked NFTs", 0.2, minimum=0, maximum=1)


class NftTraitsSchema(CamelCaseSchema):
    """The traits of an NFT, and how rare it is."""

    token = token_field()
    serial_no = serial_no_field()
    rank = integer(
        "1 is the rarest; null if the NFT has no traits, is burned, or its collection is too large",
        3,
        nullable=True,
        minimum=1,
    )
    ranked = total("The number of the collection's ranked NFTs", 30)
    traits = each(NftTraitSchema, "The NFT's traits; empty if the NFT is not ranked")


class EventSchema(CamelCaseSchema):
    """An event of an NFT. A field that does not apply is null."""

    cursor = text("The event's cursor: after=<id> continues from here", "3f2a9c1e-42", key="id")
    kind = word(
        "What happened. SOLD is a sale through this marketplace, TRANSFERRED any other change of owner."
        " A listing ends with WITHDRAWN, SOLD, TRANSFERRED, BURNED or HIDDEN. When the operator shows a"
        " hidden NFT again, SHOWN has the owner, and the price if the NFT is for sale. An offer opens with"
        " OFFERED, and ends with SOLD, OFFER_WITHDRAWN, OFFER_EXPIRED or OFFER_FAILED. OFFER_NOT_EXECUTED:"
        " the owner accepted the offer, but nothing was sold. While another account owns the NFT, the offer"
        " is not open",
        "SOLD",
        [*EventKind],
    )
    token = token_field()
    serial_no = serial_no_field()
    from_account = account_or_null(
        "The previous owner; for a listing, the seller; for an offer, the owner", "from"
    )
    to_account = account_or_null("The new owner; for an offer, the bidder", "to")
    price = hbar_or_null(
        "In HBAR: what the buyer paid, or the listing's price, or the offered price", 60
    )
    previous_price = hbar_or_null(
        "In HBAR: the price of the listing that the event ends or replaces", 60
    )
    transaction_id = text(
        "The transaction that caused the event; null if not known",
        "0.0.1001@1763640000.123456789",
        nullable=True,
    )
    consensus_at = show(
        ConsensusTimestamp,
        "The ledger's time of the event; null if the ledger has none, or it is not known",
        "1763640000.123456789",
        key="consensusTimestamp",
        nullable=True,
    )
    offer_id = text(
        "The offer that the event is about, or by which the NFT was sold",
        "0.0.8001",
        nullable=True,
    )
    date = moment(
        "The ledger's time of the event in UTC; if not known, the time at which the service saw the event",
        "2026-11-20T12:00:00.123Z",
    )


class WebhookMessageSchema(CamelCaseSchema):
    """The body of a message to a webhook."""

    type = text("nft. and the event's kind in lower case", "nft.sold")
    timestamp = text("The event's date", "2026-11-20T12:00:00.123Z", format="date-time")
    data = nested(EventSchema, "The event")


class ResultSchema(CamelCaseSchema):
    """The result of adding an NFT. Contract, section 2.3."""

    result = word("OK on success", "OK", ["OK"])


class ReportResultSchema(CamelCaseSchema):
    """The result of reporting a transaction. Fields that don't apply are missing."""

    dump = Schema.dump

    result = word("OK once the ledger shows the transaction", "OK", ["OK", "PENDING"])
    listing_price = fields.Integer(
        metadata={
            "description": "For a listing that is OK: the price of each NFT in HBAR, as the ledger has it",
            "example": 250,
            "format": "int64",
        }
    )
    offer_id = fields.String(
        metadata={"description": "For an offer that is OK: its ID", "example": "0.0.8001"}
    )
    expires_at = Milliseconds(
        allow_none=True,
        metadata={
            "description": "While PENDING: the time in UTC until which the transaction can be submitted",
            "example": DATE_EXAMPLE,
            "format": "date-time",
        },
    )


class SigningMetadataSchema(CamelCaseSchema):
    """Instructions for the wallet. Contract, section 2.4."""

    account_id = text("The account that must sign the transaction", "0.0.1001", key="accountToSign")
    return_transaction = show(
        fields.Boolean,
        "Whether the wallet must return the transaction. false: the wallet submits the transaction itself",
        False,
    )
    transaction_id = text("The transaction's ID", "0.0.1001@1763640000.123456789")
    expires_at = moment("The time in UTC until which the transaction can be submitted")
    network = word("The Hedera network on which the transaction is valid", "sandbox", [*NETWORKS])


class PreparedTransactionSchema(CamelCaseSchema):
    """A transaction to be signed. Contract, section 2.4."""

    transaction = show(
        Base64,
        "The transaction, not yet signed by accountToSign: a HAPI TransactionList in base64",
        "CkEqPwo7Cg8KCAiA98TVBhAFEgMY6Qc...",
        key="byteArray",
    )
    metadata = fields.Nested(SigningMetadataSchema, required=True)


class ListingMetadataSchema(SigningMetadataSchema):
    seller_receives = show(
        fields.String,
        "What the seller receives for each NFT in tinybars: the price without the marketplace's part and the"
        " collection's royalties and fees. null if the ledger did not answer",
        "24250000000",
        nullable=True,
    )


class PreparedListingSchema(PreparedTransactionSchema):
    metadata = fields.Nested(ListingMetadataSchema, required=True)


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
    token = token_field()
    serial_no = serial_no_field()
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


class ExchangeRateSchema(CamelCaseSchema):
    """A number of HBAR, and their value in US cents."""

    hbar = integer("A number of HBAR", 30_000, minimum=1)
    cents = integer("The value of these HBAR in US cents", 300_000, minimum=1)
    date = moment("When the rate was read")


class NetworkSchema(CamelCaseSchema):
    """The network."""

    network = word("The Hedera network", "sandbox", [*NETWORKS])
    account_id = text("The marketplace's account", "0.0.9001")
    exchange_rate = nested(
        ExchangeRateSchema,
        "The ledger's exchange rate; null until it is first read",
        allow_none=True,
    )


class EndingTokenSchema(CamelCaseSchema):
    """An access token that expires soon."""

    name = text("The token's name", "shop")
    expires_at = moment("When the token stops working")


class ServiceStatusSchema(CamelCaseSchema):
    """The state of the service."""

    version = text("The service's version", __version__)
    network = word("The Hedera network", "sandbox", [*NETWORKS])
    database = word(
        "reachable, or not asked. If the database does not answer, the response is a 503",
        "reachable",
        ["reachable", "not asked"],
    )
    mirror_node_rate = integer(
        "Requests per second that this machine may send to the mirror node",
        40,
    )
    last_sync = moment(
        "Every stored NFT is current as of this time; null before the first comparison",
        nullable=True,
    )
    newest_block_age = total(
        "Seconds since the end of the newest block that the watcher saw; null if it saw none",
        4,
        nullable=True,
    )
    watcher = word(
        "running: a watcher followed the ledger, or tried to, in the last minute, on any machine. silent:"
        " none did. Or not asked",
        "running",
        ["running", "silent", "not asked"],
    )
    nodes_gone = fields.List(
        fields.String(),
        required=True,
        metadata={"description": "The nodes of NODE_ACCOUNT_IDS that the network no longer has"},
    )
    tokens_ending = fields.List(
        fields.Nested(EndingTokenSchema),
        required=True,
        allow_none=True,
        metadata={
            "description": "Access tokens that expire within 14 days and were not replaced; null if the"
            " request's token lacks the scope metrics"
        },
    )
    signing_off = text(
        "Why purchases cannot be signed; null if they can, or if the request's token lacks the scope metrics",
        "it signs with the key 3b6a..., but that of 0.0.9001 is 8f21...",
        nullable=True,
    )
    network_reset = text(
        "Why the mirror node seems to show another ledger, so that the watcher follows nothing; otherwise"
        " null",
        None,
        nullable=True,
    )


def wrong_fields(place: str) -> fields.Dict:
    """What is wrong with each field of a place, by the field's name."""
    sentences = fields.List(fields.String())
    metadata = {"description": f"What is wrong with each field of the {place}"}
    return fields.Dict(keys=fields.String(), values=sentences, metadata=metadata)


class LedgerErrorSchema(CamelCaseSchema):
    """The ledger's refusal, or the one that is to be expected."""

    result = fields.List(
        fields.String(),
        required=True,
        metadata={
            "description": "The ledger's result code",
            "example": ["INSUFFICIENT_ACCOUNT_BALANCE"],
        },
    )


class ErrorDetailsSchema(CamelCaseSchema):
    """What is wrong, by place. A place where nothing is wrong is missing."""

    path = wrong_fields("path")
    query = wrong_fields("query")
    headers = wrong_fields("headers")
    json = wrong_fields("body")
    nfts = fields.Dict(
        keys=fields.String(),
        values=fields.List(fields.String()),
        metadata={"description": "What is wrong with each of several NFTs, by 0.0.5001:7"},
    )
    ledger = fields.Nested(
        LedgerErrorSchema,
        metadata={"description": "The ledger refused the transaction, or would refuse it"},
    )


class ApiErrorSchema(CamelCaseSchema):
    """The one shape of every error."""

    code = show(fields.Integer, "HTTP status code", 404)
    status = text("HTTP status name", "Not Found")
    message = text(
        "What is wrong, and what to do", "0.0.5001 #999 is not stored: POST /v1/add it first"
    )
    reason = text(
        "The kind of error, a word that never changes. The list of errors may grow",
        "NFT_NOT_STORED",
    )
    errors = fields.Nested(
        ErrorDetailsSchema,
        metadata={"description": "The wrong fields, or the ledger's result code"},
    )
