"""The order book: all listed NFTs or a selection, newest first or by price."""

from marketplace.api import paging
from marketplace.api.authentication import require_scope
from marketplace.api.http import Blueprint
from marketplace.api.paging import NftPage, Position
from marketplace.api.schemas.nfts import NftSchema, OrderbookQuerySchema
from marketplace.api.shown import select_shown
from marketplace.services import read
from marketplace.store.orderbook import Selection, list_selected

blp = Blueprint("Order book", __name__, description="All that is for sale")


@blp.get("/orderbook")
@require_scope("read")
@blp.arguments(OrderbookQuerySchema, location="query")
@blp.response(
    200, NftSchema(many=True), description="A page of listed NFTs", headers=paging.PAGE_HEADERS
)
@paging.with_events_cursor
def list_orderbook(
    limit: int,
    offset: int,
    page: Position | None,
    sort: str,
    token: str | None,
    min_price: int,
    max_price: int,
    traits: tuple[str, ...],
    only_shown: bool,
) -> NftPage:
    """List the NFTs for sale

    The newest listing comes first, and listings without a known date come last, ties by token and serial
    number. You can sort by price, and filter by collection, traits and price. If more follow, the Link header
    leads to the next page.
    """
    shown = select_shown(only_shown)
    selection = Selection(sort, token, None, min_price, max_price, traits, shown)
    rows = list_selected(read(), selection, limit + 1, offset, page and page[1:])
    return paging.page(rows, limit, sort)
