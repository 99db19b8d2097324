"""Pages of a list: a bare array, and a Link header where more follows. RFC 8288.

The link holds the position where the page ended, not an offset: a client that follows it sees every listing
once, even while others are listed and sold.
"""

import base64
import json
import re
from collections.abc import Callable, Collection
from functools import wraps
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

from flask import request

from marketplace.ids import MAX_HBAR, MAX_INT64, is_entity_id
from marketplace.market.feed import find_cursor
from marketplace.store.database import read
from marketplace.store.rows import NftRow

MAX_TOKEN_LENGTH = 1000  # characters: longer than that of the longest ids, and of the longest name
_write_json = json.JSONEncoder(separators=(",", ":")).encode
LISTED_ORDER = re.compile(r"|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{9}Z")

EVENTS_CURSOR = "X-Events-Cursor"


def documented(name: str, description: str) -> dict[str, Any]:
    return {name: {"description": description, "schema": {"type": "string"}}}


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

NEWEST, CHEAPEST, DEAREST = "lastListedDate", "price", "-price"
BY_ID = "id"
BY_NAME = "name"
# The sort key of a row. Keys grow along a list; those of dates shrink.
KEYS: dict[str, Callable[[Any], str | int]] = {
    NEWEST: lambda row: row["listed_order"],
    CHEAPEST: lambda row: row["listing_price"],
    DEAREST: lambda row: -row["listing_price"],
    BY_ID: lambda row: 0,
}
ORDERS = (NEWEST, CHEAPEST, DEAREST)
Headers = dict[str, str]
View = Callable[..., Any]
Page = list[NftRow] | tuple[list[NftRow], Headers]


class Position(NamedTuple):
    """The last entry of a page: the next page begins after it."""

    key: str | int  # as KEYS has it: which order it is of, can be told from it
    token: str
    serial_no: int

    @classmethod
    def of(cls, row: Any, order: str = NEWEST) -> "Position":
        return cls(KEYS[order](row), row["token"], row["serial_no"])

    @property
    def order(self) -> str:
        if isinstance(self.key, str):
            return NEWEST
        if self.key == 0:
            return BY_ID
        return CHEAPEST if self.key > 0 else DEAREST

    def is_possible(self) -> bool:
        is_serial_no = type(self.serial_no) is int and 1 <= self.serial_no <= MAX_INT64
        return _is_key(self.key) and is_entity_id(self.token) and is_serial_no


class CollectionPosition(NamedTuple):
    """The last collection of a page, in an order."""

    sort: str
    key: str | int
    token: str

    def is_possible(self) -> bool:
        """Raises ValueError for half of a surrogate pair."""
        if self.sort == BY_NAME:
            is_key = isinstance(self.key, str) and b"\0" not in self.key.encode()
        else:
            is_key = type(self.key) is int and -MAX_INT64 <= self.key <= 0
        return is_key and is_entity_id(self.token)


AnyPosition = TypeVar("AnyPosition", Position, CollectionPosition)


def write_position(position: Position | CollectionPosition) -> str:
    """The opaque text that stands in a link."""
    return base64.urlsafe_b64encode(_write_json(position).encode()).decode()


def read_position(kind: type[AnyPosition], page: str) -> AnyPosition | None:
    """Read what write_position() wrote; None for anything else."""
    if len(page) > MAX_TOKEN_LENGTH:
        return None
    try:
        position = kind(*json.loads(base64.urlsafe_b64decode(page)))
        is_written = position.is_possible() and write_position(position) == page
    except (ValueError, TypeError, RecursionError):
        return None
    return position if is_written else None


def _is_key(key: object) -> bool:
    if type(key) is int:
        return abs(key) <= MAX_HBAR
    return isinstance(key, str) and LISTED_ORDER.fullmatch(key) is not None


def page(
    rows: list[NftRow], limit: int, order: str = NEWEST, query: dict[str, Any] | None = None
) -> Page:
    """Cut a list that was read one row too far to its page, and link to the next where there is one.

    ``query`` is what else was asked, and the next page is to be asked, too: by its names on the wire.
    """
    if len(rows) <= limit:
        return rows
    rows = rows[:limit]
    following = write_position(Position.of(rows[-1], order))
    return rows, link_to_next(**(query or {}), limit=limit, page=following)


def with_events_cursor(view: View) -> View:
    """Add the cursor of the newest event, read before the list: what is not in the list follows it."""

    @wraps(view)
    def list_after_cursor(**parameters: Any) -> tuple[Any, Headers]:
        headers = {EVENTS_CURSOR: str(find_cursor(read()))}
        returned = view(**parameters)
        rows, more = returned if isinstance(returned, tuple) else (returned, {})
        return rows, headers | more

    return list_after_cursor


def asked(names: Collection[str]) -> dict[str, list[str]]:
    """The parameters of the request's query that have these names."""
    return {name: values for name, values in request.args.lists() if name in names}


def link_to_next(**query: Any) -> Headers:
    """The Link header that leads to the next page, by what it is to be asked."""
    # Quoted: a proxy may say what it likes of the mount.
    path = quote(request.script_root + request.path, safe="/!$&'()*+,;=:@")
    return {"Link": f'<{path}?{urlencode(query, doseq=True)}>; rel="next"'}
