"""Pages of a list: a bare array, and a Link header if more follows. RFC 8288.

The link has the position at which the page ended, not an offset. So a client that follows it sees every
listing once, even while others are listed and sold.
"""

import base64
import json
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

from flask import g, request

from marketplace.errors import RequestUriTooLong
from marketplace.hedera.ids import MAX_INT64, is_entity_id
from marketplace.services import read
from marketplace.store import orderbook
from marketplace.store.collection_search import FoundCollectionRow
from marketplace.store.events import find_cursor
from marketplace.store.nft_collections import OwnerRow
from marketplace.store.nfts import NftRow

MAX_TOKEN_LENGTH = 1000  # characters: more than the longest ids and the longest name need
# deploy/nginx.conf and gunicorn accept such a URL, and nginx the headers with it.
MAX_URL_LENGTH = 3999
# Needs no escape in a query (RFC 3986). Clients that read Link headers may stop at ; and quotes.
SAFE = "/?:@!$()*,"
_write_json = json.JSONEncoder(separators=(",", ":")).encode

EVENTS_CURSOR = "X-Events-Cursor"


def documented(name: str, description: str, kind: str = "string") -> dict[str, Any]:
    """Describe a response header for the OpenAPI document."""
    return {name: {"description": description, "schema": {"type": kind}}}


LINK_HEADER = documented("Link", 'The next page, as rel="next", if more follows (RFC 8288)')
CURSOR_HEADER = documented(
    EVENTS_CURSOR,
    "GET /v1/events?after=<this> returns the events since this list. The list may show some of them already."
    " For several pages, use the first page's cursor",
)
PAGE_HEADERS = LINK_HEADER | CURSOR_HEADER
FEED_LINK_HEADER = documented(
    "Link",
    'The following events, as rel="next" (RFC 8288). The last page leads to future events. With order=desc,'
    " the last page has no Link",
)

NEWEST, ORDERS = orderbook.NEWEST, tuple(orderbook.KEYS)
BY_ID = "id"
BY_NAME = "name"
BY_NFTS = "nfts"  # of the owners of a collection
BY_OFFER = "offer"  # highest price first
# The column by which NFTs are sorted. For collections it is always "key".
KEYS = orderbook.KEYS | {BY_ID: "serial_no"}
# The column with the id of an entry that is no NFT, if it is not the token.
ENTITIES = {BY_NFTS: "account_id", BY_OFFER: "schedule_id"}
Headers = dict[str, str]
Row = TypeVar("Row", NftRow, FoundCollectionRow, OwnerRow, dict[str, Any])
Page = list[Row] | tuple[list[Row], Headers]
NftPage = Page[NftRow]


class Position(NamedTuple):
    """The position of the last entry of a page, after which the next page begins."""

    sort: str
    key: str | int  # the entry's value in the column of this order
    # The token of an NFT or a collection, the account of an owner, or an offer's schedule.
    entity_id: str
    serial_no: int = 0  # of an NFT

    @classmethod
    def of(cls, row: Any, sort: str = NEWEST) -> "Position":
        if sort in KEYS:
            return cls(sort, row[KEYS[sort]], row["token"], row["serial_no"])
        return cls(sort, row["key"], row[ENTITIES.get(sort, "token")])

    @property
    def after(self) -> tuple[str | int, str, int]:
        """The position without its order: a list of NFTs continues after it."""
        return self.key, self.entity_id, self.serial_no

    def is_possible(self) -> bool:
        """Whether a database accepts these values. Raises ValueError for half of a surrogate pair."""
        if self.sort in (NEWEST, BY_NAME):
            is_key = isinstance(self.key, str) and b"\0" not in self.key.encode()
        else:
            is_key = type(self.key) is int and abs(self.key) <= MAX_INT64
        is_serial_no = type(self.serial_no) is int and 0 <= self.serial_no <= MAX_INT64
        return is_key and is_serial_no and is_entity_id(self.entity_id)

    def is_within(self, sort: str, token: str | None, low: int, high: int) -> bool:
        """Whether a page in this order, of this collection and within these prices, can end at it."""
        has_price = self.sort in (NEWEST, BY_ID) or low <= int(self.key) <= high
        return self.sort == sort and has_price and token in (None, self.entity_id)


def write_position(position: Position) -> str:
    """Encode a position as the opaque text of a link."""
    return base64.urlsafe_b64encode(_write_json(position).encode()).decode()


def read_position(page: str) -> Position | None:
    """Decode the text of write_position(). Returns None for anything else."""
    if len(page) > MAX_TOKEN_LENGTH:
        return None
    try:
        position = Position(*json.loads(base64.urlsafe_b64decode(page)))
        is_written = position.is_possible() and write_position(position) == page
    except (ValueError, TypeError, RecursionError):
        return None
    return position if is_written else None


def page(rows: list[Row], limit: int, sort: str = NEWEST) -> Page[Row]:
    """Cut a list of up to limit + 1 rows to a page. If one row was too many, link to the next page."""
    if len(rows) <= limit:
        return rows
    rows = rows[:limit]
    following = write_position(Position.of(rows[-1], sort))
    return rows, link_to_next(limit=limit, page=following)


def with_events_cursor(view: Callable[..., Any]) -> Callable[..., Any]:
    """Add the cursor of the newest event, read before the list: later changes have later events."""

    @wraps(view)
    def list_after_cursor(**parameters: Any) -> tuple[Any, Headers]:
        headers = {EVENTS_CURSOR: str(find_cursor(read()))}
        returned = view(**parameters)
        rows, more = returned if isinstance(returned, tuple) else (returned, {})
        return rows, headers | more

    return list_after_cursor


def link_to_next(**changed: Any) -> Headers:
    """The Link header to the next page: the query of this request with another position."""
    return {"Link": f'<{_write_url(changed)}>; rel="next"'}


def require_room_for_link() -> None:
    """Raise RequestUriTooLong if a Link with this request's query could be longer than a URL may be."""
    longest = _write_url({"limit": 1000, "after": "", "page": "x" * MAX_TOKEN_LENGTH})
    if len(longest) > MAX_URL_LENGTH:
        raise RequestUriTooLong(MAX_URL_LENGTH - MAX_TOKEN_LENGTH)


def _write_url(changed: dict[str, object]) -> str:
    query = {name: value for name, value in g.query.items() if name != "offset"} | changed
    # Quoted, because the prefix comes from a proxy and may have any characters.
    path = quote(request.script_root + request.path, safe="/!$&'()*+,;=:@")
    return f"{path}?{urlencode(query, doseq=True, safe=SAFE)}"
