"""The feed of events, of all NFTs or of one."""

from marketplace.api import paging
from marketplace.api.authentication import require_scope
from marketplace.api.http import Blueprint
from marketplace.api.paging import Headers
from marketplace.api.schemas.common import NftPathSchema
from marketplace.api.schemas.events import (
    OLDEST_FIRST,
    EventSchema,
    EventsQuerySchema,
    NftEventsQuerySchema,
)
from marketplace.errors import CursorGone, Hidden, NftNotStored
from marketplace.events import Cursor
from marketplace.market.requests import require_not_hidden
from marketplace.services import read
from marketplace.store import nfts
from marketplace.store.events import EventFilter, EventRow, read_page

EventsPage = tuple[list[EventRow], Headers]

blp = Blueprint("Events", __name__, description="Events of NFTs, in the order of their ids")


@blp.get("/events")
@require_scope("read")
@blp.arguments(EventsQuerySchema, location="query")
@blp.response(
    200, EventSchema(many=True), description="A page of events", headers=paging.FEED_LINK_HEADER
)
@blp.refuses(CursorGone)
def list_events(
    after: Cursor | None,
    limit: int,
    order: str,
    kinds: tuple[str, ...],
    token: str | None,
    serial_no: int | None,
    account_id: str | None,
    since: str | None,
    until: str | None,
) -> EventsPage:
    """List events

    Returns events in the order in which the service saw them, oldest first. Without a cursor or a date, the
    page has the newest events. To follow the feed, follow the Link header: every page has it, even an empty
    one, and it never skips an event. To keep a copy of a list, apply the events after the list's
    X-Events-Cursor. order=desc reads backward; its last page has no Link.
    """
    selection = EventFilter(token, serial_no, account_id, kinds, since, until)
    return _read_page(selection, after, limit, order)


@blp.get("/nft/<tokenId>/<serialNo>/events")
@require_scope("read")
@blp.arguments(NftPathSchema, location="path")
@blp.arguments(NftEventsQuerySchema, location="query")
@blp.response(
    200, EventSchema(many=True), description="A page of events", headers=paging.FEED_LINK_HEADER
)
@blp.refuses(NftNotStored, Hidden)
@blp.refuses(CursorGone)
def list_nft_events(
    token: str, serial_no: int, after: Cursor | None, limit: int, order: str
) -> EventsPage:
    """List one NFT's events

    Works like GET /v1/events. The consensus timestamps of one NFT increase.
    """
    require_not_hidden(token, serial_no)
    page = _read_page(EventFilter(token, serial_no), after, limit, order)
    if not page[0] and nfts.get_nft(read(), token, serial_no) is None:
        raise NftNotStored(token, serial_no)
    return page


def _read_page(selection: EventFilter, after: Cursor | None, limit: int, order: str) -> EventsPage:
    newest_first = order != OLDEST_FIRST
    events, more = read_page(read(), selection, after, limit, newest_first=newest_first)
    if more is None:
        return events, {}
    return events, paging.link_to_next(after=str(more))
