"""The kinds of fields of our schemas: how each is read, written and refused."""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from flask import current_app
from marshmallow import EXCLUDE, Schema, ValidationError, fields, missing

from marketplace.api.paging import Position, read_position
from marketplace.errors import NotFound
from marketplace.events import CURSOR, Cursor
from marketplace.hedera import times
from marketplace.hedera.ids import (
    ENTITY_ID,
    EVM_ADDRESS,
    MAX_INT64,
    NFT_ID,
    TRANSACTION_ID,
    NftId,
    TransactionId,
    is_entity_id,
    is_evm_address,
)
from marketplace.services import services
from marketplace.text import quote

DIGITS = re.compile("0|[1-9][0-9]{0,18}")
MAX_TRAIT_NAME, MAX_TRAIT_VALUE = 100, 200
MAX_QUERY = 100


class CamelCaseSchema(Schema):
    """A schema whose fields have camelCase names on the wire, unless data_key gives another name.

    In the OpenAPI document it is open: clients must accept a field that is added later.
    """

    class Meta:
        unknown = EXCLUDE

    def dump(self, obj: Any, *, many: bool | None = None) -> Any:
        """Do what marshmallow's own does for a dict or a row that has all fields, in a third of the time.

        Of a list, None stays None.
        """
        if self.many if many is None else many:
            return [None if each is None else self.dump(each, many=False) for each in obj]
        return {
            field.data_key: field._serialize(obj[name], name, obj)
            for name, field in self.dump_fields.items()
        }

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        if field_obj.data_key is None:
            first, *others = field_name.split("_")
            field_obj.data_key = first + "".join(word.capitalize() for word in others)


class Strict(fields.Field[Any]):
    """A field whose error messages name the value, and what is expected. Subclasses implement read()."""

    default_error_messages = {
        "required": "is required",
        "null": "must not be null",
        "expected": "must be {expected}, not {value}",
    }
    expected = ""
    shape: Mapping[str, Any] = {}  # further attributes for the OpenAPI document

    def __init__(self, description: str = "", example: object = missing, **kwargs: Any) -> None:
        metadata = {"description": description, "example": example, **self.shape}
        if example is missing:
            del metadata["example"]
        super().__init__(**{"metadata": metadata} | kwargs)

    def read(self, value: Any) -> Any:
        """Parse the value. Returns None if it is not as expected."""
        raise NotImplementedError

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        read = self.read(value)
        if read is None:
            raise self.make_error("expected", expected=self.expected, value=quote(value))
        return read


class EntityId(Strict, fields.String):
    """A token id or an account id."""

    expected = "three integers joined by dots, such as 0.0.1234"
    shape = {"pattern": f"^{ENTITY_ID}$"}

    def read(self, value: Any) -> str | None:
        return value if isinstance(value, str) and is_entity_id(value) else None


class AccountName(EntityId):
    """An account id, or an account's EVM address, which only the ledger can resolve."""

    expected = f"{EntityId.expected}, or an EVM address"
    shape = {"pattern": f"^(?:{ENTITY_ID}|{EVM_ADDRESS})$"}

    def read(self, value: Any) -> str | None:
        is_name = isinstance(value, str) and (is_entity_id(value) or is_evm_address(value))
        return value if is_name else None


class NftIdField(Strict, fields.String):
    """A token id and a serial number in one text."""

    expected = "a token id, a colon and a serial number, such as 0.0.5001:7"
    shape = {"pattern": f"^{NFT_ID}$"}

    def read(self, value: Any) -> NftId | None:
        return NftId.parse(value)


class WholeNumber(Strict, fields.Integer):
    """A JSON integer within bounds: not "1", 1.0 or true."""

    def __init__(
        self, description: str, example: int, *, low: int = 1, high: int = MAX_INT64, **kwargs: Any
    ) -> None:
        self.low, self.high = low, high
        self.expected = f"a whole number from {low} to {high}"
        # int64 already bounds it, and JavaScript would round this number.
        bound = {"maximum": high} if high < MAX_INT64 else {}
        self.shape = {"minimum": low, "format": "int64", **bound}
        super().__init__(description, example, **kwargs)

    def read(self, value: Any) -> int | None:
        return value if type(value) is int and self.low <= value <= self.high else None


