"""NFTs and the order book: queries, bodies and responses."""

from typing import Any

from marshmallow import ValidationError, fields, validates_schema
from marshmallow.validate import Length

from marketplace.api.fields import (
    CamelCaseSchema,
    Choice,
    Choices,
    Digits,
    EntityId,
    Flag,
    NftIdField,
    OriginalImageUrl,
    PagePosition,
    PriceWhileListed,
    Several,
    TraitText,
)
from marketplace.api.paging import BY_ID, NEWEST, ORDERS
from marketplace.api.schemas.common import (
    Form,
    NftsSchema,
    RequestSchema,
    account,
    account_name_field,
    each,
    hbar_or_null,
    image_field,
    integer,
    limit_field,
    moment,
    offset_field,
    page_field,
    selecting_field,
    serial_no_field,
    serial_nos_field,
    serial_number,
    show,
    shown_field,
    text,
    token_field,
    token_id,
    total,
)
from marketplace.hedera.ids import MAX_HBAR

NFTS_AT_ONCE = 100
TRAITS_AT_ONCE = 20


class FilterQuerySchema(RequestSchema):
    """A part of the order book."""

    min_price = Digits("Lowest price in HBAR", 10, low=0, high=MAX_HBAR, load_default=0)
    max_price = Digits("Highest price in HBAR", 500, low=0, high=MAX_HBAR, load_default=MAX_HBAR)
    traits = Choices(
        TraitText("The name of the trait, a colon, and its value"),
        "Only NFTs of the collection with this trait, such as Background:Blue. Can be repeated: values of one"
        " trait are alternatives, different traits must all match",
        data_key="trait",
        load_default=(),
        validate=Length(max=TRAITS_AT_ONCE, error="can be given at most {max} times"),
    )

    @validates_schema
    def require_range(self, query: dict[str, Any], **kwargs: Any) -> None:
        """Raise ValidationError if no price is within the bounds."""
        low, high = query["min_price"], query["max_price"]
        if low > high:
            raise ValidationError(f"must not be above maxPrice: {low} is above {high}", "minPrice")


def sort_field() -> Choice:
    description = (
        "lastListedDate: newest listing first; price: lowest price first; -price: highest price first. Ties"
        " by token and serial number"
    )
    return Choice(description, ORDERS, load_default=NEWEST)


def of_token_field() -> EntityId:
    return selecting_field("Only NFTs of this token", "0.0.5001", "tokenId")


def require_own_page(query: dict[str, Any], came_with: str) -> None:
    """Raise ValidationError if the page is of another list than the query's."""
    page, sort = query["page"], query.get("sort", BY_ID)
    low, high = query.get("min_price", 0), query.get("max_price", MAX_HBAR)
    if page and not page.is_within(sort, query["token"], low, high):
        message = f"must be {PagePosition.expected}: the {came_with} that it came with"
        raise ValidationError(message, "page")


class OrderbookQuerySchema(FilterQuerySchema):
    limit = limit_field("NFTs", 20, 20)
    offset = offset_field()
    page = page_field(ORDERS)
    sort = sort_field()
    token = of_token_field()
    only_shown = shown_field()

    @validates_schema
    def require_agreement(self, query: dict[str, Any], **kwargs: Any) -> None:
        """Raise ValidationError if parameters that are valid alone contradict each other."""
        if query["traits"] and query["token"] is None:
            raise ValidationError("works only with tokenId", "trait")
        require_own_page(query, "sort, tokenId, minPrice and maxPrice")


class UserQuerySchema(RequestSchema):
    limit = limit_field("NFTs", 10, 1000)
    offset = offset_field()
    page = page_field(ORDERS)
    sort = sort_field()
    token = of_token_field()

    @validates_schema
    def require_agreement(self, query: dict[str, Any], **kwargs: Any) -> None:
        require_own_page(query, "sort and tokenId")


class AccountCollectionSchema(CamelCaseSchema):
    """A collection of which an account owns, sold or bought NFTs."""

    token = token_id()
    name = text("The collection's name; null if not known", "Tides", nullable=True)
    nfts = total("The number of its stored NFTs that the account owns", 3)
    listed = total("The number of these that are for sale", 1)
    floor_price = hbar_or_null(
        "The collection's lowest price in HBAR; null if nothing is listed", 15
    )
    sales = total("The number of its NFTs that the account sold here", 2)
    sales_volume = total("What buyers paid for these, before fees, in HBAR", 115)
    purchases = total("The number of its NFTs that the account bought here", 1)
    purchases_volume = total("What the account paid for these, in HBAR", 60)


