"""Pages of a list: the links between them, and the tokens in those."""

import base64
import json
from urllib.parse import parse_qs, urlsplit


def next_url(r):
    """Where the Link header leads; nowhere on the last page."""
    return r.headers.get("Link", "").removeprefix("<").removesuffix('>; rel="next"')


def follow(client, url, **query):
    """Each page, from an address on. The next one is asked for when it is wanted."""
    while url:
        r = client.get(url, query_string=query or None)
        assert r.status_code == 200, r.text
        yield r
        url, query = next_url(r), None


def all_rows(client, url, **query):
    return [row for r in follow(client, url, **query) for row in r.json]


def page_of(r):
    """The page token of the link."""
    return parse_qs(urlsplit(next_url(r)).query)["page"][0]


def written(*position):
    """The page token of a position."""
    content = json.dumps(position, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(content).decode()
