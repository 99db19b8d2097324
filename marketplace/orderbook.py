"""The order book: what is listed, newest first."""

from marketplace import paging, queries
from marketplace.api import Blueprint
from marketplace.db import read
from marketplace.paging import LINK_HEADER
from marketplace.schemas import NftSchema, OrderbookQuerySchema
from marketplace.tokens import require_scope

LIST = "orderbook"

blp = Blueprint("Order book", __name__, description="All that is for sale")


@blp.get("/orderbook")
@require_scope("read")
@blp.query(OrderbookQuerySchema)
@blp.records(NftSchema(many=True), description="A page of listed NFTs", headers=LINK_HEADER)
def list_orderbook(limit, offset, page):
    """List the NFTs for sale

    Newest listing first; those whose date is not known last; ties by token and serial number. Where more
    follow, the Link header leads to the next page.
    """
    if page is None:
        before, rest = paging.find_start(offset)
        rows = queries.list_orderbook(read(), limit + 1, rest, before)
    else:
        rows = queries.list_orderbook_after(read(), limit + 1, *paging.read_token(page, LIST))
    return paging.page(rows, limit, LIST)
