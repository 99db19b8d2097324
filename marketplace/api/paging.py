"""Pages of a list: a bare array, and a Link header where more follows. RFC 8288.

The link holds the position where the page ended, not an offset: a client that follows it sees every listing
once, even while others are listed and sold.
"""

import base64
import json
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

from marketplace.api.application import current_request
from marketplace.ids import MAX_INT64, is_entity_id
from marketplace.market.feed import find_cursor
from marketplace.store import orderbook
from marketplace.store.database import read
from marketplace.store.rows import FoundCollectionRow, NftRow

MAX_TOKEN_LENGTH = 1000  # characters: longer than that of the longest ids, and of the longest name
_write_json = json.JSONEncoder(separators=(",", ":")).encode

EVENTS_CURSOR = "X-Events-Cursor"


def documented(name: str, description: str, kind: str = "string") -> dict[str, Any]:
    """A header of a response, as the OpenAPI document has it."""
    return {name: {"description": description, "schema": {"type": kind}}}


LINK_HEADER = documented(
    "Link", 'Leads to the next page, as rel="next", where more follows (RFC 8288)'
)
CURSOR_HEADER = documented(
    EVENTS_CURSOR,
    "GET /v1/events?after=<this> tells what has happened since this list, and maybe what the list shows"
    " already. Of several pages, follow from the first one's",
)
PAGE_HEADERS = LINK_HEADER | CURSOR_HEADER
FEED_LINK_HEADER = documented(
    "Link",
    'Leads to the events that follow, as rel="next" (RFC 8288): to those that are still to come where this'
    " page is the last; in order=desc only where older ones may be kept",
)

NEWEST, ORDERS = orderbook.NEWEST, tuple(orderbook.KEYS)
BY_ID = "id"
BY_NAME = "name"
# The column that an order of NFTs follows; of collections it is always the key.
KEYS = orderbook.KEYS | {BY_ID: "serial_no"}
Headers = dict[str, str]
View = Callable[..., Any]
Row = TypeVar("Row", NftRow, FoundCollectionRow)
Page = list[Row] | tuple[list[Row], Headers]
NftPage = Page[NftRow]


class Position(NamedTuple):
    """The last entry of a page: the next page begins after it."""

    sort: str
    key: str | int  # what the entry has in the column of this order
    token: str
    serial_no: int = 0  # of an NFT

    @classmethod
    def of(cls, row: Any, sort: str = NEWEST) -> "Position":
        if sort in KEYS:
            return cls(sort, row[KEYS[sort]], row["token"], row["serial_no"])
        return cls(sort, row["key"], row["token"])

    def is_possible(self) -> bool:
        """Tell whether a database takes it. Raises ValueError for half of a surrogate pair."""
        if self.sort in (NEWEST, BY_NAME):
            is_key = isinstance(self.key, str) and b"\0" not in self.key.encode()
        else:
            is_key = type(self.key) is int and abs(self.key) <= MAX_INT64
        is_serial_no = type(self.serial_no) is int and 0 <= self.serial_no <= MAX_INT64
        return is_key and is_serial_no and is_entity_id(self.token)

    def is_within(self, sort: str, token: str | None, low: int, high: int) -> bool:
        """Tell whether a page of listings, of a collection or of all, can end at it."""
        has_price = isinstance(self.key, str) or low <= self.key <= high
        return self.sort == sort and has_price and token in (None, self.token)


def write_position(position: Position) -> str:
    """The opaque text that stands in a link."""
    return base64.urlsafe_b64encode(_write_json(position).encode()).decode()


def read_position(page: str) -> Position | None:
    """Read what write_position() wrote; None for anything else."""
    if len(page) > MAX_TOKEN_LENGTH:
        return None
    try:
        position = Position(*json.loads(base64.urlsafe_b64decode(page)))
        is_written = position.is_possible() and write_position(position) == page
    except (ValueError, TypeError, RecursionError):
        return None
    return position if is_written else None


def page(rows: list[Row], limit: int, sort: str = NEWEST) -> Page[Row]:
    """Cut a list that was read one row too far to its page, and link to the next where there is one."""
    if len(rows) <= limit:
        return rows
    rows = rows[:limit]
    following = write_position(Position.of(rows[-1], sort))
    return rows, link_to_next(limit=limit, page=following)


def with_events_cursor(view: View) -> View:
    """Add the cursor of the newest event, read before the list: what is not in the list follows it."""

    @wraps(view)
    def list_after_cursor(**parameters: Any) -> tuple[Any, Headers]:
        headers = {EVENTS_CURSOR: str(find_cursor(read()))}
        returned = view(**parameters)
        rows, more = returned if isinstance(returned, tuple) else (returned, {})
        return rows, headers | more

    return list_after_cursor


def link_to_next(**changed: Any) -> Headers:
    """The Link header that leads to the next page: what was asked here, from another position."""
    request = current_request()
    query = {name: values for name, values in request.args.lists() if name != "offset"} | changed
    # Quoted: a proxy may say what it likes of the mount.
    path = quote(request.script_root + request.path, safe="/!$&'()*+,;=:@")
    return {"Link": f'<{path}?{urlencode(query, doseq=True)}>; rel="next"'}
