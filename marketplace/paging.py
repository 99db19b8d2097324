"""Pages of a list: a bare array, and a Link header where more follows. RFC 8288.

The link holds where the page ended, not how far down: whoever follows it sees every listing once, even
while others are listed and sold.
"""

import base64
import hmac
import json
import secrets
from typing import NamedTuple

from flask import Flask, current_app, request, url_for
from werkzeug.urls import iri_to_uri

from marketplace import queries
from marketplace.db import read
from marketplace.errors import PageTokenInvalid

MAC_BYTES = 12
FAR = 200  # entries down the list, from where counting by periods pays
LAST = "~"  # sorts after every character of a date

LINK_HEADER = {
    "Link": {
        "description": 'Leads to the next page, as rel="next", where more follows (RFC 8288)',
        "schema": {"type": "string"},
    }
}


class Position(NamedTuple):
    """The last entry of a page: the next page begins after it."""

    listed_order: str
    token: str
    serial_no: int


def page(rows: list, limit: int, list_name: str):
    """Cut a list that was read one row too far to its page, and link to the next where there is one."""
    if len(rows) <= limit:
        return rows
    rows = rows[:limit]
    last = Position(*(rows[-1][column] for column in Position._fields))
    url = url_for(
        request.endpoint, **request.view_args, limit=limit, page=write_token(last, list_name)
    )
    # url_for() leaves the mount as it is, and a proxy may say what it likes of it.
    return rows, {"Link": f'<{iri_to_uri(url)}>; rel="next"'}


def find_start(offset: int) -> tuple[str, int]:
    """Where the order book's entry at an offset is: a text that sorts above it, and what is left to skip."""
    if offset < FAR:
        return LAST, offset
    parent, before = "", LAST
    while (found := queries.get_listing_period(read(), parent, offset))["period"]:
        parent, before = found["period"], found["period"] + LAST
        offset -= found["passed"]
    return before, offset


def write_token(position: Position, list_name: str) -> str:
    """Write a position in a list as an opaque token, signed, and of use for that list only."""
    content = json.dumps(position, separators=(",", ":")).encode()
    return _encode(_sign(content, list_name) + content)


def read_token(token: str, list_name: str) -> Position:
    """Read a position from a token of this list. Raises PageTokenInvalid (422)."""
    try:
        signed = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        mac, content = signed[:MAC_BYTES], signed[MAC_BYTES:]
    except ValueError:
        raise PageTokenInvalid(token) from None
    # base64 has several spellings of the same bytes: only one is ours.
    if not hmac.compare_digest(mac, _sign(content, list_name)) or token != _encode(signed):
        raise PageTokenInvalid(token)
    return Position(*json.loads(content))


def _encode(signed: bytes) -> str:
    return base64.urlsafe_b64encode(signed).decode().rstrip("=")


def _sign(content: bytes, list_name: str) -> bytes:
    key = current_app.extensions["page_key"]
    return hmac.digest(key, list_name.encode() + b"\0" + content, "sha256")[:MAC_BYTES]


def init_app(app: Flask) -> None:
    """All processes of a database sign with the same key, made when it is first used."""
    app.extensions["page_key"] = app.extensions["database"].settle(
        "page_key", secrets.token_bytes(32)
    )
