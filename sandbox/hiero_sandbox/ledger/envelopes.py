"""Takes transactions out of their envelopes: an SDK's list, HAPI's Transaction, signed bytes, the body."""

import hashlib
from typing import NamedTuple

from google.protobuf.message import DecodeError, Message
from hiero_sdk_python.hapi.sdk.transaction_list_pb2 import TransactionList
from hiero_sdk_python.hapi.services.basic_types_pb2 import (
    AccountID,
    FileID,
    ScheduleID,
    SignaturePair,
    TokenID,
    TopicID,
    TransactionID,
)
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction
from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction, TransactionBody
from hiero_sdk_python.hapi.services.transaction_record_pb2 import TransactionRecord

from hiero_sandbox.ids import TransactionId

Id = AccountID | FileID | ScheduleID | TokenID | TopicID
# The mirror nodes' names of the types of transactions, by their field of the body.
TYPES = {
    field.name: field.name.replace("_", "").upper()
    for field in TransactionBody.DESCRIPTOR.oneofs_by_name["data"].fields
}


class Refused(Exception):
    """A result code other than SUCCESS, of HAPI's ResponseCodeEnum, and what its record has all the same."""

    def __init__(self, code: str, record: TransactionRecord | None = None) -> None:
        super().__init__(code)
        self.record = record or TransactionRecord()


def refuse_if(condition: object, code: str) -> None:
    """Refuse with a result code, as a consensus node's validateFalse() does."""
    if condition:
        raise Refused(code)


class Unreadable(ValueError):
    """The bytes are not those of a transaction. ``code`` is a node's."""

    def __init__(self, message: str, code: str = "INVALID_TRANSACTION") -> None:
        super().__init__(message)
        self.code = code


class Signed(NamedTuple):
    """One signed transaction, taken out of its envelopes."""

    body: TransactionBody
    body_bytes: bytes
    pairs: list[SignaturePair]
    size: int
    hash: bytes
    signatories: frozenset[bytes] = (
        frozenset()
    )  # public keys that have signed before: of a schedule
    has_unknown_fields: bool = False
    has_signature_map: bool = True

    @property
    def id(self) -> TransactionId:
        return read_transaction_id(self.body.transactionID)


def read_list(content: bytes) -> list[Transaction]:
    """Read an SDK's bytes: a TransactionList, or a single Transaction. Raises Unreadable."""
    try:
        transactions = list(TransactionList.FromString(content).transaction_list)
        first = transactions[0] if transactions else Transaction()
        is_former = first.bodyBytes and first.HasField("sigMap")
        if not first.signedTransactionBytes and not is_former:
            transactions = [Transaction.FromString(content)]
    except DecodeError:
        raise Unreadable("is not the bytes of a Hedera transaction") from None
    for transaction in transactions:
        if not transaction.signedTransactionBytes and not transaction.bodyBytes:
            raise Unreadable("holds no signed transaction", "INVALID_TRANSACTION_BODY")
    return transactions


def open_signed(transaction: Transaction) -> SignedTransaction | Transaction:
    """What has the bytes of the body and the signatures. In HAPI's former form it is the transaction itself.

    Nodes take both forms, and refuse a mixture (TransactionChecker). Raises DecodeError, Unreadable.
    """
    if not transaction.signedTransactionBytes:
        return transaction
    if transaction.bodyBytes or transaction.HasField("sigMap"):
        raise Unreadable("has its body twice")
    signed = SignedTransaction.FromString(transaction.signedTransactionBytes)
    if signed.use_serialized_tx_message_hash_algorithm:
        code = "INVALID_SERIALIZED_TX_MESSAGE_HASH_ALGORITHM"
        raise Unreadable("chooses how it is hashed", code)
    return signed


def open_transaction(transaction: Transaction) -> Signed:
    """Take a transaction out of its envelopes. Raises Unreadable."""
    code = "INVALID_TRANSACTION"
    try:
        signed = open_signed(transaction)
        code = "INVALID_TRANSACTION_BODY"
        body = TransactionBody.FromString(signed.bodyBytes)
    except DecodeError:
        raise Unreadable("holds no transaction body", code) from None
    if not body.HasField("transactionID"):
        raise Unreadable(
            "has no transaction id", "INVALID_TRANSACTION_ID" if body.WhichOneof("data") else code
        )
    size = transaction.ByteSize()
    return Signed(
        body,
        signed.bodyBytes,
        list(signed.sigMap.sigPair),
        size,
        _hash(transaction),
        has_unknown_fields=any([*map(_drop_unknown_fields, (transaction, signed, body))]),
        has_signature_map=signed.HasField("sigMap"),
    )


def _hash(transaction: Transaction) -> bytes:
    """The hash of the signed bytes; in the former form, of the transaction with nothing else."""
    content = transaction.signedTransactionBytes
    if not content:
        former = Transaction(bodyBytes=transaction.bodyBytes, sigMap=transaction.sigMap)
        content = former.SerializeToString()
    return hashlib.sha384(content).digest()


def _drop_unknown_fields(message: Message) -> bool:
    """Leave out what another version of HAPI may know. Returns whether there was anything."""
    size = message.ByteSize()
    message.DiscardUnknownFields()
    return bool(message.ByteSize() != size)


def read_transaction_id(proto: TransactionID) -> TransactionId:
    start = proto.transactionValidStart
    return TransactionId(write_id(proto.accountID), start.seconds, start.nanos)


def write_id(proto: Id) -> str:
    """Write a protobuf id, such as a TokenID, as text; an alias in hexadecimal."""
    number = getattr(proto, "alias", b"").hex() or number_of(proto)
    return f"{proto.shardNum}.{proto.realmNum}.{number}"


def number_of(proto: Id) -> int:
    name = proto.DESCRIPTOR.name.removesuffix("ID").lower()
    return int(getattr(proto, f"{name}Num"))
