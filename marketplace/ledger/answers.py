"""How the mirror node's JSON becomes objects: fields for marshmallow, and a schema made of annotations.

Source of the keys: the mirror node's OpenAPI document, /api/v1. A key that no field names is ignored. Null
counts as missing where a field has a default.
"""

import base64
import re
import string
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType
from typing import Any, TypeVar, cast, get_args, get_type_hints

from marshmallow import EXCLUDE, Schema, ValidationError, fields, missing, post_load, pre_load
from marshmallow.validate import Range

from marketplace.hedera import times
from marketplace.hedera.ids import MAX_INT64, is_entity_id

UNREADABLE = object()  # stands for a value whose parent is not an object; no field reads it

T = TypeVar("T")


class Text(fields.String):
    """A text that a function parses. The function raises ValueError to refuse the text."""

    def __init__(self, parse: Callable[[str], Any] = str, **more: Any) -> None:
        super().__init__(**more)
        self._parse = parse

    def _deserialize(self, value: Any, *more: Any, **others: Any) -> Any:
        if not isinstance(value, str):
            raise self.make_error("invalid")
        try:
            return self._parse(value)
        except ValueError as error:
            raise ValidationError(f"Not valid: {error}.") from error


def whole(low: int = -MAX_INT64, high: int = MAX_INT64, **more: Any) -> fields.Integer:
    return fields.Integer(strict=True, validate=Range(low, high), **more)


class Amount(fields.Integer):
    """An amount of tokens: mirror nodes write some as numbers, and others as strings of digits."""

    def __init__(self, **more: Any) -> None:
        super().__init__(strict=True, validate=Range(0, MAX_INT64), **more)

    def _deserialize(self, value: Any, *more: Any, **others: Any) -> Any:
        if isinstance(value, str) and not re.fullmatch("[0-9]{1,19}", value):
            raise self.make_error("invalid")
        return super()._deserialize(
            int(value) if isinstance(value, str) else value, *more, **others
        )


class Nested(fields.Nested):
    """An object within another one."""

    def __init__(self, kind: Callable[..., Any], **more: Any) -> None:
        super().__init__(_schema_of(kind), **more)


class ObjectList(Nested):
    """A list of objects, as a tuple."""

    def __init__(self, kind: Callable[..., Any], **more: Any) -> None:
        super().__init__(kind, many=True, **more)

    def _deserialize(self, *value: Any, **more: Any) -> Any:
        return tuple(super()._deserialize(*value, **more))


class Lenient(fields.Field[Any]):
    """Another field's value, or None if that field cannot read it."""

    def __init__(self, field: fields.Field[Any], **more: Any) -> None:
        super().__init__(allow_none=True, **more)
        self._field = field

    def _bind_to_schema(self, field_name: str, parent: Any) -> None:
        super()._bind_to_schema(field_name, parent)
        self._field._bind_to_schema(field_name, parent)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **more: Any) -> Any:
        try:
            return self._field.deserialize(value, attr, data, **more)
        except ValidationError:
            return None


def read_code(value: str) -> str:
    """The name of a transaction type or of a result."""
    if not re.fullmatch("[A-Z0-9_]{1,80}", value):
        raise ValueError("it is not a code")
    return value


def read_entity_id(value: str) -> str:
    if not is_entity_id(value):
        raise ValueError("it is not an entity id")
    return value


def read_host(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9.-]{0,253}", value):
        raise ValueError("it is not the name of a host")
    return value


def read_base64(value: str) -> bytes:
    """Decode base64, with or without its padding."""
    return base64.b64decode(value + "=" * (-len(value) % 4), validate=True)


def read_pointer(value: str) -> str:
    """The metadata of an NFT: usually text in base64, otherwise the text itself.

    Some minters pad it to a fixed length with NULs or spaces.
    """
    try:
        decoded = read_base64(value).decode()
    except ValueError:  # not base64, or the bytes are not text
        decoded = value.encode(errors="ignore").decode()
    return decoded.strip(f"\0{string.whitespace}")


def entity(key: str, **more: Any) -> Text:
    return Text(read_entity_id, data_key=key, **more)


