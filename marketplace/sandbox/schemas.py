"""The wire format of the sandbox's API: the fields of its requests and responses."""

import base64
import binascii
from typing import Any

from marshmallow import Schema, fields

from marketplace.api.fields import Strict
from marketplace.api.request_schemas import (
    RequestSchema,
    account_id_field,
    serial_no_field,
    token_field,
)
from marketplace.sandbox import examples
from marketplace.sandbox.ledger.envelopes import Unreadable, open_transaction, read_list


class SignedBytes(Strict, fields.String):
    """Base64 of an SDK's transaction.toBytes()."""

    expected = "base64 of a transaction's bytes"

    def read(self, value: Any) -> bytes | None:
        try:
            content = base64.b64decode(value, validate=True)
            for transaction in read_list(content):
                open_transaction(transaction)
        except (TypeError, ValueError, binascii.Error, Unreadable):
            return None
        return content

    def _serialize(self, value: Any, attr: str | None, obj: Any, **kwargs: Any) -> str:
        return base64.b64encode(value).decode()


def transaction_field(example: bytes) -> SignedBytes:
    encoded = base64.b64encode(example).decode()
    description = "Base64 of the transaction's bytes"
    return SignedBytes(required=True, metadata={"description": description, "example": encoded})


class DecodeTransactionSchema(RequestSchema):
    transaction = transaction_field(examples.PREPARED)


class SubmitTransactionSchema(RequestSchema):
    transaction = transaction_field(examples.SIGNED)


class SignTransactionSchema(RequestSchema):
    account_id = account_id_field("Account to sign for")
    transaction = transaction_field(examples.PREPARED)


class SignedTransactionSchema(Schema):
    """A transaction with one signature more."""

    transaction = transaction_field(examples.SIGNED)


class TransferNftSchema(RequestSchema):
    token = token_field(examples.OTHER_COLLECTION)
    serial_no = serial_no_field()
    account_id = account_id_field("Account that gets the NFT")


class ResponseSchema(Schema):
    """Writes its fields' names in camel case: tokenId."""

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        first, *others = field_name.split("_")
        field_obj.data_key = first + "".join(map(str.title, others))


def _options(description: str, example: object, allow_none: bool = False) -> dict[str, Any]:
    metadata = {"description": description, "example": example}
    return {"required": True, "allow_none": allow_none, "metadata": metadata}


def _text(description: str, example: str, **options: bool) -> fields.String:
    return fields.String(**_options(description, example, **options))


def _number(description: str, example: int) -> fields.Integer:
    return fields.Integer(**_options(description, example))


def _list(kind: type[fields.Field[Any]], description: str, example: object) -> fields.List[Any]:
    return fields.List(kind, **_options(description, example))


def _objects(schema: type[Schema], description: str) -> fields.List[Any]:
    return fields.List(fields.Nested(schema), required=True, metadata={"description": description})


class DeletedApprovalSchema(ResponseSchema):
    """One NFT allowance that a transaction deletes."""

    token_id = _text("Token id of the collection", "0.0.5001")
    serial_numbers = _list(fields.Integer, "Serial numbers of the allowance", [7])
    owner = _text("Account that owns the NFT", "0.0.1001")


class NftAllowanceSchema(DeletedApprovalSchema):
    """One NFT allowance of a transaction."""

    spender = _text("Account that may spend it", "0.0.9001")
    approved_for_all = fields.Boolean(
        **_options(
            "The whole collection: true approves, false revokes, null leaves it as it is",
            None,
            allow_none=True,
        )
    )


class HbarTransferSchema(ResponseSchema):
    """Tinybars that a transaction gives to an account, or takes from it."""

    account_id = _text("Account", "0.0.1001")
    amount = _number("Tinybars; negative where they are taken", 25_000_000_000)


class NftTransferSchema(ResponseSchema):
    """An NFT that a transaction moves."""

    token_id = _text("Token id of the collection", "0.0.5001")
    serial_number = _number("Serial number", 7)
    sender = _text("Account that gives it", "0.0.1001")
    receiver = _text("Account that gets it", "0.0.1002")
    is_approval = fields.Boolean(
        **_options("Whether the payer moves it by the owner's allowance", True)
    )


class DecodedTransactionSchema(ResponseSchema):
    """A transaction, decoded."""

    type = _text(
        "Type of transaction, as mirror nodes name it; null when it has none",
        "CRYPTOAPPROVEALLOWANCE",
        allow_none=True,
    )
    transaction_id = _text("Transaction id", "0.0.1001@1763640000.123456789")
    payer = _text("Account that pays the fee", "0.0.1001")
    valid_from = _text(
        "Begin of its validity; null when that is no date",
        "2026-11-20T12:34:56.789012345Z",
        allow_none=True,
    )
    valid_until = _text(
        "End of its validity; null when that is no date",
        "2026-11-20T12:37:56.789012345Z",
        allow_none=True,
    )
    valid_seconds = _number("How long it is valid", 180)
    memo = _text(
        "Memo", "Listing NFT with 0.0.5001 and Serial Number 7 for 250 HBAR on NFT Marketplace"
    )
    max_fee_tinybars = _number("The most it may cost, in tinybars", 500_000_000)
    node_account_ids = _list(fields.String, "Nodes it may be submitted to", ["0.0.3"])
    size_bytes = _number("Size of all its bytes", 225)
    signed_by = _list(fields.String, "Public keys that have signed, hexadecimal", [])
    approvals = _objects(NftAllowanceSchema, "The NFT allowances it gives")
    deleted_approvals = _objects(DeletedApprovalSchema, "The NFT allowances it deletes")
    hbar_transfers = _objects(
        HbarTransferSchema, "The HBAR it moves, without the fee, and without royalties"
    )
    nft_transfers = _objects(NftTransferSchema, "The NFTs it moves")


class TransactionReceiptSchema(ResponseSchema):
    """The ledger's result of a transaction."""

    transaction_id = _text("Transaction id", "0.0.1001@1763640000.123456789")
    result = _text("The ledger's result code", "SUCCESS")
