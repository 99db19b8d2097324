"""The calls of which a page is made: GETs of the public API and of the sandbox, inside this process.

A page shows what any client gets, with the visitor's own headers and the page's token: a host that lets
nobody in is obeyed. It lists its calls for developers.
"""

import json
import re
from contextvars import Context
from dataclasses import dataclass, replace
from io import BytesIO
from time import perf_counter
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from flask import current_app, g, request
from werkzeug.test import run_wsgi_app

from marketplace.api.nft_collections import find_chosen
from marketplace.storefront.surroundings import page_token, surroundings
from marketplace.wsgi_environ import OF_PAGE

_NEXT = re.compile(r'<([^>]*)>; rel="next"')
# Of the visitor's request, what would change the answer to another one.
_WITHOUT = re.compile(
    r"werkzeug\.|marketplace\.|flask\.|HTTP_(IF_|RANGE|ACCEPT|X_FORWARDED)|CONTENT_"
)

SELECTING = ("/orderbook", "/collections", "/search")  # these can select the chosen collections


@dataclass(frozen=True)
class ApiAnswer:
    """The answer to a call: its status, its JSON, and the headers that lead on."""

    path: str
    status: int
    data: Any
    next: str | None
    cursor: str | None

    @property
    def is_ok(self) -> bool:
        return self.status < 400

    @property
    def rows(self) -> list[Any]:
        """The list that was asked for; empty if it was refused."""
        return self.data if self.is_ok else []

    @property
    def page(self) -> str | None:
        """The position of the next page, if more follows."""
        return parse_qs(urlsplit(self.next or "").query).get("page", [None])[0]


def get(path: str, **query: Any) -> ApiAnswer:
    """Call the public API: get("/orderbook", limit=1). Empty values of the query are left out."""
    return _call(f"{current_app.config['API_PREFIX']}/v1{path}", query)


def get_chosen(path: str, **query: Any) -> ApiAnswer:
    """Call the public API for the collections of STOREFRONT_COLLECTIONS alone.

    Where the API can't select them, the list is narrowed: a page is shorter, and still leads on.
    """
    if not current_app.config["STOREFRONT_COLLECTIONS"]:
        return get(path, **query)
    if path in SELECTING:
        return get(path, **query, shown="true")
    answer = get(path, **query)
    if not answer.is_ok:
        return answer
    if isinstance(answer.data, list):
        return replace(answer, data=choose(answer.data))
    lists = {name: choose(rows) for name, rows in answer.data.items() if isinstance(rows, list)}
    return replace(answer, data=answer.data | lists)


def choose(rows: list[Any]) -> list[Any]:
    """The rows of chosen collections, and those of no collection."""
    if not current_app.config["STOREFRONT_COLLECTIONS"]:
        return rows
    tokens = find_chosen({row["token"] for row in rows if "token" in row})
    return [row for row in rows if "token" not in row or row["token"] in tokens]


def get_from_sandbox(path: str, **query: Any) -> ApiAnswer:
    """Call the sandbox, such as its mirror node."""
    return _call(surroundings().sandbox + path, query)


def _call(path: str, query: dict[str, Any]) -> ApiAnswer:
    given = {name: value for name, value in query.items() if value not in (None, "", [])}
    text = urlencode(given, doseq=True)
    kept = {name: value for name, value in request.environ.items() if not _WITHOUT.match(name)}
    environ = kept | {
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": request.script_root,
        "PATH_INFO": path.encode().decode("latin-1"),
        "QUERY_STRING": text,
        "HTTP_AUTHORIZATION": f"Bearer {page_token()}",
        "HTTP_ACCEPT": "application/json",
        "wsgi.input": BytesIO(),
        OF_PAGE: True,
    }
    began = perf_counter()
    # In an empty context, as a request of its own.
    body, status, headers = Context().run(
        run_wsgi_app, current_app.wsgi_app, environ, buffered=True
    )
    next_page = _NEXT.search(headers.get("Link", ""))
    answer = ApiAnswer(
        request.script_root + path + (f"?{text}" if text else ""),
        int(status[:3]),
        json.loads(b"".join(body)),
        next_page and next_page[1],
        headers.get("X-Events-Cursor"),
    )
    made().append((answer, round(1000 * (perf_counter() - began))))
    return answer


def made() -> list[tuple[ApiAnswer, int]]:
    """The calls of this page so far, each with the milliseconds that it took."""
    if "storefront_calls" not in g:
        g.storefront_calls = []
    calls: list[tuple[ApiAnswer, int]] = g.storefront_calls
    return calls
