"""The API's lists as a shop shows them, if it shows only some collections.

The API selects them where it can. Other lists are narrowed: a page is shorter, and still leads on.
"""

from dataclasses import replace
from typing import Any

from marketplace.api.shown import find_shown, shows_all
from marketplace.storefront import calls
from marketplace.storefront.calls import ApiAnswer

SELECTING = ("/orderbook", "/collections", "/search")  # these know what is shown


def shows(token: str) -> bool:
    return token in find_shown([token])


def get(path: str, **query: Any) -> ApiAnswer:
    """Call the public API, without what is not shown."""
    if shows_all():
        return calls.get(path, **query)
    if path in SELECTING:
        return calls.get(path, **query, shown="true")
    answer = calls.get(path, **query)
    if not answer.is_ok:
        return answer
    if isinstance(answer.data, list):
        return replace(answer, data=narrow(answer.data))
    lists = {name: narrow(rows) for name, rows in answer.data.items() if isinstance(rows, list)}
    return replace(answer, data=answer.data | lists)


def narrow(rows: list[Any]) -> list[Any]:
    """The rows of collections that are shown, and those of no collection."""
    if shows_all():
        return rows
    tokens = find_shown({row["token"] for row in rows if "token" in row})
    return [row for row in rows if "token" not in row or row["token"] in tokens]
