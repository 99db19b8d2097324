"""Collections, their owners, and search: queries and responses."""

from typing import Any

from marshmallow import ValidationError, fields, validates_schema

from marketplace.api.fields import (
    CamelCaseSchema,
    Choice,
    Digits,
    Flag,
    PagePosition,
    Words,
)
from marketplace.api.paging import BY_NAME, BY_NFTS
from marketplace.api.schemas.common import (
    AccountSchema,
    RequestSchema,
    account_or_null,
    each,
    hbar_or_null,
    image_field,
    integer,
    limit_field,
    moment,
    nested,
    page_field,
    picture_or_null,
    show,
    shown_field,
    text,
    token_id,
    total,
    verified_field,
)
from marketplace.api.schemas.nfts import NftSchema

COLLECTION_SORTS = (
    "volume24h",
    "volume7d",
    "volume30d",
    "-volume",
    "sales7d",
    "sales30d",
    "owners",
    "floorPrice",
    "floorPrice24hAgo",
    "listed",
    BY_NAME,
    "newest",
)
MAX_DAYS = 366  # of a collection's history


class OwnersQuerySchema(RequestSchema):
    limit = limit_field("accounts", 100, 1000)
    page = page_field((BY_NFTS,))


class CollectionsQuerySchema(RequestSchema):
    sort = Choice(
        "volume24h, volume7d, volume30d: highest volume of this time first; -volume: of all time; sales7d,"
        " sales30d: most sales of this time first; owners: most owners first; floorPrice, floorPrice24hAgo:"
        " highest first; listed: most NFTs for sale first; name: by name, unknown names first; newest:"
        " highest token number first. Ties by token",
        COLLECTION_SORTS,
        load_default=COLLECTION_SORTS[0],
    )
    q = Words(
        "Words: each must begin a word of the collection's name, symbol or token ID",
        "tid",
        load_default="",
    )
    verified = verified_field()
    only_shown = shown_field()
    limit = limit_field("collections", 20, 100)
    page = page_field(COLLECTION_SORTS)

    @validates_schema
    def require_agreement(self, query: dict[str, Any], **kwargs: Any) -> None:
        """Raise ValidationError if the page came with another order."""
        if query["page"] and query["page"].sort != query["sort"]:
            raise ValidationError(f"must be {PagePosition.expected}: the sort it came with", "page")


class SearchQuerySchema(RequestSchema):
    q = Words("Words, words and a serial number, or an ID", "tides 7", required=True)
    verified = verified_field()
    only_shown = shown_field()


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
    token = token_id()
    name = text("The collection's name; null if not known", "Tides", nullable=True)
    symbol = text("The collection's symbol; null if not known", "TIDE", nullable=True)
    is_verified = show(
        Flag, "Whether the operator vouches for the collection's name", True, key="verified"
    )


class FiguresSchema(NamedCollectionSchema):
    """The watcher counts the figures of 7 and of 30 days within seconds of an event."""

    listed = total("The number of NFTs for sale here", 10)
    floor_price = hbar_or_null("The lowest price in HBAR; null if nothing is listed", 15)
    floor_price_24h_ago = hbar_or_null(
        "The lowest price 24 hours ago, to the hour; null if nothing was listed, or if it is not known",
        20,
    )
    owners = total("The number of accounts that own a stored NFT of the collection", 7)
    sales = total("The number of sales through this marketplace", 12)
    volume = total("What buyers paid in these sales, in HBAR", 730)
    volume_24h = total("What buyers paid here in the last 24 hours, in HBAR", 115)
    sales_7d = total("The number of sales in the last 7 days, to the hour", 6)
    volume_7d = total("What buyers paid in the last 7 days, in HBAR", 350)
    sales_30d = total("The number of sales in the last 30 days, to the hour", 12)
    volume_30d = total("What buyers paid in the last 30 days, in HBAR", 730)


class EarnedRoyaltySchema(CamelCaseSchema):
    """A royalty, and what it has earned."""

    collector = text("The account that receives the royalty", "0.0.2002", key="accountId")
    numerator = total("Numerator of the royalty's fraction of the price", 5)
    denominator = integer("Denominator of this fraction", 100, minimum=1)
    earned = text("What it brought, in tinybars", "3650000000")


class LinkSchema(CamelCaseSchema):
    """A page on the web."""

    label = text("The link's name", "Discord")
    url = text("The link's http or https URL", "https://discord.com/invite/tides")


class CollectionRecordSchema(FiguresSchema):
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
    best_offer = hbar_or_null(
        "The highest open and covered offer for one of the NFTs, in HBAR; null if there is none",
        12,
    )
    sales_24h = total("The number of sales in the last 24 hours", 2)
    last_sale = nested(LastSaleSchema, "The newest sale; null if there is none", allow_none=True)
    description = text(
        "The collection's own description (HIP-766); null if there is none", "Seas", nullable=True
    )
    banner = picture_or_null("The optimized banner's URL; null if there is none", "bannerUrl")
    logo = picture_or_null("The optimized logo's URL; null if there is none", "logoUrl")
    links = each(
        LinkSchema,
        "The collection's own claims of its web pages: verify a link before you follow it",
    )


class FoundCollectionSchema(FiguresSchema):
    """A collection in a list."""

    image = image_field(
        "The URL of an image of one of the cheapest NFTs for sale, or else of one of the first NFTs; null if"
        " there is none",
        nullable=True,
    )


class HistoryQuerySchema(RequestSchema):
    days = Digits("The number of days, with today", 90, high=MAX_DAYS, load_default=90)


class CollectionDaySchema(CamelCaseSchema):
    """A day of a collection, in UTC."""

    date = show(fields.String, "The day", "2026-11-20", format="date")
    floor_price = hbar_or_null(
        "The lowest price in HBAR at the day's end, or now; null if nothing was listed", 15
    )
    sales = total("The number of sales", 2)
    volume = total("What buyers paid, in HBAR", 115)
    lowest_price = hbar_or_null("The lowest price that a buyer paid; null without a sale", 55)
    highest_price = hbar_or_null("The highest price that a buyer paid; null without a sale", 60)


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
