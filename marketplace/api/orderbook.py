"""The order book: what is listed, newest first, or by price; all of it, or a part."""

from typing import Any

from marketplace.api import paging
from marketplace.api.authentication import require_scope
from marketplace.api.blueprint import Blueprint
from marketplace.api.orderbook_filter import PLAIN, Selection
from marketplace.api.paging import CHEAPEST, DEAREST, NEWEST, NftPage, Position
from marketplace.api.request_schemas import OrderbookQuerySchema
from marketplace.api.response_schemas import NftSchema
from marketplace.store import orderbook
from marketplace.store.database import read
from marketplace.store.orderbook import Sort
from marketplace.store.rows import NftRow

SORTS = {NEWEST: Sort.NEWEST, CHEAPEST: Sort.CHEAPEST, DEAREST: Sort.DEAREST}

blp = Blueprint("Order book", __name__, description="All that is for sale")


@blp.get("/orderbook")
@require_scope("read")
@blp.query(OrderbookQuerySchema)
@blp.rows(NftSchema(many=True), description="A page of listed NFTs", headers=paging.PAGE_HEADERS)
@paging.with_events_cursor
def list_orderbook(limit: int, offset: int, page: Position | None, **selected: Any) -> NftPage:
    """List the NFTs for sale

    Newest listing first; those whose date is not known last; ties by token and serial number. Or by price,
    of one collection, within bounds of the price. Where more follow, the Link header leads to the next page.
    """
    selection = Selection(**selected)
    if selection == PLAIN:
        return paging.page(read_newest(limit + 1, offset, page), limit)
    rows = _read_selected(selection, limit + 1, 0 if page else offset, page or selection.beginning)
    return paging.page(rows, limit, selection.sort)


def read_newest(
    limit: int, offset: int, page: Position | None, owner: str | None = None
) -> list[NftRow]:
    """Read the newest listings, of all accounts or of one; from an offset, or after a position."""
    if offset and page is None:
        row = orderbook.get_position(read(), offset, owner)
        if row is None:
            return []
        page = Position.of(row)
    return orderbook.list_newest(read(), limit, page and page[1:], owner)


def _read_selected(selection: Selection, limit: int, offset: int, after: Position) -> list[NftRow]:
    return orderbook.list_selected(
        read(),
        SORTS[selection.sort],
        selection.token is not None,
        selection.min_price,
        selection.max_price,
        after[1:],
        limit,
        offset,
        selection.by_type,
    )
