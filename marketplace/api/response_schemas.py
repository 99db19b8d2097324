"""Schemas of responses: the only module that knows the names of their fields on the wire.

Inside names are those of the database's columns, in the contract's order. The names on the wire are their
camelCase, or data_key.
"""

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
    reasons,
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
    return text("Token id of the collection", "0.0.5001")


def serial_no_field() -> fields.Integer:
    return integer("Serial number of the NFT within the token", 7)


class OwnerSchema(CamelCaseSchema):
    account_id = text("Account id of the owner", "0.0.1001")


class NftSchema(CamelCaseSchema):
    """An NFT record. Contract, section 2.1."""

    token = token_field()
    serial_no = serial_no_field()
    name = text("Name of the NFT", "Tides #7")
    file_type = text("MIME type of the image", "image/png")
    is_listed = show(Flag, "True when the NFT is listed for sale", True, key="isForSale")
    attributes = text(
        "JSON text of an array of objects with the strings trait_type and value; null when the NFT"
        " has no attributes",
        '[{"trait_type":"Palette","value":"Ember"},{"trait_type":"Form","value":"Current"}]',
        key="stringifiedAttributes",
        nullable=True,
    )
    image = image_field("Address of the optimised image")
    original_image_url = show(
        OriginalImageUrl,
        "Address of the original image; null when it is not known",
        "http://127.0.0.1:8000/sandbox/ipfs/bafkqacbqfyyc4njqga2q/7.png",
        nullable=True,
    )
    listing_price = show(
        PriceWhileListed, "Price in HBAR while listed, otherwise 0", 60, format="int64"
    )
    last_listed_at = moment(
        "When the NFT was last listed (consensus time, UTC); null when not known",
        key="lastListedDate",
        nullable=True,
    )
    owner = account(OwnerSchema, "The account that owns the NFT")


class AccountSchema(CamelCaseSchema):
    account_id = text("Account id", "0.0.1001")


def account_or_null(description: str, key: str | None = None) -> fields.Nested:
    return account(AccountSchema, description, data_key=key, allow_none=True)


class LastSaleSchema(CamelCaseSchema):
    """The newest sale through this marketplace."""

    price = integer("Price in HBAR, paid by the buyer", 60)
    date = moment("When it was sold (consensus time, UTC)")


class FallbackFeeSchema(CamelCaseSchema):
    """The fee of a receiver who pays nothing for an NFT."""

    amount = integer("Tinybars, or smallest units of the token", 500_000_000)
    token = text("Token id of the currency; null: HBAR", None, nullable=True)


class RoyaltySchema(CamelCaseSchema):
    """A part of the price that the network takes at each sale."""

    collector = text("Account that receives it", "0.0.2002", key="accountId")
    numerator = total("Numerator of the fraction of the price", 5)
    denominator = integer("Denominator of the fraction of the price", 100, minimum=1)
    fallback = nested(
        FallbackFeeSchema,
        "The fee if an NFT is transferred for nothing; null: no fee",
        data_key="fallbackFee",
        allow_none=True,
    )


class FixedFeeSchema(CamelCaseSchema):
    """An amount that an NFT's sender pays at each transfer, and a seller at each sale."""

    collector = text("Account that receives it", "0.0.2002", key="accountId")
    amount = integer("Tinybars, or smallest units of the token", 100_000_000)
    token = text("Token id of the currency; null: HBAR", None, nullable=True)


class NamedCollectionSchema(CamelCaseSchema):
    token = token_field()
    name = text("Name; null while not known", "Tides", nullable=True)
    symbol = text("Symbol; null while not known", "TIDE", nullable=True)
    is_verified = show(Flag, "Whether the operator has verified it", True, key="verified")


class LinkSchema(CamelCaseSchema):
    """A page on the web."""

    label = text("Its name", "Discord")
    url = text("Its http or https address", "https://discord.com/invite/tides")


