"""What several resources' schemas share: fields, bodies that name NFTs, and prepared transactions.

A schema's own names are those of the database's columns, in the order of the response. The names on the wire
are their camelCase, or data_key.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

from flask import current_app
from marshmallow import Schema, ValidationError, fields, post_load, validates_schema

from marketplace.api.fields import (
    AccountName,
    Base64,
    CamelCaseSchema,
    Digits,
    EntityId,
    MediaUrl,
    Milliseconds,
    PagePosition,
    SerialNumbers,
    TrueOrFalse,
    WalletName,
    WholeNumber,
    Wrapped,
)
from marketplace.api.paging import NEWEST
from marketplace.hedera.ids import MAX_APPROVED_SERIALS, NftId
from marketplace.settings import NETWORKS


def token_field(*, required: bool = True) -> EntityId:
    return EntityId("The collection's token ID", "0.0.5001", data_key="tokenId", required=required)


def selecting_field(description: str, example: str, data_key: str | None = None) -> EntityId:
    """An optional id in a query, which selects its own entries."""
    return EntityId(description, example, data_key=data_key, load_default=None)


def serial_no_field(
    kind: type[WholeNumber] = WholeNumber, example: int = 7, *, required: bool = True
) -> WholeNumber:
    return kind("The NFT's serial number within the token", example, required=required)


def account_name_field(description: str, example: str = "0.0.1001") -> AccountName:
    description = f"{description}, or its EVM address"
    return AccountName(description, example, required=True)


class RequestSchema(CamelCaseSchema):
    error_messages = {"type": "must be a JSON object"}
    # Unknown names that clients are likely to send, each with the one to use.
    instead: ClassVar[Mapping[str, str]] = {}


class NftPathSchema(RequestSchema):
    token = token_field()
    serial_no = serial_no_field(Digits)


class CollectionPathSchema(RequestSchema):
    token = token_field()


class AccountPathSchema(RequestSchema):
    account_id = EntityId("The account", "0.0.1001", required=True)


class WalletPathSchema(RequestSchema):
    """It is only checked: every wallet gets the same transaction."""

    wallet = WalletName(required=True, metadata={"description": "The wallet's name"})

    @post_load
    def leave_out(self, loaded: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {}


def offset_field() -> Digits:
    return Digits("Entries to skip; ignored if page is given", 0, low=0, load_default=0)


def limit_field(of: str, usual: int, most: int) -> Digits:
    return Digits(f"Maximum number of {of}", usual, high=most, load_default=usual)


def page_field(orders: Sequence[str] = (NEWEST,)) -> PagePosition:
    description = "The page's position, copied from the previous page's Link header"
    return PagePosition(description, orders, load_default=None)


def chosen_field() -> TrueOrFalse:
    description = "true: only collections that the storefront shows (STOREFRONT_COLLECTIONS)"
    return TrueOrFalse(description, True, data_key="shown", load_default=False)


class Form(NamedTuple):
    """A form in which a body can name NFTs."""

    name: str  # in the OpenAPI document
    chosen_by: str  # the field that only this form has
    required: tuple[str, ...] = ()  # other fields that not every form has
    optional: tuple[str, ...] = ()
    is_of_several: bool = True  # NFTs; the first form never is

    @property
    def fields(self) -> set[str]:
        return {self.chosen_by, *self.required, *self.optional}


class NftsSchema(RequestSchema):
    """A body that names NFTs in one of several forms. It is loaded with ``nft_ids`` in their place."""

    forms: ClassVar[Sequence[Form]]

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def require_one_form(self, loaded: Any, original: Any, **kwargs: Any) -> None:
        """Raise ValidationError for a mixture of two forms, and for a form that lacks a field."""
        if not isinstance(original, Mapping):
            return
        keys = {name: field.data_key for name, field in self.fields.items()}
        given = {name for name, key in keys.items() if key in original}
        chosen = next((form for form in self.forms if form.chosen_by in given), self.forms[0])
        others = set().union(*(form.fields for form in self.forms)) - chosen.fields
        if mixed := sorted(given & others):
            beside = f"cannot be combined with {keys[chosen.chosen_by]}"
            raise ValidationError({keys[name]: [beside] for name in mixed})
        missing = {keys[name]: ["is required"] for name in chosen.required if name not in given}
        if chosen.chosen_by not in given:
            forms = [form for form in self.forms[1:] if form.is_of_several]
            several = " or ".join(str(keys[form.chosen_by]) for form in forms)
            missing[keys[chosen.chosen_by]] = [f"is required, or {several} for several NFTs"]
        if missing:
            raise ValidationError(missing)

    @post_load
    def name_nfts(self, loaded: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        if "offer_id" in loaded:
            return loaded | {"nft_ids": []}
        token, serial_no = loaded.pop("token", ""), loaded.pop("serial_no", 0)
        serial_nos, nfts = loaded.pop("serial_nos", (serial_no,)), loaded.pop("nfts", ())
        listed = [NftId(nft["token"], nft["serial_no"]) for nft in nfts]
        return loaded | {"nft_ids": listed or [NftId(token, number) for number in serial_nos]}


def serial_nos_field(example: Sequence[int] = (7, 8)) -> SerialNumbers:
    description = f"Up to {MAX_APPROVED_SERIALS} serial numbers of NFTs within the token"
    return SerialNumbers(description, example, most=MAX_APPROVED_SERIALS)


Kind = TypeVar("Kind", bound=fields.Field[Any])
DATE_EXAMPLE = "2026-11-20T12:34:56.789Z"


def show(
    kind: type[Kind],
    description: str,
    example: object,
    key: str | None = None,
    nullable: bool = False,
    **more: Any,
) -> Kind:
    """A field that every response has. ``key`` is its name on the wire, if that is not its camelCase name."""
    metadata = {"description": description, "example": example, **more}
    return kind(data_key=key, required=True, allow_none=nullable, metadata=metadata)


def text(
    description: str, example: str | None, key: str | None = None, **more: Any
) -> fields.String:
    return show(fields.String, description, example, key, **more)


def word(
    description: str, example: str, known: Sequence[str], key: str | None = None
) -> fields.String:
    """A word of a list that may grow: a string, since generated clients refuse what an enum lacks."""
    return text(
        f"{description}. Known values, to which more may be added: {', '.join(known)}", example, key
    )


def integer(description: str, example: int, **more: Any) -> fields.Integer:
    return show(fields.Integer, description, example, format="int64", **more)


def total(description: str, example: int, nullable: bool = False) -> fields.Integer:
    return integer(description, example, nullable=nullable, minimum=0)


def hbar_or_null(description: str, example: int) -> fields.Integer:
    return integer(description, example, nullable=True)


def moment(description: str, example: str = DATE_EXAMPLE, **more: Any) -> Milliseconds:
    return show(Milliseconds, description, example, **more, format="date-time")


def nested(schema: type[Schema], description: str, **options: Any) -> fields.Nested:
    """An object that every response has. If ``allow_none`` is set, it may be null."""
    return fields.Nested(schema, required=True, metadata={"description": description}, **options)


def account(schema: type[Schema], description: str, **options: Any) -> Wrapped:
    """An account that every response has: an object, of which a row has the id."""
    return Wrapped(schema, required=True, metadata={"description": description}, **options)


def each(schema: type[Schema], description: str, **options: Any) -> fields.List[Any]:
    """A list of objects that every response has."""
    metadata = {"description": description}
    return fields.List(fields.Nested(schema), required=True, metadata=metadata, **options)


def image_field(description: str, key: str = "imageUrl", nullable: bool = False) -> MediaUrl:
    return show(MediaUrl, description, "http://127.0.0.1:8000/media/5f2c.webp", key, nullable)


def token_id() -> fields.String:
    return text("The collection's token ID", "0.0.5001")


def serial_number() -> fields.Integer:
    return integer("The NFT's serial number within the token", 7)


class AccountSchema(CamelCaseSchema):
    account_id = text("The account's ID", "0.0.1001")


def account_or_null(description: str, key: str | None = None) -> fields.Nested:
    return account(AccountSchema, description, data_key=key, allow_none=True)


class SigningMetadataSchema(CamelCaseSchema):
    """Instructions for the wallet."""

    account_id = text("The account that must sign the transaction", "0.0.1001", key="accountToSign")
    return_transaction = show(
        fields.Boolean,
        "Whether the wallet must return the transaction. false: the wallet submits the transaction itself",
        False,
    )
    transaction_id = text("The transaction's ID", "0.0.1001@1763640000.123456789")
    expires_at = moment("The time in UTC until which the transaction can be submitted")
    network = word("The Hedera network on which the transaction is valid", "sandbox", [*NETWORKS])


class PreparedTransactionSchema(CamelCaseSchema):
    """A transaction to be signed."""

    transaction = show(
        Base64,
        "The transaction, not yet signed by accountToSign: a HAPI TransactionList in base64",
        "CkEqPwo7Cg8KCAiA98TVBhAFEgMY6Qc...",
        key="byteArray",
    )
    metadata = fields.Nested(SigningMetadataSchema, required=True)

    def dump(self, obj: Any, *, many: bool | None = None) -> Any:
        """Dump a PreparedTransaction of market/prepared.py."""
        network = current_app.config["NETWORK"]
        metadata = vars(obj) | {"expires_at": obj.expires_at, "network": network}
        return super().dump({"transaction": obj.transaction, "metadata": metadata})


class OfferMetadataSchema(SigningMetadataSchema):
    offer_id = text("The offer's ID, which is its schedule's", "0.0.8001")


class PreparedOfferSchema(PreparedTransactionSchema):
    """A transaction about an offer, to be signed."""

    metadata = fields.Nested(OfferMetadataSchema, required=True)
