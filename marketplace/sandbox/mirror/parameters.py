"""What a request to the mirror node asks for: ids, serial numbers, moments, pages; and what it refuses."""

import re

from flask import request

from marketplace import times
from marketplace.ids import MAX_INT64, is_entity_id
from marketplace.sandbox.ledger import queries
from marketplace.store.database import read

DEFAULT_LIMIT, MAX_LIMIT = 25, 100
CURSORS = ("gte", "lte")
RANGES = ("gt", "gte", "lt", "lte")
MAX_RANGE = 60 * 24 * 3600 * times.SECOND


class BadRequest(Exception):
    """A 400 in the mirror node's own words."""


class Unavailable(Exception):
    """A 503 in the mirror node's own words."""


class Missing(Exception):
    """A 404 in the mirror node's own words."""


def require_known(*names: str) -> None:
    for name in request.args:
        if name not in names:
            raise BadRequest(f"Unknown query parameter: {name}")


def require_id(value: str, name: str) -> None:
    if not is_entity_id(value):
        raise BadRequest(f"Invalid parameter: {name}")
    if queries.get_oddity(read(), value, "IMPOSSIBLE_ID"):
        is_query = name.endswith(".id")
        raise BadRequest(
            f'Invalid entity ID "{value}"' if is_query else f"Invalid parameter: {name}"
        )


def _is_possible(entity_id: str) -> bool:
    """Tell whether mirror nodes can look for an id: shard, realm and number have 10, 16 and 38 bits."""
    shard, realm, number = map(int, entity_id.split("."))
    return shard < 2**10 and realm < 2**16 and number < 2**38


def token_filter() -> tuple[str | None, str | None]:
    """token.id, and how it is meant: eq, or gte and lte, which say where the last page ended."""
    value = request.args.get("token.id")
    return (None, None) if value is None else _to_filter("token.id", value, CURSORS)


def entity_filters(name: str) -> list[tuple[str, str]]:
    """What an id is asked to be, all of it: eq, or between others."""
    return [_to_filter(name, value, RANGES) for value in request.args.getlist(name)]


def _to_filter(name: str, value: str, operators: tuple[str, ...]) -> tuple[str, str]:
    operator, _, entity_id = value.rpartition(":")
    if operator not in ("", "eq", *operators):
        raise BadRequest(f"Invalid parameter: {name}")
    require_id(entity_id, name)
    if not _is_possible(entity_id):
        raise BadRequest(f'Invalid entity ID "{entity_id}"')
    return operator or "eq", entity_id


def is_ascending(default: str = "desc") -> bool:
    order = request.args.get("order", default)
    if order not in ("asc", "desc"):
        raise BadRequest("Invalid parameter: order")
    return order == "asc"


def limit() -> int:
    value = request.args.get("limit", str(DEFAULT_LIMIT))
    if not re.fullmatch("[1-9][0-9]{0,5}", value):
        raise BadRequest("Invalid parameter: limit")
    return min(int(value), MAX_LIMIT)


def to_serial_no(value: str) -> int:
    if not re.fullmatch("[1-9][0-9]{0,18}", value) or int(value) > MAX_INT64:
        raise BadRequest("Invalid parameter: serialnumber")
    return int(value)


def serial_range() -> tuple[int, int]:
    """The lowest and the highest serial number asked for: serialnumber=7, lt:7, gte:7 and so on."""
    low, high = 1, MAX_INT64
    for value in request.args.getlist("serialnumber"):
        operator, _, number = value.rpartition(":")
        serial_no = to_serial_no(number)
        bounds = {
            "": (serial_no, serial_no),
            "eq": (serial_no, serial_no),
            "lt": (1, serial_no - 1),
            "lte": (1, serial_no),
            "gt": (min(serial_no + 1, MAX_INT64), MAX_INT64),
            "gte": (serial_no, MAX_INT64),
        }
        if operator not in bounds:
            raise BadRequest("Invalid parameter: serialnumber")
        low, high = max(low, bounds[operator][0]), min(high, bounds[operator][1])
    return low, high


def moment_range() -> tuple[int, int]:
    """The first and the last moment that timestamp=gt:..., eq: and so on ask for, at most 60 days apart."""
    low, high = 0, MAX_INT64
    for value in request.args.getlist("timestamp"):
        operator, _, text = value.rpartition(":")
        moment = _to_moment(text)
        bounds = {
            "": (moment, moment),
            "eq": (moment, moment),
            "lt": (0, moment - 1),
            "lte": (0, moment),
            "gt": (moment + 1, MAX_INT64),
            "gte": (moment, MAX_INT64),
        }
        if operator not in bounds:
            raise BadRequest("Invalid parameter: timestamp")
        low, high = max(low, bounds[operator][0]), min(high, bounds[operator][1])
    if low:
        return low, min(high, low + MAX_RANGE)
    high = min(high, times.now())
    return high - MAX_RANGE, high


def _to_moment(text: str) -> int:
    """The nanoseconds of 1234567890.123456789, or of 1234567890."""
    try:
        return times.from_consensus(text if "." in text else f"{text}.000000000")
    except ValueError:
        raise BadRequest("Invalid parameter: timestamp") from None


def moments() -> tuple[int, int]:
    """What timestamp=gt:... or lt:... asks for: after when, and before when."""
    operator, _, moment = request.args.get("timestamp", "gt:0.000000000").partition(":")
    try:
        bound = times.from_consensus(moment)
    except ValueError:
        raise BadRequest("Invalid parameter: timestamp") from None
    if operator not in ("gt", "lt"):
        raise BadRequest("Invalid parameter: timestamp")
    return (bound, MAX_INT64) if operator == "gt" else (0, bound)