class CollectionRecordSchema(NamedCollectionSchema):
    """A collection: its facts as last read from the ledger, and its listings here.

    A fact that was not read yet is null.
    """

    total_supply = total("NFTs minted and not burned; null while not known", 30, nullable=True)
    treasury = account_or_null("The account that receives minted NFTs; null while not known")
    royalties = each(
        RoyaltySchema, "What creators receive at each sale; null while not known", allow_none=True
    )
    fixed_fees = each(
        FixedFeeSchema, "What a seller pays at each sale; null while not known", allow_none=True
    )
    listed = total("NFTs for sale here", 10)
    floor_price = hbar_or_null("Lowest price in HBAR; null if none is listed", 15)
    best_offer = hbar_or_null(
        "Highest open offer in HBAR for one of its NFTs, of those that are covered; null if there is none",
        12,
    )
    sales = total("Sales through this marketplace", 12)
    volume = total("HBAR that buyers paid in these sales", 730)
    sales_24h = total("Sales of the last 24 hours", 2)
    volume_24h = total("HBAR that buyers paid in the last 24 hours", 115)
    last_sale = nested(LastSaleSchema, "The newest sale; null if there is none", allow_none=True)
    owners = total("Accounts that own a stored NFT of it", 7)
    description = text("What it says of itself (HIP-766); null if nothing", "Seas", nullable=True)
    banner = picture_or_null("Address of its optimised banner; null if it has none", "bannerUrl")
    logo = picture_or_null("Address of its optimised logo; null if it has none", "logoUrl")
    links = each(
        LinkSchema, "Its pages on the web, as it names them: verify them before you follow"
    )


class FoundCollectionSchema(NamedCollectionSchema):
    """A collection in a list."""

    image = image_field(
        "Address of the optimised image of one of its NFTs, if possible of a listed one; null: none",
        nullable=True,
    )
    listed = total("NFTs for sale here", 10)
    floor_price = hbar_or_null("Lowest price in HBAR; null if none is listed", 15)
    volume_24h = total("HBAR that buyers paid here in the last 24 hours", 115)


class FoundAccountSchema(AccountSchema):
    """An account that has stored NFTs."""

    listed = total("Its NFTs for sale here", 4)


class CollectionOwnerSchema(AccountSchema):
    """An account that owns NFTs of a collection."""

    nfts = total("Stored NFTs of the collection that it owns", 3)


class FoundSchema(CamelCaseSchema):
    """The results of a search: at most 10 of each."""

    collections = each(FoundCollectionSchema, "The collections, as in /v1/collections")
    nfts = each(NftSchema, "The NFTs, if the query ends with a serial number")
    accounts = each(
        FoundAccountSchema, "The account, if the query is the id of one that has stored NFTs"
    )


class TraitValueSchema(CamelCaseSchema):
    value = text("The value", "Ember")
    count = total("Stored NFTs with this value that are not burned", 6)
    listed = total("NFTs with this value for sale here", 2)
    floor_price = hbar_or_null("Their lowest price in HBAR; null if none is for sale", 15)


class TraitSchema(CamelCaseSchema):
    """A trait of a collection's NFTs."""

    trait_type = text("Name of the trait", "Palette", "trait_type")
    values = each(TraitValueSchema, "Its values, the most frequent first")


class NftTraitSchema(CamelCaseSchema):
    trait_type = text("Name of the trait", "Palette", "trait_type")
    value = text("Its value", "Ember")
    count = total("Ranked NFTs with this value", 6)
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
    ranked = total("How many NFTs of the collection are ranked", 30)
    traits = each(NftTraitSchema, "Its traits; empty if it is not ranked")


class EventSchema(CamelCaseSchema):
    """An event of an NFT. A field that does not apply is null."""

    cursor = text("Its cursor: after=<id> continues from here", "3f2a9c1e-42", key="id")
    kind = text(
        "What happened. SOLD is a sale through this marketplace, TRANSFERRED any other change of the owner."
        " A listing ends with WITHDRAWN, SOLD, TRANSFERRED, BURNED or HIDDEN. The operator hides and shows:"
        " SHOWN has the owner then, and the price if it is for sale. An offer opens with OFFERED, and ends"
        " with SOLD, OFFER_WITHDRAWN, OFFER_EXPIRED or OFFER_FAILED; it pauses while another account owns"
        " the NFT",
        "SOLD",
        enum=[*EventKind],
    )
    token = token_field()
    serial_no = serial_no_field()
    from_account = account_or_null(
        "The owner before; for a listing, the seller; for an offer, the owner", "from"
    )
    to_account = account_or_null("The owner after; for an offer, the bidder", "to")
    price = hbar_or_null(
        "HBAR: the price that the buyer paid, otherwise of the listing, or offered", 60
    )
    previous_price = hbar_or_null("HBAR: the price of the listing that it ends or replaces", 60)
    transaction_id = text(
        "The transaction that caused it; null if not known",
        "0.0.1001@1763640000.123456789",
        nullable=True,
    )
    consensus_at = show(
        ConsensusTimestamp,
        "When it happened on the ledger; null if it is no event of the ledger, or the time is not known",
        "1763640000.123456789",
        key="consensusTimestamp",
        nullable=True,
    )
    offer_id = text(
        "The offer that it is about, or by which it was sold: its schedule",
        "0.0.8001",
        nullable=True,
    )
    date = moment(
        "When it happened (UTC); if the ledger's time is not known, when it was seen here",
        "2026-11-20T12:00:00.123Z",
    )