class AccountSummarySchema(CamelCaseSchema):
    """What an account owns, sold and bought."""

    account_id = text("The account's ID", "0.0.1001")
    nfts = total("The number of stored NFTs that the account owns", 3)
    listed = total("The number of these that are for sale", 1)
    floor_value = total("What they cost at their collections' lowest prices, in HBAR", 45)
    sales = total("The number of NFTs that the account sold here", 2)
    sales_volume = total("What buyers paid for these, before fees, in HBAR", 115)
    purchases = total("The number of NFTs that the account bought here", 1)
    purchases_volume = total("What the account paid for these, in HBAR", 60)
    collections = each(
        AccountCollectionSchema,
        "At most 1,000 of its collections: those of which it owns most NFTs come first",
    )


class UserNftsQuerySchema(RequestSchema):
    limit = limit_field("NFTs", 10, 1000)
    page = page_field((BY_ID,))
    token = of_token_field()

    @validates_schema
    def require_agreement(self, query: dict[str, Any], **kwargs: Any) -> None:
        require_own_page(query, "tokenId")


class NftsQuerySchema(RequestSchema):
    ids = Several(
        NftIdField("The NFT's token ID and serial number", "0.0.5001:7"),
        f"An NFT. Repeat the parameter for up to {NFTS_AT_ONCE} NFTs",
        "0.0.5001:7",
        data_key="id",
        required=True,
        validate=Length(1, NFTS_AT_ONCE, error="must be given 1 to {max} times"),
    )


class AddNftSchema(NftsSchema):
    forms = (Form("AddNft", "serial_no"), Form("AddNfts", "serial_nos"))
    instead = {"nfts": "serialNos"}
    account_id = account_name_field("The account that wants to list the NFTs")
    token = token_field()
    serial_no = serial_no_field(required=False)
    serial_nos = serial_nos_field()


class OwnerSchema(CamelCaseSchema):
    account_id = text("The owner's account ID", "0.0.1001")


class NftSchema(CamelCaseSchema):
    """An NFT record."""

    token = token_id()
    serial_no = serial_number()
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


class TraitValueSchema(CamelCaseSchema):
    value = text("The value", "Ember")
    count = total("The number of stored NFTs with this value, without burned ones", 6)
    listed = total("The number of NFTs with this value for sale here, within the filters", 2)
    floor_price = hbar_or_null("Their lowest price in HBAR; null if none is for sale", 15)


class TraitSchema(CamelCaseSchema):
    """A trait of a collection's NFTs."""

    trait_type = text("The trait's name", "Palette", "trait_type")
    values = each(TraitValueSchema, "The trait's values, the most frequent first")


class RanksQuerySchema(RequestSchema):
    serial_nos = Several(
        Digits("An NFT's serial number", 7),
        f"A serial number. Repeat the parameter for up to {NFTS_AT_ONCE} NFTs",
        7,
        data_key="serialNo",
        required=True,
        validate=Length(1, NFTS_AT_ONCE, error="must be given 1 to {max} times"),
    )


class NftTraitSchema(CamelCaseSchema):
    trait_type = text("The trait's name", "Palette", "trait_type")
    value = text("The NFT's value", "Ember")
    count = total("The number of ranked NFTs with this value", 6)
    share = show(fields.Float, "Their share of all ranked NFTs", 0.2, minimum=0, maximum=1)


class NftRankSchema(CamelCaseSchema):
    """How rare an NFT is."""

    serial_no = serial_number()
    rank = integer(
        "1 is the rarest; null if the NFT has no traits, is burned, or its collection is too large",
        3,
        nullable=True,
        minimum=1,
    )


class NftTraitsSchema(NftRankSchema):
    """The traits of an NFT, and how rare it is."""

    token = token_id()
    ranked = total("The number of the collection's ranked NFTs", 30)
    traits = each(NftTraitSchema, "The NFT's traits; empty if the NFT is not ranked")
