"""The order book: what is listed, newest first, or by price; all of it, or a part."""

from marketplace.api import paging
from marketplace.api.authentication import require_scope
from marketplace.api.blueprint import Blueprint
from marketplace.api.orderbook_filter import Selection
from marketplace.api.paging import CHEAPEST, DEAREST, LINK_HEADER, NEWEST, Position
from marketplace.api.request_schemas import OrderbookQuerySchema
from marketplace.api.response_schemas import NftSchema
from marketplace.store import orderbook
from marketplace.store.database import read

# Of the whole order book, and of one collection.
STATEMENTS = {
    NEWEST: (orderbook.list_newest, orderbook.list_newest_in_collection),
    CHEAPEST: (orderbook.list_cheapest, orderbook.list_cheapest_in_collection),
    DEAREST: (orderbook.list_dearest, orderbook.list_dearest_in_collection),
}
SELECTION = OrderbookQuerySchema(only=Selection._fields)

blp = Blueprint("Order book", __name__, description="All that is for sale")


@blp.get("/orderbook")
@require_scope("read")
@blp.query(OrderbookQuerySchema)
@blp.rows(NftSchema(many=True), description="A page of listed NFTs", headers=LINK_HEADER)
def list_orderbook(limit, offset, page, selection):
    """List the NFTs for sale

    Newest listing first; those whose date is not known last; ties by token and serial number. Or by price,
    of one collection, within bounds of the price. Where more follow, the Link header leads to the next page.
    """
    if selection.is_plain:
        return paging.page(_read_all(limit + 1, offset, page), limit)
    rows = _read_selected(selection, limit + 1, 0 if page else offset, page or selection.beginning)
    asked = {name: value for name, value in SELECTION.dump(selection).items() if value is not None}
    return paging.page(rows, limit, selection.sort, asked)


def _read_all(limit: int, offset: int, page: Position | None) -> list:
    if offset and page is None:
        row = orderbook.get_orderbook_position(read(), offset)
        if row is None:
            return []
        page = Position.of(row)
    if page is None:
        return orderbook.list_orderbook(read(), limit)
    return orderbook.list_orderbook_after(read(), limit, *page)


def _read_selected(selection: Selection, limit: int, offset: int, after: Position) -> list:
    low, high, key = selection.low, selection.high, after.key
    bounds = (low, high)
    if selection.sort != NEWEST:
        bounds, key = (high,) if selection.sort == CHEAPEST else (low,), abs(key)
    of_all, in_collection = STATEMENTS[selection.sort]
    statement = in_collection if selection.token else of_all
    return statement(read(), *bounds, key, after.token, after.serial_no, limit, offset)
