"""NFT records: read one or several, list a collection's, add one."""

from collections.abc import Iterator

from flask import Response, current_app, stream_with_context

from marketplace.api.authentication import caller, require_scope
from marketplace.api.cache import cached_query
from marketplace.api.http import Blueprint
from marketplace.api.limits import count_each
from marketplace.api.paging import CURSOR_HEADER, documented, with_events_cursor
from marketplace.api.schemas.common import CollectionPathSchema, NftPathSchema, ResultSchema
from marketplace.api.schemas.nfts import AddNftSchema, NftSchema, NftsQuerySchema
from marketplace.errors import Hidden, NftGone, NftNotOnLedger, NftNotStored
from marketplace.hedera.ids import NftId
from marketplace.market.nfts import add, read_again
from marketplace.market.requests import require_not_hidden
from marketplace.services import read
from marketplace.store import nfts, orderbook
from marketplace.store.connection import Connection
from marketplace.store.nfts import NftRow

NFTS_OR_NULL = {
    "type": "array",
    "items": {"anyOf": [{"$ref": "#/components/schemas/Nft"}, {"type": "null"}]},
}
ROWS_AT_ONCE = 2000  # a longer list is streamed in such parts, without an ETag

blp = Blueprint("NFT", __name__, description="NFT records")


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
    shown = {nft_id: nft for nft_id, nft in stored.items() if not nft["is_hidden"]}
    return [shown.get(nft_id) for nft_id in ids]


@blp.get("/nftslisted/<tokenId>")
@require_scope("read")
@blp.arguments(CollectionPathSchema, location="path")
@blp.response(
    200,
    NftSchema(many=True),
    description="The listed NFTs, by serial number",
    headers=CURSOR_HEADER,
)
@with_events_cursor
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
    count_each(nft_ids)
    add(account_id, nft_ids, caller())
    return {"result": "OK"}


@blp.post("/nft/<tokenId>/<serialNo>/refresh")
@require_scope("write")
@blp.arguments(NftPathSchema, location="path")
@blp.response(
    200,
    ResultSchema,
    headers=documented("Retry-After", "Seconds until another call has an effect", "integer"),
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