class SerialNumbers(Strict, fields.List[int]):
    """A JSON array of different serial numbers."""

    def __init__(
        self, description: str, example: Sequence[int], *, most: int, **kwargs: Any
    ) -> None:
        self._number = WholeNumber("", example[0])
        self._most = most
        self.expected = f"a list of 1 to {most} different whole numbers from 1"
        self.shape = {"minItems": 1, "maxItems": most, "uniqueItems": True}
        super().__init__(description, [*example], cls_or_instance=self._number, **kwargs)

    def read(self, value: Any) -> tuple[int, ...] | None:
        if not isinstance(value, list) or not 0 < len(value) <= self._most:
            return None
        numbers = [self._number.read(number) for number in value]
        is_whole = None not in numbers and len({*numbers}) == len(numbers)
        return tuple(filter(None, numbers)) if is_whole else None


class NftObjects(Strict, fields.List[Any]):
    """A JSON array of different NFTs, each an object that a schema describes."""

    def __init__(self, schema: type[Schema], description: str, *, most: int, **kwargs: Any) -> None:
        self._schema = schema()
        self._most = most
        described = self._schema.fields.values()
        example = {field.data_key: field.metadata["example"] for field in described}
        self._kind = f"such as {json.dumps(example)}"
        self.expected = f"a list of 1 to {most} different NFTs {self._kind}"
        self.shape = {"minItems": 1, "maxItems": most}
        super().__init__(
            description, [example], cls_or_instance=fields.Nested(self._schema), **kwargs
        )

    def read(self, value: Any) -> tuple[dict[str, Any], ...] | None:
        """Raises ValidationError for an item that is wrong."""
        if not isinstance(value, list) or not 0 < len(value) <= self._most:
            return None
        nfts = tuple(self._read_item(place, item) for place, item in enumerate(value, 1))
        ids = {(nft["token"], nft["serial_no"]) for nft in nfts}
        return nfts if len(ids) == len(nfts) else None

    def _read_item(self, place: int, item: Any) -> dict[str, Any]:
        if not isinstance(item, dict):
            raise ValidationError(f"has {quote(item)} at place {place}, not an NFT {self._kind}")
        try:
            nft: dict[str, Any] = self._schema.load(item)
        except ValidationError as error:
            [(name, reasons), *_] = error.messages_dict.items()
            raise ValidationError(f"at place {place}: {name} {reasons[0]}") from None
        return nft


class Digits(WholeNumber):
    """A whole number within bounds, written in a path or a query: ASCII digits, no leading zero."""

    def read(self, value: Any) -> int | None:
        return super().read(int(value)) if DIGITS.fullmatch(value) else None


class WalletName(fields.String):
    """A wallet of the setting WALLETS. Any other name is a 404, not a wrong field."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        wallets = current_app.config["WALLETS"]
        if value not in wallets:
            raise NotFound(
                f"{quote(value)} is not a wallet of this service. Its wallets are: {', '.join(wallets)}"
            )
        return value


class TransactionIdField(Strict, fields.String):
    """A transaction id in the form of wallets or of mirror nodes, read into the wallets' form."""

    expected = "a transaction id, such as 0.0.1001@1763640000.123456789"
    shape = {"pattern": f"^{TRANSACTION_ID}$"}

    def read(self, value: Any) -> str | None:
        parsed = TransactionId.parse(value) if isinstance(value, str) else None
        return str(parsed) if parsed else None


class Choice(Strict, fields.String):
    """One of a few words."""

    def __init__(self, description: str, choices: Sequence[str], **kwargs: Any) -> None:
        *others, last = self.choices = choices
        self.expected = f"{', '.join(others)} or {last}"
        self.shape = {"enum": [*choices]}
        super().__init__(description, choices[0], **kwargs)

    def read(self, value: Any) -> str | None:
        return value if value in self.choices else None


class TrueOrFalse(Strict, fields.Boolean):
    """A boolean of a query: the word true or false."""

    expected = "true or false"

    def read(self, value: Any) -> bool | None:
        return {"true": True, "false": False}.get(value)


class Several(fields.List[Any]):
    """A query parameter that may be given several times. The error names the first wrong value."""

    default_error_messages = {"required": "is required"}

    def __init__(
        self, inner: Strict, description: str, *examples: str | int, **kwargs: Any
    ) -> None:
        metadata = {"description": description} | ({"example": [*examples]} if examples else {})
        super().__init__(inner, metadata=metadata, **kwargs)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        return tuple(map(self.inner.deserialize, value))


