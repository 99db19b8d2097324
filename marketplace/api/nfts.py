"""NFT records and the order book: read one or several, list those for sale, add one."""

from collections.abc import Iterator
from typing import Any

from flask import Response, current_app, stream_with_context
from marshmallow import ValidationError, validates_schema
from marshmallow.validate import Length

from marketplace.api import paging
from marketplace.api.authentication import make_request, require_scope
from marketplace.api.cache import cached_query
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
from marketplace.api.http import Blueprint
from marketplace.api.paging import BY_ID, NEWEST, ORDERS, NftPage, Position
from marketplace.api.schemas import (
    CollectionPathSchema,
    Form,
    NftPathSchema,
    NftsSchema,
    RequestSchema,
    account,
    account_name_field,
    chosen_field,
    image_field,
    limit_field,
    moment,
    offset_field,
    page_field,
    selecting_field,
    serial_no_field,
    serial_nos_field,
    serial_number,
    show,
    text,
    token_field,
    token_id,
    word,
)
from marketplace.errors import Hidden, NftGone, NftNotOnLedger, NftNotStored
from marketplace.hedera.ids import MAX_HBAR, NftId
from marketplace.market.nfts import add, read_again
from marketplace.market.requests import require_not_hidden
from marketplace.services import read
from marketplace.store import nfts, orderbook
from marketplace.store.connection import Connection
from marketplace.store.nfts import NftRow

NFTS_AT_ONCE = 100
TRAITS_AT_ONCE = 20
NFTS_OR_NULL = {
    "type": "array",
    "items": {"anyOf": [{"$ref": "#/components/schemas/Nft"}, {"type": "null"}]},
}
ROWS_AT_ONCE = 2000  # a longer list is streamed in such parts, without an ETag


class FilterQuerySchema(RequestSchema):
    """A part of the order book, as store/orderbook.Selection has it."""

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
    only_chosen = chosen_field()

    @validates_schema
    def require_agreement(self, query: dict[str, Any], **kwargs: Any) -> None:
        """Raise ValidationError if parameters that are valid alone contradict each other."""
        if query["traits"] and query["token"] is None:
            raise ValidationError("works only with tokenId", "trait")
        require_own_page(query, "sort, tokenId, minPrice and maxPrice")


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


class ResultSchema(CamelCaseSchema):
    """The result of adding an NFT."""

    result = word("OK on success", "OK", ["OK"])


blp = Blueprint("NFT", __name__, description="NFT records")
orderbook_blp = Blueprint("Order book", __name__, description="All that is for sale")


@blp.get("/nft/<tokenId>/<serialNo>")
@require_scope("read")
@blp.arguments(NftPathSchema, location="path")
@blp.response(200, NftSchema, description="The NFT record")
@blp.refuses(NftNotStored, Hidden)
def get_nft(token: str, serial_no: int) -> NftRow:
    """Get one NFT

    Returns the stored record, with the owner, and the price if the NFT is for sale. This call does not ask
    the ledger. An NFT that is not stored is a 404: add it first.
    """
    return find_nft(token, serial_no)


def find_nft(token: str, serial_no: int) -> NftRow:
    """Find a stored NFT that is not hidden. Raises NftNotStored or Hidden."""
    nft = cached_query(nfts.get_nft, token, serial_no)
    if nft is None or nft["is_hidden"]:
        require_not_hidden(token, serial_no)
        raise NftNotStored(token, serial_no)
    return nft


def is_gone(token: str, serial_no: int) -> bool:
    """Whether an NFT is burned, or of a deleted token, as the ledger showed it last."""
    nft = nfts.get_nft(read(), token, serial_no)
    return nft is not None and nfts.is_gone(nft)


@blp.get("/nfts")
@require_scope("read")
@blp.arguments(NftsQuerySchema, location="query")
@blp.doc(responses={200: {"content": {"application/json": {"schema": NFTS_OR_NULL}}}})
@blp.response(200, NftSchema(many=True), description="The NFTs, in the order of the request")
def list_nfts(ids: tuple[NftId, ...]) -> list[NftRow | None]:
    """Get several NFTs by ID

    Returns up to 100 NFTs in the order of the request, with null for each NFT that is not stored or is
    hidden.
    """
    stored = nfts.get_nfts(read(), ids)
    visible = {nft_id: nft for nft_id, nft in stored.items() if not nft["is_hidden"]}
    return [visible.get(nft_id) for nft_id in ids]


