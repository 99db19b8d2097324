"""The wire format of the sandbox's API: the fields of its requests and responses."""

import base64
from typing import Any

from marshmallow import Schema, fields

from hiero_sandbox import decoding, examples
from hiero_sandbox.ledger.accounts import FIRST_BALANCE
from hiero_sandbox.ledger.envelopes import open_transaction, read_list
from marketplace.api.fields import Base64, Strict, WholeNumber
from marketplace.api.request_schemas import (
    RequestSchema,
    account_id_field,
    serial_no_field,
    token_field,
)


class SignedBytes(Strict, Base64):
    """Base64 of an SDK's transaction.toBytes()."""

    expected = "base64 of a transaction's bytes"

    def read(self, value: Any) -> bytes | None:
        try:
            content = base64.b64decode(value, validate=True)
            for transaction in read_list(content):
                open_transaction(transaction)
        except (TypeError, ValueError):
            return None
        return content


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
    """The transaction with one more signature."""

    transaction = transaction_field(examples.SIGNED)


class TransferNftSchema(RequestSchema):
    token = token_field(examples.OTHER_COLLECTION)
    serial_no = serial_no_field()
    account_id = account_id_field("Account that gets the NFT")


class AddRewardSchema(RequestSchema):
    account_id = account_id_field("Account that has staked")
    amount = WholeNumber("Reward, in tinybars", 12_000_000, high=FIRST_BALANCE, required=True)


_APPROVAL = {"tokenId": "0.0.5001", "serialNumbers": [7], "owner": "0.0.1001"}
_NFT = {"tokenId": "0.0.5001", "serialNumber": 7, "sender": "0.0.1001", "receiver": "0.0.1002"}
# An example for each field: from a listing, or from another transaction if a listing has none.
EXAMPLES: dict[str, object] = decoding.decode(examples.PREPARED) | {
    "deletedApprovals": [_APPROVAL],
    "hbarTransfers": [{"accountId": "0.0.1001", "amount": 25_000_000_000}],
    "nftTransfers": [_NFT | {"isApproval": True}],
    "pendingReward": 12_000_000,
    "result": "SUCCESS",
}


def _response(name: str, **descriptions: str) -> type[Schema]:
    """A schema of these fields, each with its description. EXAMPLES gives their types."""
    made = {field: _field(field, description) for field, description in descriptions.items()}
    return Schema.from_dict(made, name=name)


def _field(name: str, description: str) -> fields.Field[Any]:
    example = EXAMPLES[name]
    options: dict[str, Any] = {"metadata": {"description": description, "example": example}}
    options |= {"required": True, "allow_none": "null when" in description}
    if isinstance(example, list):
        return fields.List(fields.Raw(), **options)
    return Schema.TYPE_MAPPING[type(example)](**options)


DecodedTransactionSchema = _response(
    "DecodedTransaction",
    type="Type of transaction, as mirror nodes name it; null when it has none",
    transactionId="Transaction id",
    payer="Account that pays the fee",
    validFrom="Start of its validity; null when that is no date",
    validUntil="End of its validity; null when that is no date",
    validSeconds="How long it is valid",
    memo="Memo",
    maxFeeTinybars="Maximum fee, in tinybars",
    nodeAccountIds="Nodes it may be submitted to",
    sizeBytes="Size in bytes, signatures included",
    signedBy="Public keys that have signed, hexadecimal",
    approvals=(
        "The NFT allowances it gives; `approvedForAll` is null if it does not set one for the collection"
    ),
    deletedApprovals="The NFT allowances it deletes",
    hbarTransfers="The tinybars it moves, without the fee and royalties",
    nftTransfers="The NFTs it moves",
)
TransactionReceiptSchema = _response(
    "TransactionReceipt", transactionId="Transaction id", result="The ledger's result code"
)
PendingRewardSchema = _response("PendingReward", pendingReward="Rewards not paid yet, in tinybars")
