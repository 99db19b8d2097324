"""Writes rows as JSON in one pass. The schemas give the names, the order and the kinds of the fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from json.encoder import encode_basestring_ascii as quote
from typing import Any

from flask import Flask, current_app
from marshmallow import Schema, fields

from marketplace.api.fields import (
    ConsensusTimestamp,
    MediaUrl,
    Milliseconds,
    OriginalImageUrl,
)
from marketplace.api.response_schemas import EventSchema, NftSchema
from marketplace.hedera import times
from marketplace.services import services

# How many rows' JSON is cached: most NFTs and events of a page were there before the last commit, too. Lists
# longer than LONGEST_KEPT are not cached, so that they do not push others out.
KEPT: dict[type[Schema], int] = {NftSchema: 200, EventSchema: 200}
LONGEST_KEPT = 100

Encode = Callable[[Any], str]


def _encoders(app: Flask) -> dict[type[fields.Field[Any]], Encode]:
    """How each kind of field is written. URLs are made absolute only here: settings may change."""
    media_url, public_url = services(app).media.url, app.config["PUBLIC_URL"]
    return {
        Milliseconds: lambda value: f'"{value[:23]}Z"',
        ConsensusTimestamp: lambda value: f'"{times.iso_to_consensus(value)}"',
        MediaUrl: lambda key: quote(media_url(key)),
        OriginalImageUrl: lambda url: quote(public_url + url if url.startswith("/") else url),
        fields.Boolean: lambda value: "true" if value else "false",
        fields.String: quote,
        fields.Number: str,
    }


def compile_schema(schema: Schema, app: Flask, kept: int = 0) -> Encode:
    """Make a function that writes a row as the JSON object that the schema would dump, and None as null.

    It caches the JSON of ``kept`` rows. If it does, all values of a row must be hashable.
    """
    template, columns = _compile_fields(schema, app)
    names = [name for name, _, _ in columns]

    def encode_values(values: tuple[Any, ...]) -> str:
        return template % tuple(
            [
                "null" if value is None and is_nullable else write(value)
                for value, (_, write, is_nullable) in zip(values, columns, strict=True)
            ]
        )

    if kept:
        encode_values = lru_cache(kept)(encode_values)
    return lambda row: "null" if row is None else encode_values(tuple([row[it] for it in names]))


def find_encoder(kind: type[Schema], *, is_short: bool = True) -> Encode:
    """The function of a schema for the current application, compiled on first use."""
    kept = KEPT.get(kind, 0) if is_short else 0
    encoders, key = services().encoders, (kind, kept)
    return encoders.get(key) or encoders.setdefault(key, compile_schema(kind(), current_app, kept))


def _compile_fields(schema: Schema, app: Flask) -> tuple[str, list[tuple[str, Encode, bool]]]:
    """The JSON with a place for each value; each value's column, its encoder, and whether it may be null."""
    members: list[str] = []
    columns: list[tuple[str, Encode, bool]] = []
    for name, field in schema.dump_fields.items():
        key = quote(field.data_key or name).replace("%", "%%")
        if isinstance(field, fields.Nested) and not field.allow_none:
            inner, inner_columns = _compile_fields(field.schema, app)
            members.append(f"{key}:{inner}")
            columns += inner_columns
            continue
        members.append(f"{key}:%s")
        columns.append((field.attribute or name, _encoder(field, app), field.allow_none))
    return "{" + ",".join(members) + "}", columns


def _encoder(field: fields.Field[Any], app: Flask) -> Encode:
    if isinstance(field, fields.List) and isinstance(field.inner, fields.Nested):
        return _list_of(compile_schema(field.inner.schema, app))
    if isinstance(field, fields.Nested):
        inner, columns = _compile_fields(field.schema, app)
        if len(columns) > 1:
            return compile_schema(field.schema, app)
        [(_, write, _)] = columns  # the row has the value of the only member, not an object
        return lambda value: inner % write(value)
    encoders = _encoders(app)
    for kind in type(field).__mro__:
        if kind in encoders:
            return encoders[kind]
    raise TypeError(f"{type(field).__name__} has no encoder in row_json.py")


def _list_of(encode: Encode) -> Encode:
    return lambda rows: f"[{','.join(map(encode, rows))}]"


def encode_rows(kind: type[Schema], rows: Any) -> str | Iterator[str]:
    """Encode a row, a list of rows, or an iterator of such lists."""
    if isinstance(rows, list):
        return _list_of(find_encoder(kind, is_short=len(rows) <= LONGEST_KEPT))(rows)
    if isinstance(rows, Iterator):
        return _write(find_encoder(kind, is_short=False), rows)
    return find_encoder(kind, is_short=False)(rows)  # the response cache has it whole


def _write(encode: Encode, parts: Iterable[list[Any]]) -> Iterator[str]:
    separator = "["
    for rows in parts:
        yield separator + ",".join(map(encode, rows))
        separator = ","
    yield "]"
