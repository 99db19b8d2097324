"""The wire format of the sandbox's desk: what its requests and answers hold."""

import base64
import binascii

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

MAX_METADATA = 100  # bytes; HAPI TokenUpdateNftsTransactionBody


class SignedBytes(Strict, fields.String):
    """Base64 of an SDK's transaction.toBytes()."""

    expected = "base64 of a transaction's bytes"

    def _deserialize(self, value, attr, data, **kwargs):
        try:
            content = base64.b64decode(value, validate=True)
            for transaction in read_list(content):
                open_transaction(transaction)
        except (TypeError, ValueError, binascii.Error, Unreadable):
            self.refuse(value)
        return content

    def _serialize(self, value, attr, obj, **kwargs):
        return base64.b64encode(value).decode()


def transaction_field(example):
    return SignedBytes(
        required=True,
        metadata={
            "description": "Base64 of the transaction's bytes",
            "example": base64.b64encode(example).decode(),
        },
    )


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
    token = token_field(examples.OTHER_TOKEN)
    serial_no = serial_no_field()
    account_id = account_id_field("Account that gets the NFT")


class AutomaticAssociations(Strict, fields.Integer):
    """How many tokens transfers may associate an account with, as the network counts them."""

    most = 5000
    expected = f"an integer from -1 to {most}"

    def _deserialize(self, value, attr, data, **kwargs):
        if type(value) is not int or not -1 <= value <= self.most:
            self.refuse(value)
        return value


class ChangeAccountSchema(RequestSchema):
    account_id = account_id_field("Account to change", examples.CHANGED_ACCOUNT)
    automatic_associations = AutomaticAssociations(
        data_key="maxAutomaticTokenAssociations",
        required=True,
        metadata={
            "description": "How many tokens a transfer may associate the account with: -1 any number,"
            " 0 none, so that it must associate itself first",
            "example": 0,
            "minimum": -1,
            "maximum": AutomaticAssociations.most,
        },
    )


class DeleteTokenSchema(RequestSchema):
    token = token_field(examples.DELETED_TOKEN)


class Pointer(Strict, fields.String):
    """What leads to an NFT's metadata, as HAPI takes it: at most 100 bytes."""

    expected = "a text of at most 100 bytes"

    def _deserialize(self, value, attr, data, **kwargs):
        if not isinstance(value, str) or len(value.encode(errors="surrogatepass")) > MAX_METADATA:
            self.refuse(value)
        return value.encode(errors="ignore").decode()


class UpdateNftSchema(RequestSchema):
    token = token_field(examples.OTHER_TOKEN)
    serial_no = serial_no_field()
    metadata = Pointer(
        metadata={
            "description": "What the NFT's metadata leads to from now on, such as the address of a document",
            "example": "ipfs://bafkqacjqfyyc4nzqgayq/8.json",
        },
    )


class Oddity(Strict, fields.String):
    """One of the ways to answer that are rare, and real."""

    kinds = ("PARTIAL_HISTORY", "METADATA_NULL", "IMPOSSIBLE_ID")
    expected = "PARTIAL_HISTORY, METADATA_NULL or IMPOSSIBLE_ID"

    def _deserialize(self, value, attr, data, **kwargs):
        if value not in self.kinds:
            self.refuse(value)
        return value


class MakeNftOddSchema(RequestSchema):
    token = token_field(examples.OTHER_TOKEN)
    serial_no = serial_no_field()
    kind = Oddity(
        data_key="oddity",
        required=True,
        metadata={
            "description": "PARTIAL_HISTORY: it was minted before the mirror node began, so that its"
            " history is a 206. METADATA_NULL: its metadata is null. IMPOSSIBLE_ID: its token's id is one"
            " that no network can have, a 400",
            "enum": [*Oddity.kinds],
            "example": "PARTIAL_HISTORY",
        },
    )


class Lag(Strict, fields.Integer):
    """For how many seconds the mirror node's list of transactions may be behind."""

    most = 3600
    expected = f"an integer from 0 to {most}"

    def _deserialize(self, value, attr, data, **kwargs):
        if type(value) is not int or not 0 <= value <= self.most:
            self.refuse(value)
        return value


class LagSchema(RequestSchema):
    seconds = Lag(
        required=True,
        metadata={
            "description": "How far the list of transactions is behind: 0 ends it",
            "example": 0,
            "minimum": 0,
            "maximum": Lag.most,
        },
    )


def _answered(kind, description, example, data_key=None, allow_none=False):
    return kind(
        data_key=data_key,
        required=True,
        allow_none=allow_none,
        metadata={"description": description, "example": example},
    )


