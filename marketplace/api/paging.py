"""Pages of a list: a bare array, and a Link header where more follows. RFC 8288.

The link holds where the page ended, not how far down: whoever follows it sees every listing once, even
while others are listed and sold.
"""

import base64
import json
import re
from typing import NamedTuple

from flask import request, url_for
from werkzeug.urls import iri_to_uri

from marketplace.ids import MAX_INT64, is_entity_id

MAX_TOKEN_LENGTH = 300  # characters: longer than that of the longest ids
LISTED_ORDER = re.compile(r"|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{9}Z")

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

    @classmethod
    def parse(cls, page: str) -> "Position | None":
        """Read what write() wrote; None for anything else."""
        if len(page) > MAX_TOKEN_LENGTH:
            return None
        try:
            listed_order, token, serial_no = json.loads(base64.urlsafe_b64decode(page))
            is_position = (
                LISTED_ORDER.fullmatch(listed_order)
                and is_entity_id(token)
                and type(serial_no) is int
                and 1 <= serial_no <= MAX_INT64
            )
        except (ValueError, TypeError, RecursionError):
            return None
        position = cls(listed_order, token, serial_no)
        return position if is_position and position.write() == page else None

    def write(self) -> str:
        """The opaque text that stands in a link."""
        return base64.urlsafe_b64encode(json.dumps(self, separators=(",", ":")).encode()).decode()


def page(rows: list, limit: int):
    """Cut a list that was read one row too far to its page, and link to the next where there is one."""
    if len(rows) <= limit:
        return rows
    rows = rows[:limit]
    last = Position(*(rows[-1][column] for column in Position._fields))
    url = url_for(request.endpoint, **request.view_args, limit=limit, page=last.write())
    # url_for() leaves the mount as it is, and a proxy may say what it likes of it.
    return rows, {"Link": f'<{iri_to_uri(url)}>; rel="next"'}
