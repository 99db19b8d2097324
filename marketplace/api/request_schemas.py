"""Schemas of requests: the names of fields on the wire, and the bounds of each.

Inside names are those of the database's columns, in the contract's order. The names on the wire are their
camelCase, or data_key.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from marshmallow import ValidationError, fields, post_load, validates_schema
from marshmallow.validate import Length

from marketplace.api.fields import (
    AccountName,
    Base64Bytes,
    CamelCaseSchema,
    Choice,
    Choices,
    Digits,
    EntityId,
    EventsCursor,
    Moment,
    NftIdField,
    NftObjects,
    PagePosition,
    SerialNumbers,
    Several,
    TraitText,
    TransactionIdField,
    TrueOrFalse,
    WalletName,
    WholeNumber,
    Words,
)
from marketplace.api.paging import BY_ID, BY_NAME, BY_NFTS, BY_OFFER, NEWEST, ORDERS
from marketplace.events import EventKind
from marketplace.hedera.ids import MAX_HBAR, NftId

NFTS_AT_ONCE = 100
TRAITS_AT_ONCE = 20
SERIALS_AT_ONCE = 20  # of one approval: the network's limit
BASKET = 10  # NFTs of one transfer: the network's limit
COLLECTION_SORTS = ("volume24h", "-volume", "listed", BY_NAME, "newest")
OLDEST_FIRST, NEWEST_FIRST = "asc", "desc"
MADE, RECEIVED = "made", "received"  # offers: by their bidder, or by the NFT's owner


def token_field(*, required: bool = True) -> EntityId:
    return EntityId("The collection's token ID", "0.0.5001", data_key="tokenId", required=required)


def selecting_field(description: str, example: str, data_key: str | None = None) -> EntityId:
    """An optional id in a query, which selects its own entries."""
    return EntityId(description, example, data_key=data_key, load_default=None)


def serial_no_field(
    kind: type[WholeNumber] = WholeNumber, example: int = 7, *, required: bool = True
) -> WholeNumber:
    return kind("The NFT's serial number within the token", example, required=required)


def account_id_field(description: str, example: str = "0.0.1001") -> EntityId:
    return EntityId(description, example, required=True)


def account_name_field(description: str, example: str = "0.0.1001") -> AccountName:
    description = f"{description}, or its EVM address"
    return AccountName(description, example, required=True)


class RequestSchema(CamelCaseSchema):
    error_messages = {"type": "must be a JSON object"}
    # Unknown names that clients are likely to send, each with the one to use.
    instead: ClassVar[Mapping[str, str]] = {}


class NftPathSchema(RequestSchema):
    token = token_field()
    serial_no = serial_no_field(Digits)


class CollectionPathSchema(RequestSchema):
    token = token_field()


class AccountPathSchema(RequestSchema):
    account_id = account_id_field("The account")


class WalletPathSchema(RequestSchema):
    wallet = WalletName(required=True, metadata={"description": "The wallet's name"})


def offset_field() -> Digits:
    return Digits("Entries to skip; ignored if page is given", 0, low=0, load_default=0)


def limit_field(of: str, usual: int, most: int) -> Digits:
    return Digits(f"Maximum number of {of}", usual, high=most, load_default=usual)


def page_field(orders: Sequence[str] = (NEWEST,)) -> PagePosition:
    description = "The page's position, copied from the previous page's Link header"
    return PagePosition(description, orders, load_default=None)


class OrderbookQuerySchema(RequestSchema):
    limit = limit_field("NFTs", 20, 20)
    offset = offset_field()
    page = page_field(ORDERS)
    sort = Choice(
        "lastListedDate: newest listing first; price: lowest price first; -price: highest price first. Ties"
        " by token and serial number",
        ORDERS,
        load_default=NEWEST,
    )
    token = selecting_field("Only NFTs of this token", "0.0.5001", "tokenId")
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
    def require_agreement(self, query: dict[str, Any], **kwargs: Any) -> None:
        """Raise ValidationError if parameters that are valid alone contradict each other."""
        low, high, page = query["min_price"], query["max_price"], query["page"]
        if low > high:
            raise ValidationError(f"must not be above maxPrice: {low} is above {high}", "minPrice")
        if query["traits"] and query["token"] is None:
            raise ValidationError("works only with tokenId", "trait")
        if page and not page.is_within(query["sort"], query["token"], low, high):
            came_with = "the sort, tokenId, minPrice and maxPrice that it came with"
            raise ValidationError(f"must be {PagePosition.expected}: {came_with}", "page")


class UserQuerySchema(RequestSchema):
    limit = limit_field("NFTs", 10, 1000)
    offset = offset_field()
    page = page_field()


class UserNftsQuerySchema(RequestSchema):
    limit = limit_field("NFTs", 10, 1000)
    page = page_field((BY_ID,))


class OwnersQuerySchema(RequestSchema):
    limit = limit_field("accounts", 100, 1000)
    page = page_field((BY_NFTS,))


def verified_field() -> TrueOrFalse:
    return TrueOrFalse("true: only verified collections", True, load_default=False)


class CollectionsQuerySchema(RequestSchema):
    sort = Choice(
        "volume24h: highest sales of the last 24 hours first; -volume: highest sales of all time first;"
        " listed: most NFTs for sale first; name: by name, unknown names first; newest: highest token number"
        " first. Ties by token",
        COLLECTION_SORTS,
        load_default=COLLECTION_SORTS[0],
    )
    q = Words(
        "Words: each must begin a word of the collection's name, symbol or token ID",
        "tid",
        load_default="",
    )
    verified = verified_field()
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


class NftsQuerySchema(RequestSchema):
    ids = Several(
        NftIdField("The NFT's token ID and serial number", "0.0.5001:7"),
        f"An NFT. Repeat the parameter for up to {NFTS_AT_ONCE} NFTs",
        "0.0.5001:7",
        data_key="id",
        required=True,
        validate=Length(1, NFTS_AT_ONCE, error="must be given 1 to {max} times"),
    )


class NftEventsQuerySchema(RequestSchema):
    after = EventsCursor(
        "Only events after this cursor: an event's id, or a list's X-Events-Cursor. Without it, the newest"
        " events",
        load_default=None,
    )
    limit = limit_field("events", 100, 1000)
    order = Choice(
        "asc: the events after the cursor, oldest first; desc: the events before it, newest first",
        (OLDEST_FIRST, NEWEST_FIRST),
        load_default=OLDEST_FIRST,
    )


class EventsQuerySchema(NftEventsQuerySchema):
    kinds = Choices(
        Choice("What happened", [*EventKind]),
        "Only events of this kind. Can be repeated",
        data_key="kind",
        load_default=(),
    )
    token = selecting_field("Only events of this token's NFTs", "0.0.5001", "tokenId")
    serial_no = Digits(
        "Only events of this serial number. Works only with tokenId", 7, load_default=None
    )
    account_id = selecting_field("Only events with this account in from or to", "0.0.1001")
    since = Moment(
        "Only events of this date or later. Without a cursor, the page begins with the oldest one",
        "2026-11-20",
        data_key="from",
        load_default=None,
    )
    until = Moment(
        "Only events before this date",
        "2036-11-20T12:34:56Z",
        data_key="to",
        load_default=None,
    )

    @validates_schema
    def require_agreement(self, query: dict[str, Any], **kwargs: Any) -> None:
        """Raise ValidationError for a serial number without a token, or an empty period."""
        if query["serial_no"] is not None and query["token"] is None:
            raise ValidationError("works only with tokenId", "serialNo")
        if query["since"] and query["until"] and query["since"] >= query["until"]:
            raise ValidationError("must be later than from", "to")


class Form(NamedTuple):
    """A form in which a body can name NFTs."""

    name: str  # in the OpenAPI document
    chosen_by: str  # the field that only this form has
    required: tuple[str, ...] = ()  # other fields that not every form has
    optional: tuple[str, ...] = ()
    is_of_several: bool = True  # NFTs; the first form never is

    @property
    def fields(self) -> set[str]:
        return {self.chosen_by, *self.required, *self.optional}


class NftsSchema(RequestSchema):
    """A body that names NFTs in one of several forms. It is loaded with ``nft_ids`` in their place."""

    forms: ClassVar[Sequence[Form]]

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def require_one_form(self, loaded: Any, original: Any, **kwargs: Any) -> None:
        """Raise ValidationError for a mixture of two forms, and for a form that lacks a field."""
        if not isinstance(original, Mapping):
            return
        keys = {name: field.data_key for name, field in self.fields.items()}
        given = {name for name, key in keys.items() if key in original}
        chosen = next((form for form in self.forms if form.chosen_by in given), self.forms[0])
        others = set().union(*(form.fields for form in self.forms)) - chosen.fields
        if mixed := sorted(given & others):
            beside = f"cannot be combined with {keys[chosen.chosen_by]}"
            raise ValidationError({keys[name]: [beside] for name in mixed})
        missing = {keys[name]: ["is required"] for name in chosen.required if name not in given}
        if chosen.chosen_by not in given:
            forms = [form for form in self.forms[1:] if form.is_of_several]
            several = " or ".join(str(keys[form.chosen_by]) for form in forms)
            missing[keys[chosen.chosen_by]] = [f"is required, or {several} for several NFTs"]
        if missing:
            raise ValidationError(missing)

    @post_load
    def name_nfts(self, loaded: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        if "offer_id" in loaded:
            return loaded | {"nft_ids": []}
        token, serial_no = loaded.pop("token", ""), loaded.pop("serial_no", 0)
        serial_nos, nfts = loaded.pop("serial_nos", (serial_no,)), loaded.pop("nfts", ())
        listed = [NftId(nft["token"], nft["serial_no"]) for nft in nfts]
        return loaded | {"nft_ids": listed or [NftId(token, number) for number in serial_nos]}


def serial_nos_field(example: Sequence[int] = (7, 8)) -> SerialNumbers:
    description = f"Up to {SERIALS_AT_ONCE} serial numbers of NFTs within the token"
    return SerialNumbers(description, example, most=SERIALS_AT_ONCE)


class AddNftSchema(NftsSchema):
    forms = (Form("AddNft", "serial_no"), Form("AddNfts", "serial_nos"))
    instead = {"nfts": "serialNos"}
    account_id = account_name_field("The account that wants to list the NFTs")
    token = token_field()
    serial_no = serial_no_field(required=False)
    serial_nos = serial_nos_field()


class PrepareListingSchema(AddNftSchema):
    forms = (Form("PrepareListing", "serial_no"), Form("PrepareListings", "serial_nos"))
    account_id = account_name_field("The account that lists the NFTs and signs")
    listing_price = WholeNumber("Price of each NFT in HBAR", 250, high=MAX_HBAR, required=True)


class PrepareWithdrawalSchema(AddNftSchema):
    forms = (Form("PrepareWithdrawal", "serial_no"), Form("PrepareWithdrawals", "serial_nos"))
    account_id = account_name_field("The account that withdraws the NFTs and signs")
    # Not the NFT in the example of a report: a report without id is about the newest transaction.
    serial_no = serial_no_field(example=19, required=False)
    serial_nos = serial_nos_field(example=(19, 20))


class NftToReportSchema(RequestSchema):
    token = token_field()
    serial_no = serial_no_field()


def expected_price_field() -> WholeNumber:
    return WholeNumber(
        "The price in HBAR that the buyer saw. If the price has changed, the purchase is refused",
        60,
        high=MAX_HBAR,
    )


class NftToBuySchema(NftToReportSchema):
    expected_price = expected_price_field()


class PreparePurchaseSchema(NftsSchema):
    """It is loaded with ``expected_prices``, too: those that the buyer saw."""

    forms = (
        Form("PreparePurchase", "serial_no", required=("token",), optional=("expected_price",)),
        Form("PrepareBasket", "nfts"),
    )
    instead = {"serialNos": "nfts"}
    account_id = account_name_field("The account that buys the NFTs and signs", "0.0.1002")
    token = token_field(required=False)
    serial_no = serial_no_field(required=False)
    expected_price = expected_price_field()
    nfts = NftObjects(
        NftToBuySchema,
        f"Up to {BASKET} NFTs; from one seller, only NFTs of one token",
        most=BASKET,
    )

    @post_load
    def name_nfts(self, loaded: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        prices = [nft.get("expected_price") for nft in loaded.get("nfts", [loaded])]
        loaded.pop("expected_price", None)
        loaded = super().name_nfts(loaded)
        pairs = zip(loaded["nft_ids"], prices, strict=True)
        return loaded | {"expected_prices": {nft_id: price for nft_id, price in pairs if price}}


class ReportTransactionSchema(NftsSchema):
    forms = (
        Form("ReportTransaction", "serial_no", required=("token",)),
        Form("ReportNfts", "serial_nos", required=("token",)),
        Form("ReportBasket", "nfts"),
        Form("ReportOffer", "offer_id", is_of_several=False),
    )
    account_id = account_name_field(
        "The account that signed the transaction: the owner or the buyer"
    )
    token = token_field(required=False)
    serial_no = serial_no_field(required=False)
    serial_nos = serial_nos_field()
    nfts = NftObjects(NftToReportSchema, f"The NFTs that were bought, up to {BASKET}", most=BASKET)
    offer_id = EntityId("The offer that was accepted or withdrawn", "0.0.8001")
    transaction_id = TransactionIdField(
        "The signed transaction's ID. Without it, the newest one prepared for this account and each NFT",
        "0.0.1001@1763640000.123456789",
        allow_none=True,
    )
    signed_transaction = Base64Bytes(
        "What the wallet returned, to be submitted: a HAPI TransactionList or Transaction in base64. With"
        " signatureMap: the unchanged byteArray"
    )
    signature_map = Base64Bytes("The HAPI SignatureMap that the wallet returned, in base64")
    instead = {"byteArray": "signedTransaction"}

    @validates_schema
    def require_transaction(self, report: dict[str, Any], **kwargs: Any) -> None:
        """Raise ValidationError for signatures of nothing."""
        if "signature_map" in report and "signed_transaction" not in report:
            raise ValidationError("is required with signatureMap", "signedTransaction")


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


def presence_field(description: str) -> fields.String:
    metadata = {"description": description}
    return fields.String(load_default=None, allow_none=True, metadata=metadata)


class StatusQuery(CamelCaseSchema):
    """The flags alive and ready are present or absent. Their value is ignored."""

    alive = presence_field("Only check that the service answers: the database is not used")
    ready = presence_field("Answer 503 also if a disk is full, or maxAge is exceeded")
    max_age = Digits(
        "With ready: the most seconds since the ledger was last followed; 0: any number",
        600,
        low=0,
        load_default=0,
    )
