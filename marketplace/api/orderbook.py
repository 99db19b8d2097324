"""The order book: what is listed, newest first."""

from marketplace.api import paging
from marketplace.api.authentication import require_scope
from marketplace.api.blueprint import Blueprint
from marketplace.api.paging import LINK_HEADER, Position
from marketplace.api.schemas import NftSchema, OrderbookQuerySchema
from marketplace.store import queries
from marketplace.store.database import read

blp = Blueprint("Order book", __name__, description="All that is for sale")


@blp.get("/orderbook")
@require_scope("read")
@blp.query(OrderbookQuerySchema)
@blp.rows(NftSchema(many=True), description="A page of listed NFTs", headers=LINK_HEADER)
def list_orderbook(limit, offset, page):
    """List the NFTs for sale

    Newest listing first; those whose date is not known last; ties by token and serial number. Where more
    follow, the Link header leads to the next page.
    """
    if offset and page is None:
        row = queries.get_orderbook_position(read(), offset)
        if row is None:
            return []
        page = Position(**row)
    if page is None:
        rows = queries.list_orderbook(read(), limit + 1)
    else:
        rows = queries.list_orderbook_after(read(), limit + 1, *page)
    return paging.page(rows, limit)
