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


Describe = tuple[type[fields.Field[Any]], str, object]


def _response(name: str, described: dict[str, Describe]) -> type[Schema]:
    """A schema of fields, each with its kind, its description and an example."""
    made = {}
    for field, (kind, description, example) in described.items():
        options: dict[str, Any] = {"metadata": {"description": description, "example": example}}
        options |= {"required": True, "allow_none": "null when" in description}
        made[field] = fields.List(fields.Raw(), **options) if kind is LIST else kind(**options)
    return Schema.from_dict(made, name=name)


LIST = fields.List
_ID = (fields.String, "Transaction id", "0.0.1001@1763640000.123456789")
_MEMO = "Listing NFT with 0.0.5001 and Serial Number 7 for 250 HBAR on NFT Marketplace"
_FROM, _UNTIL = "2026-11-20T12:34:56.789012345Z", "2026-11-20T12:37:56.789012345Z"
_APPROVAL = {"tokenId": "0.0.5001", "serialNumbers": [7], "owner": "0.0.1001"}
_NFT = {"tokenId": "0.0.5001", "serialNumber": 7, "sender": "0.0.1001", "receiver": "0.0.1002"}

DecodedTransactionSchema = _response(
    "DecodedTransaction",
    {
        "type": (
            fields.String,
            "Type of transaction, as mirror nodes name it; null when it has none",
            "CRYPTOAPPROVEALLOWANCE",
        ),
        "transactionId": _ID,
        "payer": (fields.String, "Account that pays the fee", "0.0.1001"),
        "validFrom": (fields.String, "Begin of its validity; null when that is no date", _FROM),
        "validUntil": (fields.String, "End of its validity; null when that is no date", _UNTIL),
        "validSeconds": (fields.Integer, "How long it is valid", 180),
        "memo": (fields.String, "Memo", _MEMO),
        "maxFeeTinybars": (fields.Integer, "The most it may cost, in tinybars", 500_000_000),
        "nodeAccountIds": (LIST, "Nodes it may be submitted to", ["0.0.3"]),
        "sizeBytes": (fields.Integer, "Size of all its bytes", 225),
        "signedBy": (LIST, "Public keys that have signed, hexadecimal", []),
        "approvals": (
            LIST,
            "The NFT allowances it gives; `approvedForAll` is null where the whole collection stays as it is",
            [_APPROVAL | {"spender": "0.0.9001", "approvedForAll": None}],
        ),
        "deletedApprovals": (LIST, "The NFT allowances it deletes", [_APPROVAL]),
        "hbarTransfers": (
            LIST,
            "The tinybars it moves, without the fee, and without royalties",
            [{"accountId": "0.0.1001", "amount": 25_000_000_000}],
        ),
        "nftTransfers": (LIST, "The NFTs it moves", [_NFT | {"isApproval": True}]),
    },
)
TransactionReceiptSchema = _response(
    "TransactionReceipt",
    {
        "transactionId": _ID,
        "result": (fields.String, "The ledger's result code", "SUCCESS"),
    },
)
