"""Reads the fields of a JSON body: strictly, and naming each that is wrong."""

import base64
import json
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from flask import request
from werkzeug.exceptions import (
    BadRequest,
    HTTPException,
    RequestEntityTooLarge,
    UnsupportedMediaType,
)

from hiero_sandbox.database import read
from hiero_sandbox.errors import FieldsInvalid, shown
from hiero_sandbox.ids import MAX_INT64, is_entity_id
from hiero_sandbox.ledger import accounts
from hiero_sandbox.ledger.envelopes import Refused, open_transaction, read_list


class Field(NamedTuple):
    """What a field must be, in words, and its parser, which returns None for anything else."""

    expected: str
    read: Callable[[Any], Any]


def _read_id(value: Any) -> str | None:
    return value if isinstance(value, str) and is_entity_id(value) else None


def _read_transaction(value: Any) -> bytes | None:
    try:
        content = base64.b64decode(value, validate=True)
        for transaction in read_list(content):
            open_transaction(transaction)
    except (TypeError, ValueError):
        return None
    return content


def whole_number(high: int, low: int = 1) -> Field:
    """A JSON integer in a range: not "1", 1.0 or true."""

    def read(value: Any) -> int | None:
        return value if type(value) is int and low <= value <= high else None

    return Field(f"a whole number from {low} to {high}", read)


ACCOUNT_ID = Field("an account id (0.0.1234)", _read_id)
TOKEN_ID = Field("a token id (0.0.1234)", _read_id)
SERIAL_NO = whole_number(MAX_INT64)
TRANSACTION = Field("base64 of a transaction's bytes", _read_transaction)


def read_account(**fields: Field) -> list[Any]:
    """Read an account that is not deleted, and these fields. Raises FieldsInvalid."""
    account_id, *others = read_body(accountId=ACCOUNT_ID, **fields)
    try:
        accounts.require_usable(read(), account_id)
    except Refused as refusal:
        what = f"must be an account of the ledger, not {account_id}: {refusal}"
        raise FieldsInvalid({"accountId": what}) from None
    return [account_id, *others]


def read_body(**fields: Field) -> list[Any]:
    """Read these fields of the request's body, in this order. Raises FieldsInvalid. Ignores all others."""
    given = _read_json()
    if not isinstance(given, dict):
        raise FieldsInvalid({"body": "must be a JSON object"})
    values, wrong = [], {}
    for name, field in fields.items():
        value = given.get(name)
        values.append(None if value is None else field.read(value))
        if name not in given:
            wrong[name] = "is required"
        elif value is None:
            wrong[name] = "must not be null"
        elif values[-1] is None:
            wrong[name] = f"must be {field.expected}, not {shown(value)}"
    if wrong:
        raise FieldsInvalid(wrong)
    return values


def _read_json() -> Any:
    """Parse the body. It must be declared as JSON, and be strictly that."""
    if not request.is_json:
        raise UnsupportedMediaType(
            "The body is not declared as JSON: set Content-Type: application/json"
        )
    try:
        content = request.get_data()
    except HTTPException:
        raise
    except Exception as error:  # each server raises errors of its own
        raise BadRequest("The body cannot be read") from error
    if request.content_length is None and len(content) >= (request.max_content_length or 0):
        raise RequestEntityTooLarge  # a chunked body, which is cut at the maximum
    try:
        return json.loads(content, parse_constant=_refuse_constant, parse_int=_read_integer)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"The body is not JSON: {error}") from None


def _read_integer(digits: str) -> int | str:
    """Parse an integer. One with 100 digits or more stays text, which every field refuses."""
    return int(digits) if len(digits) < 100 else digits


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
