"""Query parameters of the mirror node: ids, serial numbers, timestamps, pages; and how it refuses them."""

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from flask import request
from werkzeug.exceptions import BadRequest

from marketplace import times
from marketplace.ids import MAX_INT64, is_entity_id
from marketplace.sandbox.ledger.history import by_number

Document = dict[str, Any]

DEFAULT_LIMIT, MAX_LIMIT = 25, 100
MAX_RANGE = 60 * 24 * 3600 * times.SECOND
# The lowest and the highest value that each operator admits.
OPERATORS: dict[str, Callable[[int], tuple[int, int]]] = {
    "": lambda value: (value, value),
    "eq": lambda value: (value, value),
    "lt": lambda value: (0, value - 1),
    "lte": lambda value: (0, value),
    "gt": lambda value: (min(value + 1, MAX_INT64), MAX_INT64),
    "gte": lambda value: (value, MAX_INT64),
}
CURSORS = ("gte", "lte")


def invalid(name: str) -> BadRequest:
    return BadRequest(f"Invalid parameter: {name}")


def require_known(*names: str) -> None:
    for name in request.args:
        if name not in names:
            raise BadRequest(f"Unknown query parameter: {name}")


def require_id(value: str, name: str) -> None:
    if not is_entity_id(value):
        raise invalid(name)


def to_number(entity_id: str) -> int:
    """An id as one number, as mirror nodes store it: shard, realm and number in 10, 16 and 38 bits."""
    shard, realm, number = by_number(entity_id)
    return shard << 54 | realm << 38 | number


def parse_id(text: str, name: str) -> int:
    require_id(text, name)
    shard, realm, number = by_number(text)
    if shard >= 2**10 or realm >= 2**16 or number >= 2**38:
        raise BadRequest(f'Invalid entity ID "{text}"')
    return to_number(text)


def parse_serial_no(value: str, name: str = "serialnumber") -> int:
    if not re.fullmatch("[1-9][0-9]{0,18}", value) or int(value) > MAX_INT64:
        raise invalid(name)
    return int(value)


def parse_timestamp(text: str, name: str) -> int:
    """The nanoseconds of 1234567890.123456789, or of 1234567890."""
    try:
        return times.from_consensus(text if "." in text else f"{text}.000000000")
    except ValueError:
        raise invalid(name) from None


def bounds(name: str, parse: Callable[[str, str], int]) -> tuple[int, int]:
    """The lowest and the highest value that a parameter asks for: serialnumber=7, lt:7, gte:7."""
    low, high = 0, MAX_INT64
    for argument in request.args.getlist(name):
        operator, _, value = argument.rpartition(":")
        if operator not in OPERATORS:
            raise invalid(name)
        lowest, highest = OPERATORS[operator](parse(value, name))
        low, high = max(low, lowest), min(high, highest)
    return low, high


def recent_bounds() -> tuple[int, int]:
    """The first and the last timestamp that are asked for, at most 60 days apart."""
    low, high = bounds("timestamp", parse_timestamp)
    if low:
        return low, min(high, low + MAX_RANGE)
    high = min(high, times.now())
    return high - MAX_RANGE, high


def token_filter() -> tuple[str, str | None]:
    """The token.id, and its operator: eq, or gte and lte, which say where the last page ended."""
    value = request.args.get("token.id")
    if value is None:
        return "", None
    operator, _, token = value.rpartition(":")
    if operator not in ("", "eq", *CURSORS):
        raise invalid("token.id")
    parse_id(token, "token.id")
    return operator or "eq", token


def is_ascending(default: str = "desc") -> bool:
    order = request.args.get("order", default)
    if order not in ("asc", "desc"):
        raise invalid("order")
    return order == "asc"


def limit() -> int:
    value = request.args.get("limit", str(DEFAULT_LIMIT))
    if not re.fullmatch("[1-9][0-9]{0,5}", value):
        raise invalid("limit")
    return min(int(value), MAX_LIMIT)


def next_page(ascending: bool, after: Mapping[str, object], token: str | None = None) -> str:
    """The link to the next page: the same request, after the last entry, from its token on."""
    onward = "gt" if ascending else "lt"
    cursor = [(name, f"{onward}:{value}") for name, value in after.items()]
    if token:
        cursor.append(("token.id", f"{onward}e:{token}"))
    kept = [
        (name, value)
        for name, value in request.args.items(multi=True)
        if name not in dict(cursor) or value.partition(":")[0] not in (onward, f"{onward}e")
    ]
    return f"{request.path}?{urlencode([*kept, *cursor], safe=':')}"
