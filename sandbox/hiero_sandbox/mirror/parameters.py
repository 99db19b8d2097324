"""Query parameters of the mirror node: their values and errors, the filters they make, and pages."""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from flask import request
from hiero_sdk_python.hapi.services.basic_types_pb2 import Key
from werkzeug.datastructures import ImmutableMultiDict
from werkzeug.exceptions import BadRequest

from hiero_sandbox import times
from hiero_sandbox.ids import MAX_INT64, is_entity_id, numbers
from hiero_sandbox.ledger import keys
from hiero_sandbox.ledger.envelopes import TYPES

Document = dict[str, Any]
Row = Mapping[Any, Any]
CACHED = "cached_seconds"  # an attribute of views


class Invalid(BadRequest):
    """Refuses a request, with a message for each mistake, and perhaps a detail of it."""

    def __init__(self, *messages: str, detail: str | None = None) -> None:
        super().__init__(messages[0])
        self.messages, self.detail = messages, detail


def invalid(name: str) -> Invalid:
    return Invalid(f"Invalid parameter: {name}")


View = TypeVar("View", bound=Callable[..., Any])


def cached(seconds: int) -> Callable[[View], View]:
    """Let caches keep a view's responses for some seconds, not for one."""

    def mark(view: View) -> View:
        setattr(view, CACHED, seconds)
        return view

    return mark


def cached_seconds(view: Callable[..., Any]) -> int:
    return int(getattr(view, CACHED, 1))


# Parsers of a parameter's text. All raise ValueError.


def parse_entity(text: str) -> str:
    """Read an id: 0.0.1001, 0.1001, 1001, or the EVM address that is made from its number.

    Only an address that stands alone may begin with 0x.
    """
    *parts, number = text.split(".")
    if len(number) >= 40 and {*parts} - {"0"}:
        raise ValueError(f"{text!r} is of another shard or realm")
    if re.fullmatch(f"{'' if parts else '(0x)?'}0{{24}}[0-9a-fA-F]{{16}}", number):
        number = str(int(number, 16))
    entity_id = ".".join([*["0"] * (2 - len(parts)), *parts, number])
    if not is_entity_id(entity_id):
        raise ValueError(f"{text!r} is not an id")
    return entity_id


def to_number(entity_id: str) -> int:
    """An id as one number, as mirror nodes store it: shard, realm and number in 10, 16 and 38 bits."""
    shard, realm, number = numbers(entity_id)
    return shard << 54 | realm << 38 | number


def to_id(number: int) -> str:
    return f"{number >> 54}.{number >> 38 & 0xFFFF}.{number & 0x3F_FFFF_FFFF}"


def _parse_id(text: str) -> int:
    entity_id = parse_entity(text)
    number = to_number(entity_id)
    if to_id(number) != entity_id or number > MAX_INT64:
        raise Invalid(f'Invalid entity ID "{text}"')
    return number


def parse_number(text: str) -> int:
    if not re.fullmatch("[0-9]{1,19}", text) or int(text) > MAX_INT64:
        raise ValueError(f"{text!r} is not a number")
    return int(text)


def parse_serial_no(text: str) -> int:
    return parse_number(text) or parse_number("")  # 0 raises ValueError, too


def parse_timestamp(text: str) -> int:
    """Read 1234567890, with up to nine digits after the point. Returns nanoseconds."""
    found = re.fullmatch(r"([0-9]{1,10})(?:\.([0-9]{1,9}))?", text)
    if not found:
        raise ValueError(f"{text!r} is not a timestamp")
    return times.from_consensus(f"{found[1]}.{found[2] or '':0<9}")


NUMBERS: dict[str, Callable[[str], int]] = {
    "account.balance": parse_number,
    "account.id": _parse_id,
    "block.number": parse_number,
    "contract.id": _parse_id,
    "file.id": _parse_id,
    "node.id": parse_number,
    "receiver.id": _parse_id,
    "schedule.id": _parse_id,
    "sender.id": _parse_id,
    "sequencenumber": parse_serial_no,
    "serialnumber": parse_serial_no,
    "spender.id": _parse_id,
    "timestamp": parse_timestamp,
    "token.id": _parse_id,
}
BOOLEAN = "true|false"
KEY = "(0x)?([0-9a-f]{64}|[0-9a-f]{66}|[0-9a-f]{88})"
WORDS = {
    "account.publickey": KEY,
    "balance": BOOLEAN,
    "limit": "0{0,18}[1-9][0-9]{0,18}",
    "name": "(eq:)?(?!(gt|gte|lt|lte|ne):).*",
    "order": "asc|desc",
    "owner": BOOLEAN,
    "publickey": KEY,
    "result": "success|fail",
    "transactions": BOOLEAN,
    "transactiontype": "|".join(TYPES.values()),
}
NAME_BYTES = range(3, 101)
# The lowest and the highest number that each operator admits.
OPERATORS: dict[str, Callable[[int], tuple[int, int]]] = {
    "eq": lambda value: (value, value),
    "lt": lambda value: (0, value - 1),
    "lte": lambda value: (0, value),
    "gt": lambda value: (value + 1, MAX_INT64),
    "gte": lambda value: (value, MAX_INT64),
}


