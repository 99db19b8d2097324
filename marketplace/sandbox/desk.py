"""What a wallet developer does at the sandbox: look inside a transaction, sign, submit, move an NFT."""

import base64
import binascii

from marshmallow import Schema, fields

from marketplace import times
from marketplace.api import Blueprint
from marketplace.sandbox import consensus, decoding, wallet
from marketplace.sandbox.consensus import Unreadable
from marketplace.schemas import (
    RequestSchema,
    Strict,
    account_id_field,
    serial_no_field,
    token_field,
)

blp = Blueprint(
    "Sandbox", __name__, description="A small Hedera for one's own desk; asks for no token"
)


class SignedBytes(Strict, fields.String):
    """Base64 of an SDK's transaction.toBytes()."""

    expected = "base64 of a transaction's bytes"

    def _deserialize(self, value, attr, data, **kwargs):
        try:
            content = base64.b64decode(value, validate=True)
            for transaction in consensus.read_list(content):
                consensus.open_transaction(transaction)
        except (TypeError, ValueError, binascii.Error, Unreadable):
            self.refuse(value)
        return content

    def _serialize(self, value, attr, obj, **kwargs):
        return base64.b64encode(value).decode()


def transaction_field():
    return SignedBytes(
        required=True,
        metadata={
            "description": "Base64 of the transaction's bytes",
            "example": "CldVCjcKFQoICJ...",
        },
    )


class DecodeSchema(RequestSchema):
    transaction = transaction_field()


class SubmitSchema(RequestSchema):
    transaction = transaction_field()


class SignSchema(RequestSchema):
    account_id = account_id_field("Account to sign for")
    transaction = transaction_field()


class SignatureSchema(Schema):
    transaction = transaction_field()


class TransferSchema(RequestSchema):
    token = token_field()
    serial_no = serial_no_field()
    account_id = account_id_field("Account that gets the NFT")


def _told(kind, description, example, data_key=None, allow_none=False):
    return kind(
        data_key=data_key,
        required=True,
        allow_none=allow_none,
        metadata={"description": description, "example": example},
    )


class ApprovalSchema(Schema):
    """One NFT allowance of a transaction."""

    token = _told(fields.String, "Token id of the collection", "0.0.5001", "tokenId")
    serial_nos = fields.List(
        fields.Integer,
        data_key="serialNumbers",
        required=True,
        metadata={"description": "Serial numbers that may be spent", "example": [7]},
    )
    owner = _told(fields.String, "Account that owns the NFT", "0.0.1001")
    spender = _told(fields.String, "Account that may spend it", "0.0.9001")
    is_for_all = _told(
        fields.Boolean,
        "The whole collection: true approves, false revokes, null leaves it as it is",
        None,
        "approvedForAll",
        allow_none=True,
    )


class DecodedSchema(Schema):
    """What a wallet is asked to sign."""

    type = _told(
        fields.String,
        "Kind of transaction, as mirror nodes name it; null when it has none",
        "CRYPTOAPPROVEALLOWANCE",
        allow_none=True,
    )
    transaction_id = _told(
        fields.String, "Transaction id", "0.0.1001@1763640000.123456789", "transactionId"
    )
    valid_from = _told(
        fields.String,
        "When it may be submitted first; null when that is no date",
        "2026-11-20T12:34:56.789012345Z",
        "validFrom",
        allow_none=True,
    )
    valid_until = _told(
        fields.String,
        "When it may be submitted last; null when that is no date",
        "2026-11-20T12:37:56.789012345Z",
        "validUntil",
        allow_none=True,
    )
    valid_seconds = _told(fields.Integer, "How long it is valid", 180, "validSeconds")
    memo = _told(
        fields.String,
        "Memo",
        "Listing NFT with 0.0.5001 and Serial Number 7 for 250 HBAR on NFT Marketplace",
    )
    max_fee_tinybars = _told(
        fields.Integer, "The most it may cost, in tinybars", 500_000_000, "maxFeeTinybars"
    )
    node_account_ids = fields.List(
        fields.String,
        data_key="nodeAccountIds",
        required=True,
        metadata={"description": "Nodes it may be submitted to", "example": ["0.0.3"]},
    )
    size_bytes = _told(fields.Integer, "Size of all its bytes", 225, "sizeBytes")
    signed_by = fields.List(
        fields.String,
        data_key="signedBy",
        required=True,
        metadata={"description": "Public keys that have signed, hexadecimal", "example": []},
    )
    approvals = fields.List(
        fields.Nested(ApprovalSchema),
        required=True,
        metadata={"description": "The NFT allowances it gives"},
    )


class ReceiptSchema(Schema):
    transaction_id = fields.String(
        data_key="transactionId",
        required=True,
        metadata={"description": "Transaction id", "example": "0.0.1001@1763640000.123456789"},
    )
    result = fields.String(
        required=True,
        metadata={"description": "The ledger's result code", "example": "SUCCESS"},
    )


@blp.post("/decode")
@blp.body(DecodeSchema)
@blp.response(200, DecodedSchema, description="What the transaction says")
def decode_transaction(transaction):
    """Look inside a transaction

    Signed or not. What a wallet shows before it signs: kind, NFT, owner, spender, memo, fee, validity.
    """
    return decoding.decode(transaction)


@blp.post("/transactions")
@blp.body(SubmitSchema)
@blp.response(200, ReceiptSchema, description="What the ledger made of it")
def submit_transaction(transaction):
    """Submit a signed transaction

    The bytes of any Hedera SDK, for one node or several, signed with ED25519 or ECDSA keys. The first key
    that signs for an account becomes its key.
    """
    return consensus.submit(transaction, times.now())


@blp.post("/sign")
@blp.body(SignSchema)
@blp.response(200, SignatureSchema, description="The signed transaction")
def sign_transaction(account_id, transaction):
    """Sign with the demo wallet

    For those who have no wallet at hand. The keys are derived from the account id, and worth nothing.
    """
    return {"transaction": wallet.sign(account_id, transaction)}


@blp.post("/transfers")
@blp.body(TransferSchema)
@blp.response(200, ReceiptSchema, description="The NFT was moved")
def transfer_nft(token, serial_no, account_id):
    """Move an NFT to another account

    As a sale elsewhere would: its owner is not asked, and the approval of the serial is gone.
    """
    return consensus.hand_over(token, serial_no, account_id, times.now())
