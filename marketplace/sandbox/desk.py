"""What a wallet developer does at the sandbox: sign with a demo wallet, submit, move an NFT away."""

import base64
import binascii

from marshmallow import Schema, fields

from marketplace import times
from marketplace.api import Blueprint
from marketplace.sandbox import consensus, wallet
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