def lower_names() -> None:
    """Let the current request name its parameters in any case: ?LIMIT=1 is ?limit=1."""
    pairs = request.args.items(multi=True)
    request.args = ImmutableMultiDict([(name.lower(), value) for name, value in pairs])


def require_known(*names: str, **words: str) -> None:
    """Refuse all other parameters, and invalid values, in one answer. Those with other names come last.

    ``words`` are parameters with other values on this path than elsewhere: a regular expression for each.
    """
    messages: list[str] = []
    unknown: list[str] = []
    for name, values in request.args.lists():
        if name not in names and name not in words:
            unknown += [f"Unknown query parameter: {name}"] * len(values)
            continue
        pattern = words.get(name) or WORDS.get(name)
        for value in values:
            try:
                if pattern is None:
                    read_bounds(name, value)
                elif not _has_form(name, value, pattern):
                    raise invalid(name)
            except Invalid as refusal:
                messages += refusal.messages
    if messages or unknown:
        raise Invalid(*messages, *unknown)


def _has_form(name: str, value: str, pattern: str) -> bool:
    """Whether a value has the form of its parameter. A name is counted in bytes."""
    is_counted = name != "name" or len(value.removeprefix("eq:").encode()) in NAME_BYTES
    return is_counted and re.fullmatch(pattern, value, re.IGNORECASE) is not None


class NumberFilter(NamedTuple):
    """The numbers that a parameter admits: from low to high, and if any are named, only those."""

    low: int
    high: int
    named: frozenset[int]

    def may_name(self, number: int) -> bool:
        """Whether a number is named, or none is."""
        return not self.named or number in self.named

    def admits(self, number: int) -> bool:
        return self.low <= number <= self.high and self.may_name(number)


def number_filter(name: str) -> NumberFilter:
    """Read a parameter such as serialnumber=7, lt:7 or gte:7. Several named numbers are alternatives."""
    low, high, named = 0, MAX_INT64, set()
    for argument in request.args.getlist(name):
        lowest, highest = read_bounds(name, argument)
        if argument.rpartition(":")[0] in ("", "eq"):
            named.add(lowest)
        else:
            low, high = max(low, lowest), min(high, highest)
    if named:
        low, high = max(low, min(named)), min(high, max(named))
    return NumberFilter(low, high, frozenset(named))


def read_bounds(name: str, argument: str) -> tuple[int, int]:
    """The lowest and the highest number that one value such as lt:7 admits."""
    operator, _, text = argument.rpartition(":")
    try:
        return OPERATORS[operator or "eq"](NUMBERS[name](text))
    except (KeyError, ValueError):
        raise invalid(name) from None


def last(name: str, default: str = "") -> str:
    """The value of a parameter that has one, in lower case. Of several, the last one counts."""
    return [default, *request.args.getlist(name)][-1].lower()


def keep_last(name: str) -> None:
    """Let the current request have only the last value of a parameter."""
    others = [pair for pair in request.args.items(multi=True) if pair[0] != name]
    request.args = ImmutableMultiDict(
        [*others, *((name, value) for value in request.args.getlist(name)[-1:])]
    )


def refuse_ne(name: str, message: str) -> None:
    """Refuse the operator ne, with the message."""
    if any(value.startswith("ne:") for value in request.args.getlist(name)):
        raise Invalid(message.format(name))


def is_true(name: str) -> bool:
    return last(name, "true") == "true"


def is_of_key(key: Key | None, name: str) -> bool:
    """Whether a key is the simple key in a parameter. True if the parameter is missing."""
    asked, known = last(name), keys.shown(key)
    if not asked or known is None:
        return not asked
    return known["_type"] != "ProtobufEncoded" and asked.endswith(known["key"])