class WebhookMessageSchema(CamelCaseSchema):
    """The body of a message to a webhook."""

    type = text("The event's kind in lower case, after nft.", "nft.sold")
    timestamp = text("The event's date", "2026-11-20T12:00:00.123Z", format="date-time")
    data = nested(EventSchema, "The event")


class ResultSchema(CamelCaseSchema):
    """The result of adding an NFT. Contract, section 2.3."""

    result = text("OK on success", "OK", enum=["OK"])


class ReportResultSchema(CamelCaseSchema):
    """The result of reporting a transaction. An answer has the fields that it is about."""

    dump = Schema.dump

    result = text("OK once the ledger shows it", "OK", enum=["OK", "PENDING"])
    listing_price = fields.Integer(
        metadata={
            "description": "Of a listing that is OK: the price of each NFT in HBAR, as the ledger has it now",
            "example": 250,
            "format": "int64",
        }
    )
    expires_at = Milliseconds(
        allow_none=True,
        metadata={
            "description": "Of one that is PENDING: until when it can be submitted (UTC). A transaction that"
            " the wallet refused never comes",
            "example": DATE_EXAMPLE,
            "format": "date-time",
        },
    )


class SigningMetadataSchema(CamelCaseSchema):
    """Instructions for the wallet. Contract, section 2.4."""

    account_id = text("Account id that must sign the transaction", "0.0.1001", key="accountToSign")
    return_transaction = show(
        fields.Boolean,
        "Whether the wallet must return the transaction; false: the wallet submits it itself",
        False,
    )
    transaction_id = text("The transaction's id", "0.0.1001@1763640000.123456789")
    expires_at = moment("Until when it can be submitted (UTC)")
    network = text("Hedera network on which it is valid", "sandbox", enum=[*NETWORKS])


class PreparedTransactionSchema(CamelCaseSchema):
    """A transaction to be signed. Contract, section 2.4."""

    transaction = show(
        Base64,
        "The transaction, which accountToSign has not signed yet: base64 of the bytes of a HAPI"
        " TransactionList",
        "CkEqPwo7Cg8KCAiA98TVBhAFEgMY6Qc...",
        key="byteArray",
    )
    metadata = fields.Nested(SigningMetadataSchema, required=True)


class OfferMetadataSchema(SigningMetadataSchema):
    offer_id = text("Id of the offer: of its schedule", "0.0.8001")


class PreparedOfferSchema(PreparedTransactionSchema):
    """A transaction about an offer, to be signed."""

    metadata = fields.Nested(OfferMetadataSchema, required=True)


class OfferSchema(CamelCaseSchema):
    """An offer for an NFT: a schedule of the marketplace's account."""

    schedule_id = text("Id of the offer: of its schedule", "0.0.8001", key="offerId")
    token = token_field()
    serial_no = serial_no_field()
    seller = account(AccountSchema, "The owner, who can accept it", data_key="from")
    bidder = account(AccountSchema, "Who made it, and receives the NFT", data_key="to")
    price = integer("HBAR that the bidder pays", 50)
    expires_at = moment("When it ends (UTC)")
    is_covered = show(
        Flag, "Whether the bidder could pay it when that was last looked at", True, key="covered"
    )
    created_at = moment("When its schedule was created (consensus time, UTC)")