def moment(key: str, **more: Any) -> Text:
    """A consensus timestamp, in nanoseconds."""
    return Text(times.from_consensus, data_key=key, **more)


def lenient_moment(key: str) -> Lenient:
    return Lenient(Text(times.from_consensus), data_key=key)


def equals(expected: str, key: str) -> Text:
    return Text(expected.__eq__, data_key=key)


def flag(key: str) -> fields.Boolean:
    return fields.Boolean(data_key=key, truthy={True}, falsy={False})


class Entities(fields.List[Any]):
    """A list of entity ids, as a tuple."""

    def __init__(self, **more: Any) -> None:
        super().__init__(Text(read_entity_id), **more)

    def _deserialize(self, *value: Any, **more: Any) -> Any:
        return tuple(super()._deserialize(*value, **more))


class AnswerSchema(Schema):
    """Reads an object. A field's key with dots is a path through nested objects."""

    class Meta:
        unknown = EXCLUDE

    makes: Callable[..., Any]

    @pre_load
    def _flatten(self, document: Any, **_: Any) -> Any:
        if not isinstance(document, dict):
            return document  # marshmallow refuses it
        found = {}
        for name, field in self.load_fields.items():
            key = field.data_key or name
            try:
                value = _find(document, key) if "." in key else document.get(key, missing)
            except ValidationError:
                if not isinstance(field, Lenient):
                    raise
                value = UNREADABLE
            if value is not missing and (value is not None or field.load_default is missing):
                found[key] = value
        return found

    @post_load
    def _make(self, values: dict[str, Any], **_: Any) -> Any:
        return type(self).makes(**values)


def read_list(document: Mapping[str, Any], key: str) -> list[Any]:
    """The list of a key. Raises ValueError, which names the key."""
    rows = document.get(key)
    if not isinstance(rows, list):
        raise ValueError(f"{key}: Not a list.")
    return rows


def _describe(messages: Any) -> str:
    """The first of marshmallow's messages, after the keys that lead to it: ``nfts.0.token_id: ...``."""
    path = []
    while isinstance(messages, dict) and messages:
        key, messages = next(iter(messages.items()))
        path.append(str(key))
    first = messages[0] if isinstance(messages, list) and messages else messages
    return f"{'.'.join(path)}: {first}"


def _find(document: Any, key: str) -> Any:
    """The value at a key's path; missing if an object on the path is null or missing."""
    value = document
    for part in key.split("."):
        if value is None or value is missing:
            return missing
        if not isinstance(value, dict):
            raise ValidationError({key: ["Not within an object."]})
        value = value.get(part, missing)
    return value


def _schema_of(kind: Callable[..., Any]) -> type[AnswerSchema]:
    """The schema of a NamedTuple, each of whose annotations has the field that reads it.

    A field without a default is required; it may be null if its type has None.
    """
    defaults, found = cast(Any, kind)._field_defaults, {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        allowed, field = get_args(hint)
        if name in defaults:
            field.load_default, field.allow_none = defaults[name], defaults[name] is None
        else:
            field.required, field.allow_none = True, NoneType in get_args(allowed)
        found[name] = field
    schema = cast(Any, AnswerSchema).from_dict(found, name=f"{kind.__name__}Schema")
    schema.makes = staticmethod(kind)
    return cast(type[AnswerSchema], schema)


@cache
def _reader(kind: Callable[..., Any]) -> AnswerSchema:
    return _schema_of(kind)()


def read(kind: Callable[..., T], document: object) -> T:
    """Read an object. Raises ValueError, which names the key."""
    try:
        return cast(T, _reader(kind).load(cast(Any, document)))
    except ValidationError as error:
        raise ValueError(_describe(error.messages)) from error


def read_rows(kind: Callable[..., T], document: Mapping[str, Any], key: str) -> list[T]:
    """Read the objects of a list. Raises ValueError, which names the key."""
    rows = read_list(document, key)
    try:
        return cast(list[T], _reader(kind).load(rows, many=True))
    except ValidationError as error:
        raise ValueError(f"{key}.{_describe(error.messages)}") from error
