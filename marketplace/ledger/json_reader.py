"""Reads JSON objects into NamedTuples, by the types of their fields.

An annotation names a value's key, with dots if it is nested: ``Annotated[int, "balance.balance"]``.
A field with a default may be null or missing. A field ``X | None`` without a default may be null, but not
missing. A value of another type is refused; a key that no field names is ignored.
"""

import base64
from collections.abc import Callable
from functools import cache, partial
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from marketplace.hedera.ids import MAX_INT64

Read = Callable[[Any], Any]
T = TypeVar("T")
LENIENT = "lenient"  # after a key: the field is None if the value makes no sense
MISSING: Any = object()


def read(hint: type[T], document: Any, key: str = "") -> T:
    """Read a document, or the value of one of its keys, as a type. Raises ValueError, which names the key."""
    path = tuple(key.split(".")) if key else ()
    value: T = _find(path, _reader(hint), MISSING, False, document)
    return value


def _find(path: tuple[str, ...], read: Read, default: Any, is_lenient: bool, document: Any) -> Any:
    value = document
    try:
        for part in path:
            value = None if value is None else read_object(value).get(part, MISSING)
        if (value is None or value is MISSING) and default is not MISSING:
            return default
        return read(value)
    except ValueError as error:
        if is_lenient:
            return None
        raise ValueError(f"{'.'.join(path)} {error}".strip()) from error


def _read_fields(shape: Any, document: Any) -> Any:
    read_object(document)
    return shape(*[find(document) for find in _list_fields(shape)])


@cache
def _list_fields(shape: Any) -> list[Read]:
    """For each field of a NamedTuple, the function that finds it in an object."""
    hints, defaults = get_type_hints(shape, include_extras=True), shape._field_defaults
    return [_reader(hint, defaults.get(name, MISSING)) for name, hint in hints.items()]


def _reader(hint: Any, default: Any = MISSING) -> Read:
    """The function that reads a type. A function in the annotation takes its place."""
    if get_origin(hint) is Annotated:
        own: list[Read] = [mark for mark in hint.__metadata__ if callable(mark)]
        read = own[0] if own else _reader(hint.__origin__)
        key, *marks = [mark for mark in hint.__metadata__ if isinstance(mark, str)] or [""]
        path = tuple(key.split("."))
        return partial(_find, path, read, default, LENIENT in marks) if key else read
    if type(None) in get_args(hint):
        return partial(_read_nullable, _reader(get_args(hint)[0]))
    if get_origin(hint) is tuple:
        return partial(_read_list, _reader(get_args(hint)[0]))
    return BASIC.get(hint) or partial(_read_fields, hint)


def _read_nullable(read: Read, value: Any) -> Any:
    return None if value is None else read(value)


def _read_list(read: Read, value: Any) -> tuple[Any, ...]:
    return tuple(map(read, read_array(value)))


def _instance(kind: type[T], described: str) -> Callable[[Any], T]:
    def read_instance(value: Any) -> T:
        if not isinstance(value, kind):
            raise ValueError(f"is not {described}")
        return value

    return read_instance


read_object = _instance(dict, "an object")
read_array = _instance(list, "a list")
read_text = _instance(str, "a text")
read_boolean = _instance(bool, "a boolean")


def whole_number(low: int = -MAX_INT64, high: int = MAX_INT64) -> Read:
    def read_number(value: Any) -> int:
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"is not a whole number between {low} and {high}")
        return value

    return read_number


def read_base64(value: Any) -> bytes:
    """Decode base64, with or without its padding."""
    text = read_text(value)
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)


BASIC: dict[Any, Read] = {
    str: read_text,
    int: whole_number(),
    bool: read_boolean,
    bytes: read_base64,
    Any: lambda value: value,
}