@blp.get("/nftslisted/<tokenId>")
@require_scope("read")
@blp.arguments(CollectionPathSchema, location="path")
@blp.response(
    200,
    NftSchema(many=True),
    description="The listed NFTs, by serial number",
    headers=paging.CURSOR_HEADER,
)
@paging.with_events_cursor
def list_collection(token: str) -> list[NftRow] | Response:
    """List a collection's NFTs for sale

    Returns all listed NFTs, by serial number. If none is listed, the array is empty.
    """
    db = read()
    rows = orderbook.list_listed_in_collection_after(db, token, 0, ROWS_AT_ONCE)
    return rows if len(rows) < ROWS_AT_ONCE else _stream(_read_on(db, token, rows))


def _read_on(db: Connection, token: str, rows: list[NftRow]) -> Iterator[list[NftRow]]:
    while rows:
        yield rows
        last = rows[-1]["serial_no"]
        rows = orderbook.list_listed_in_collection_after(db, token, last, ROWS_AT_ONCE)


def _stream(parts: Iterator[list[NftRow]]) -> Response:
    """Answer an array that is sent as it is read."""
    schema = NftSchema(many=True)

    def write() -> Iterator[str]:
        separator = "["
        for rows in parts:
            array = current_app.json.dumps(schema.dump(rows), separators=(",", ":"))
            yield separator + array[1:-1]
            separator = ","
        yield "]"

    return Response(stream_with_context(write()), mimetype="application/json")


@orderbook_blp.get("/orderbook")
@require_scope("read")
@orderbook_blp.arguments(OrderbookQuerySchema, location="query")
@orderbook_blp.response(
    200, NftSchema(many=True), description="A page of listed NFTs", headers=paging.PAGE_HEADERS
)
@paging.with_events_cursor
def list_orderbook(
    limit: int, offset: int, page: Position | None, only_chosen: bool, **selected: Any
) -> NftPage:
    """List the NFTs for sale

    The newest listing comes first, and listings without a known date come last, ties by token and serial
    number. You can sort by price, and filter by collection, traits and price. If more follow, the Link header
    leads to the next page.
    """
    chosen = current_app.config["STOREFRONT_COLLECTIONS"] if only_chosen else ()
    selection = orderbook.Selection(**selected, chosen=chosen)
    rows = orderbook.list_selected(read(), selection, limit + 1, offset, page and page.after)
    return paging.page(rows, limit, selection.sort)


@blp.post("/add")
@require_scope("write")
@blp.arguments(AddNftSchema)
@blp.response(200, ResultSchema, description="The NFT is stored")
@blp.refuses(NftNotOnLedger, NftGone, Hidden)
def add_nft(account_id: str, nft_ids: list[NftId]) -> dict[str, str]:
    """Add an NFT

    Reads an NFT from the ledger and stores it. A stored NFT is left as it is. Call this before you prepare a
    listing. The owner is the one on the ledger, not the accountId of the body. The metadata and image follow
    within seconds. Until then, the NFT has a name built from its collection's, and a placeholder image. Send
    serialNos instead of serialNo to add up to 20 NFTs, all or none.
    """
    add(make_request(account_id, nft_ids))
    return {"result": "OK"}


@blp.post("/nft/<tokenId>/<serialNo>/refresh")
@require_scope("write")
@blp.arguments(NftPathSchema, location="path")
@blp.response(
    200,
    ResultSchema,
    headers=paging.documented("Retry-After", "Seconds until another call has an effect", "integer"),
    description="The metadata is read within seconds, or was read in the last ten minutes",
)
@blp.refuses(NftNotStored, NftGone, Hidden)
def refresh_nft(token: str, serial_no: int) -> tuple[dict[str, str], int, dict[str, str]]:
    """Refresh an NFT's metadata

    Call this if the metadata was replaced at its address, such as in a reveal, or if its host did not answer.
    The call has no body. The watcher reads an NFT's metadata at most once in ten minutes, whoever asks.
    Retry-After has the seconds until another call has an effect. Until the metadata is read, and if that
    fails, the NFT stays as it is.
    """
    return {"result": "OK"}, 200, {"Retry-After": str(read_again(token, serial_no))}