class Choices(Several):
    """Several values, without duplicates."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        return tuple(dict.fromkeys(super()._deserialize(value, attr, data, **kwargs)))


class EventsCursor(Strict, fields.String):
    """A position in the feed of events. It has no example: every database but one would refuse it."""

    expected = "a cursor of the events, such as 3f2a9c1e-42"
    shape = {"pattern": f"^{CURSOR}$"}

    def read(self, value: Any) -> Cursor | None:
        return Cursor.parse(value)


class Moment(Strict, fields.String):
    """A day, or a second of it, in UTC."""

    expected = "a date or a time in UTC, such as 2026-11-20 or 2026-11-20T12:34:56Z"

    def read(self, value: Any) -> str | None:
        return times.read_moment(value)


class PagePosition(Strict, fields.String):
    """The position where a page begins, from a Link header."""

    expected = "a page token from this list's own Link header"

    def __init__(self, description: str, orders: Sequence[str], **kwargs: Any) -> None:
        """``orders``: the orders that the list can have."""
        self.orders = orders
        super().__init__(description, **kwargs)

    def read(self, value: Any) -> Position | None:
        position = read_position(value)
        return position if position and position.sort in self.orders else None


class Words(Strict, fields.String):
    """Words to search for."""

    expected = f"a text of {MAX_QUERY} characters at most"
    shape = {"maxLength": MAX_QUERY}

    def read(self, value: Any) -> str | None:
        return value if len(value) <= MAX_QUERY else None


class TraitText(Strict, fields.String):
    """A trait that an NFT must have, as name:value."""

    expected = "a trait's name, a colon and its value, such as Background:Blue"

    def read(self, value: Any) -> str | None:
        colons = [at for at, letter in enumerate(value) if letter == ":"]
        is_one = any(
            0 < at <= MAX_TRAIT_NAME and 0 < len(value) - at - 1 <= MAX_TRAIT_VALUE for at in colons
        )
        return value if is_one and "\0" not in value else None


class Wrapped(fields.Nested):
    """An object with one member, of which a row has the value alone: an owner's id as {"accountId": id}.

    The reverse of marshmallow's Pluck.
    """

    def _serialize(  # type: ignore[override]  # Nested names it otherwise
        self, value: Any, attr: str | None, obj: Any, **kwargs: Any
    ) -> Any:
        [name] = self.schema.fields
        return None if value is None else self.schema.dump({name: value})


class Flag(fields.Boolean):
    """A boolean, which SQLite stores as 0 or 1."""

    def _serialize(self, value: Any, attr: Any, obj: Any, **kwargs: Any) -> bool:
        return bool(value)


class PriceWhileListed(fields.Integer):
    """The price of a row's NFT while it is listed here."""

    def _serialize(self, value: Any, attr: Any, obj: Any, **kwargs: Any) -> int:
        return int(value) if obj["is_listed"] else 0


class Base64(fields.String):
    """Bytes, written as base64."""

    def _serialize(self, value: Any, attr: Any, obj: Any, **kwargs: Any) -> str:
        return base64.b64encode(value).decode()


class Base64Bytes(Strict, fields.String):
    """Bytes that a client sends as base64."""

    expected = "base64"
    shape = {"format": "byte"}

    def read(self, value: Any) -> bytes | None:
        try:
            return base64.b64decode(value, validate=True) if isinstance(value, str) else None
        except ValueError:  # binascii.Error is one
            return None


class Milliseconds(fields.String):
    """A date of the database, shortened from nanoseconds to 2026-11-20T12:34:56.789Z."""

    def _serialize(self, value: Any, attr: Any, obj: Any, **kwargs: Any) -> str | None:
        return None if value is None else f"{value[:23]}Z"


class ConsensusTimestamp(fields.String):
    """A date of the database as mirror nodes write it: 1763640000.123456789."""

    def _serialize(self, value: Any, attr: Any, obj: Any, **kwargs: Any) -> str | None:
        return None if value is None else times.iso_to_consensus(value)


class MediaUrl(fields.String):
    """The URL of an image in our media store; of a placeholder if there is none and null is not allowed."""

    def _serialize(self, value: Any, attr: Any, obj: Any, **kwargs: Any) -> str | None:
        return None if value is None and self.allow_none else services().media.url(value)


class OriginalImageUrl(fields.String):
    """The URL of the original image. Of the sandbox's images only the path is stored."""

    def _serialize(self, value: Any, attr: Any, obj: Any, **kwargs: Any) -> str | None:
        is_path = value is not None and value.startswith("/")
        return f"{current_app.config['PUBLIC_URL']}{value}" if is_path else value
