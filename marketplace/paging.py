"""Pages of a list: a bare array, and a Link header where more follows. RFC 8288."""

from flask import request, url_for

LINK_HEADER = {
    "Link": {
        "description": 'Leads to the next page, as rel="next", where more follows (RFC 8288)',
        "schema": {"type": "string"},
    }
}


def page(rows, limit, offset):
    """Cut a list that was read one row too far to its page, and link to the next where there is one."""
    if len(rows) <= limit:
        return rows
    url = url_for(request.endpoint, **request.view_args, limit=limit, offset=offset + limit)
    return rows[:limit], {"Link": f'<{url}>; rel="next"'}
