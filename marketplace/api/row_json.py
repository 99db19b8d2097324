"""From rows to bytes in one pass. The names, their order and their kinds are those of the schemas."""

from collections.abc import Callable, Iterable, Iterator
from json.encoder import encode_basestring_ascii as quote

from flask import Flask, Response
from marshmallow import Schema, fields

from marketplace.api.fields import Address, Flag, Milliseconds
from marketplace.api.response_schemas import NftSchema
from marketplace.services import services

Encode = Callable[[object], str]


def _text(value):
    return "null" if value is None else quote(value)


def _flag(value):
    return "true" if value else "false"


def _date(value):
    return "null" if value is None else f'"{value[:23]}Z"'


# How each kind of field is written. What marshmallow would write, a test sees to it.
ENCODERS = {
    Flag: _flag,
    Milliseconds: _date,
    fields.String: _text,
    fields.Integer: str,
}


def compile_schema(schema: Schema, app: Flask) -> Encode:
    """Make a function that writes one row as the JSON object that the schema would dump."""
    template, columns = _compile_fields(schema, app)

    def encode(row):
        return template % tuple([write(row[column]) for column, write in columns])

    return encode


def _compile_fields(schema: Schema, app: Flask) -> tuple[str, list[tuple[str, Encode]]]:
    members, columns = [], []
    for name, field in schema.dump_fields.items():
        key = quote(field.data_key or name).replace("%", "%%")
        if isinstance(field, fields.Nested):
            inner, inner_columns = _compile_fields(field.schema, app)
            members.append(f"{key}:{inner}")
            columns += inner_columns
            continue
        members.append(f"{key}:%s")
        columns.append((field.attribute or name, _encoder(field, app)))
    return "{" + ",".join(members) + "}", columns


def _encoder(field: fields.Field, app: Flask) -> Encode:
    if isinstance(field, Address):
        absolute = field.absolute(app)
        return lambda stored: _text(absolute(stored))
    for kind in type(field).__mro__:
        if kind in ENCODERS:
            return ENCODERS[kind]
    raise TypeError(f"{type(field).__name__} has no encoder in wire.py")


class EncodedRows(Response):
    """What was encoded here: its headers are complete, and werkzeug need not look through them."""

    default_mimetype = "application/json"

    def get_wsgi_headers(self, environ):
        return self.headers


def answer_one(encode: Encode, row) -> Response:
    return EncodedRows(encode(row))


def answer_many(encode: Encode, rows: Iterable) -> Response:
    """Answer with a list of rows; or with an iterator of such lists, which are sent as they are read."""
    if isinstance(rows, list):
        return EncodedRows(f"[{','.join(map(encode, rows))}]")
    return EncodedRows(_write(encode, rows))


def _write(encode: Encode, parts: Iterable[list]) -> Iterator[str]:
    separator = "["
    for rows in parts:
        yield separator + ",".join(map(encode, rows))
        separator = ","
    yield "]"


def init_app(app: Flask) -> None:
    services(app).encoders = {NftSchema: compile_schema(NftSchema(), app)}