class NftAllowanceSchema(Schema):
    """One NFT allowance of a transaction."""

    token = _answered(fields.String, "Token id of the collection", "0.0.5001", "tokenId")
    serial_nos = fields.List(
        fields.Integer,
        data_key="serialNumbers",
        required=True,
        metadata={"description": "Serial numbers that may be spent", "example": [7]},
    )
    owner = _answered(fields.String, "Account that owns the NFT", "0.0.1001")
    spender = _answered(fields.String, "Account that may spend it", "0.0.9001")
    is_for_all = _answered(
        fields.Boolean,
        "The whole collection: true approves, false revokes, null leaves it as it is",
        None,
        "approvedForAll",
        allow_none=True,
    )


class DeletedApprovalSchema(Schema):
    """One NFT allowance that a transaction deletes."""

    token = _answered(fields.String, "Token id of the collection", "0.0.5001", "tokenId")
    serial_nos = fields.List(
        fields.Integer,
        data_key="serialNumbers",
        required=True,
        metadata={"description": "Serial numbers that nobody may spend any more", "example": [7]},
    )
    owner = _answered(fields.String, "Account that owns the NFT", "0.0.1001")


class HbarTransferSchema(Schema):
    """What a transaction gives to an account, or takes from it."""

    account_id = _answered(fields.String, "Account", "0.0.1001", "accountId")
    amount = _answered(fields.Integer, "Tinybars; below zero where they are taken", 25_000_000_000)


class NftTransferSchema(Schema):
    """An NFT that a transaction moves."""

    token = _answered(fields.String, "Token id of the collection", "0.0.5001", "tokenId")
    serial_no = _answered(fields.Integer, "Serial number", 7, "serialNumber")
    sender = _answered(fields.String, "Account that gives it", "0.0.1001")
    receiver = _answered(fields.String, "Account that gets it", "0.0.1002")
    is_approval = _answered(
        fields.Boolean,
        "Whether the payer moves it, by the owner's allowance, and not its owner",
        True,
        "isApproval",
    )


class DecodedTransactionSchema(Schema):
    """What a wallet is asked to sign."""

    type = _answered(
        fields.String,
        "Kind of transaction, as mirror nodes name it; null when it has none",
        "CRYPTOAPPROVEALLOWANCE",
        allow_none=True,
    )
    transaction_id = _answered(
        fields.String, "Transaction id", "0.0.1001@1763640000.123456789", "transactionId"
    )
    payer = _answered(fields.String, "Account that pays the fee", "0.0.1001")
    valid_from = _answered(
        fields.String,
        "When it may be submitted first; null when that is no date",
        "2026-11-20T12:34:56.789012345Z",
        "validFrom",
        allow_none=True,
    )
    valid_until = _answered(
        fields.String,
        "When it may be submitted last; null when that is no date",
        "2026-11-20T12:37:56.789012345Z",
        "validUntil",
        allow_none=True,
    )
    valid_seconds = _answered(fields.Integer, "How long it is valid", 180, "validSeconds")
    memo = _answered(
        fields.String,
        "Memo",
        "Listing NFT with 0.0.5001 and Serial Number 7 for 250 HBAR on NFT Marketplace",
    )
    max_fee_tinybars = _answered(
        fields.Integer, "The most it may cost, in tinybars", 500_000_000, "maxFeeTinybars"
    )
    node_account_ids = fields.List(
        fields.String,
        data_key="nodeAccountIds",
        required=True,
        metadata={"description": "Nodes it may be submitted to", "example": ["0.0.3"]},
    )
    size_bytes = _answered(fields.Integer, "Size of all its bytes", 225, "sizeBytes")
    signed_by = fields.List(
        fields.String,
        data_key="signedBy",
        required=True,
        metadata={"description": "Public keys that have signed, hexadecimal", "example": []},
    )
    approvals = fields.List(
        fields.Nested(NftAllowanceSchema),
        required=True,
        metadata={"description": "The NFT allowances it gives"},
    )
    deleted_approvals = fields.List(
        fields.Nested(DeletedApprovalSchema),
        data_key="deletedApprovals",
        required=True,
        metadata={"description": "The NFT allowances it deletes"},
    )
    hbar_transfers = fields.List(
        fields.Nested(HbarTransferSchema),
        data_key="hbarTransfers",
        required=True,
        metadata={"description": "The HBAR it moves, without the fee, and without royalties"},
    )
    nft_transfers = fields.List(
        fields.Nested(NftTransferSchema),
        data_key="nftTransfers",
        required=True,
        metadata={"description": "The NFTs it moves"},
    )


class TransactionReceiptSchema(Schema):
    """What the ledger made of a transaction."""

    transaction_id = fields.String(
        data_key="transactionId",
        required=True,
        metadata={"description": "Transaction id", "example": "0.0.1001@1763640000.123456789"},
    )
    result = fields.String(
        required=True,
        metadata={"description": "The ledger's result code", "example": "SUCCESS"},
    )