class OfferRecordSchema(OfferSchema):
    """One offer, as the ledger showed it last."""

    state = text(
        "UNSIGNED: the bidder has not signed it. OPEN: the owner can accept it. CLOSED: the owner cannot now,"
        " because the NFT has another owner, or it is hidden, or an account is blocked. ACCEPTED: sold."
        " FAILED: accepted, and refused by the ledger",
        "OPEN",
        enum=["UNSIGNED", "OPEN", "CLOSED", "ACCEPTED", "FAILED", "WITHDRAWN", "EXPIRED"],
    )
    transaction_id = text(
        "The transaction that created its schedule", "0.0.9001@1763640000.123456789"
    )
    body = show(
        Base64,
        "The scheduled transaction: base64 of a HAPI SchedulableTransactionBody, as the mirror node shows it",
        "CIDh6xcSVE9mZmVyIG9mIDUwIEhCQVIg...",
        key="transactionBody",
    )


class ExchangeRateSchema(CamelCaseSchema):
    """``hbar`` HBAR are worth ``cents`` US cents."""

    hbar = integer("HBAR", 30_000, minimum=1)
    cents = integer("US cents", 300_000, minimum=1)
    date = moment("When it was read")


class NetworkSchema(CamelCaseSchema):
    """The network."""

    network = text("Hedera network", "sandbox", enum=[*NETWORKS])
    account_id = text("The marketplace's account", "0.0.9001")
    exchange_rate = nested(
        ExchangeRateSchema,
        "The ledger's own exchange rate; null until it is first read",
        allow_none=True,
    )


class EndingTokenSchema(CamelCaseSchema):
    """An access token that expires soon."""

    name = text("Name of the token", "shop")
    expires_at = moment("When it stops working")


class ServiceStatusSchema(CamelCaseSchema):
    """The state of the service."""

    version = text("Version of this service", __version__)
    network = text("Hedera network", "sandbox", enum=[*NETWORKS])
    database = text(
        "reachable, or not asked; if it does not answer, the response is a 503",
        "reachable",
        enum=["reachable", "not asked"],
    )
    mirror_node_rate = integer(
        "Requests a second that this machine may send to the mirror node: its share of the limit",
        40,
    )
    last_sync = moment(
        "The stored NFTs show the ledger of then, or of later; null: nothing was compared yet",
        nullable=True,
    )
    newest_block_age = total(
        "Seconds since the end of the newest block of the ledger that the watcher saw; null: it saw none",
        4,
        nullable=True,
    )
    watcher = text(
        "running: a watcher worked in the last minute, on any machine; silent: none did, so the service does"
        " not follow the ledger, nor fetch metadata and images; or not asked",
        "running",
        enum=["running", "silent", "not asked"],
    )
    nodes_gone = fields.List(
        fields.String(),
        required=True,
        metadata={"description": "Nodes of NODE_ACCOUNT_IDS that the network no longer has"},
    )
    tokens_ending = fields.List(
        fields.Nested(EndingTokenSchema),
        required=True,
        allow_none=True,
        metadata={
            "description": "Access tokens that expire within 14 days and were not replaced; null: the request"
            " has no token with the scope metrics"
        },
    )
    signing_off = text(
        "Why purchases cannot be signed; null: they can, or the request has no token with the scope metrics",
        "it signs with the key 3b6a..., but that of 0.0.9001 is 8f21...",
        nullable=True,
    )
    network_reset = text(
        "Why the mirror node seems to show another ledger, so that the watcher follows nothing; null: it does"
        " not",
        None,
        nullable=True,
    )


def wrong_fields(place: str) -> fields.Dict:
    """What is wrong with each field of a place, by the field's name."""
    sentences = fields.List(fields.String())
    metadata = {"description": f"What is wrong with each field of the {place}"}
    return fields.Dict(keys=fields.String(), values=sentences, metadata=metadata)


class LedgerErrorSchema(CamelCaseSchema):
    """What the ledger said, or would say."""

    result = fields.List(
        fields.String(),
        required=True,
        metadata={
            "description": "One result code of the ledger",
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
        LedgerErrorSchema, metadata={"description": "The ledger refused it, or would"}
    )


class ApiErrorSchema(CamelCaseSchema):
    """The one shape of every error."""

    code = show(fields.Integer, "HTTP status code", 404)
    status = text("HTTP status name", "Not Found")
    message = text(
        "What is wrong, and what to do", "0.0.5001 #999 is not stored: POST /v1/add it first"
    )
    reason = text("The kind of error: it never changes", "NFT_NOT_STORED", enum=reasons())
    errors = fields.Nested(
        ErrorDetailsSchema,
        metadata={"description": "Which fields are wrong, or the ledger's result code"},
    )
