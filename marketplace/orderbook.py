"""The order book: what is listed, newest first."""

from marketplace import queries
from marketplace.api import Blueprint
from marketplace.db import read
from marketplace.paging import LINK_HEADER, page
from marketplace.schemas import NftSchema, OrderbookQuerySchema
from marketplace.tokens import require_scope

blp = Blueprint("Order book", __name__, description="All that is for sale")


@blp.get("/orderbook")
@require_scope("read")
@blp.query(OrderbookQuerySchema)
@blp.response(200, NftSchema(many=True), description="A page of listed NFTs", headers=LINK_HEADER)
def list_orderbook(limit, offset):
    """List the NFTs for sale

    Newest listing first; those whose date is not known last; ties by token and serial number. Where more
    follow, the Link header leads to the next page.
    """
    return page(queries.list_orderbook(read(), limit + 1, offset), limit, offset)
