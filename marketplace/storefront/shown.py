"""The API's lists as a shop shows them: of all collections, the verified ones, or those of a setting.

A page of a list is shorter where others are left out, and still leads on.
"""

from dataclasses import replace
from typing import Any

from flask import current_app, g

from marketplace.storefront import calls
from marketplace.storefront.calls import ApiAnswer

ALL, VERIFIED = ("all",), ("verified",)
VERIFIED_PAGES = 10  # of a hundred collections
MERGED = 20  # collections whose listings the front page merges
CARDS = 40


def list_tokens() -> list[str] | None:
    """The tokens of the collections that are shown; None if all are."""
    chosen = current_app.config["STOREFRONT_COLLECTIONS"]
    if chosen == ALL:
        return None
    if "storefront_tokens" not in g:
        g.storefront_tokens = _read_verified() if chosen == VERIFIED else [*chosen]
    tokens: list[str] = g.storefront_tokens
    return tokens


def _read_verified() -> list[str]:
    tokens: list[str] = []
    page = None
    for _ in range(VERIFIED_PAGES):
        answer = calls.get("/collections", verified="true", limit=100, page=page)
        tokens += [one["token"] for one in answer.rows]
        page = answer.page
        if not page:
            break
    return tokens


def shows(token: str) -> bool:
    tokens = list_tokens()
    return tokens is None or token in tokens


def get(path: str, **query: Any) -> ApiAnswer:
    """Call the public API, and leave out what is not shown."""
    answer = calls.get(path, **query)
    tokens = list_tokens()
    if tokens is None or not answer.is_ok:
        return answer
    if isinstance(answer.data, list):
        return replace(answer, data=_narrow(answer.data, tokens))
    lists = {name: _narrow(rows, tokens) for name, rows in answer.data.items() if _is_list(rows)}
    return replace(answer, data=answer.data | lists)


def _is_list(rows: Any) -> bool:
    return isinstance(rows, list)


def _narrow(rows: list[Any], tokens: list[str]) -> list[Any]:
    return [row for row in rows if "token" not in row or row["token"] in tokens]


def read_listings(**query: Any) -> ApiAnswer:
    """The first listings of the collections that are shown, as one list without further pages."""
    tokens = list_tokens() or []
    books = [calls.get("/orderbook", tokenId=token, **query) for token in tokens[:MERGED]]
    refused = next((book for book in books if not book.is_ok), None)
    if refused or not books:
        return refused or replace(calls.get("/orderbook", limit=1), data=[], next=None, cursor=None)
    rows = [nft for book in books for nft in book.data]
    sort = query.get("sort")
    if sort in ("price", "-price"):
        rows.sort(key=lambda nft: nft["listingPrice"], reverse=sort == "-price")
    else:
        rows.sort(key=lambda nft: nft["lastListedDate"] or "", reverse=True)
    return replace(books[0], data=rows[:CARDS], next=None, cursor=None)
