"""HAPI's messages, and their bytes as the JavaScript SDK would write them.

Python omits fields that are zero; the JavaScript SDK writes them. Some wallets encode the body again before
they sign it (hedera_signTransaction in hedera-wallet-connect). If their bytes differed from ours, the ledger
would answer INVALID_SIGNATURE. Messages in, bytes out: no I/O.
"""

from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hiero_sdk_python.hapi.sdk.transaction_list_pb2 import TransactionList
from hiero_sdk_python.hapi.services.basic_types_pb2 import (
    AccountID,
    Key,
    ScheduleID,
    TokenID,
    TopicID,
)
from hiero_sdk_python.hapi.services.timestamp_pb2 import Timestamp
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction
from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction, TransactionBody

from marketplace.hedera import times
from marketplace.hedera.ids import numbers

ZEROS_WRITTEN = {
    "AccountID": ("shardNum", "realmNum"),
    "TokenID": ("shardNum", "realmNum"),
    "ScheduleID": ("shardNum", "realmNum"),
    "TransactionID": ("scheduled",),
    "AccountAmount": ("is_approval",),
    "Timestamp": ("seconds", "nanos"),
}
VARINT, LENGTH_DELIMITED = 0, 2


def account(account_id: str) -> AccountID:
    shard, realm, number = numbers(account_id)
    return AccountID(shardNum=shard, realmNum=realm, accountNum=number)


def token(token_id: str) -> TokenID:
    shard, realm, number = numbers(token_id)
    return TokenID(shardNum=shard, realmNum=realm, tokenNum=number)


def schedule(schedule_id: str) -> ScheduleID:
    shard, realm, number = numbers(schedule_id)
    return ScheduleID(shardNum=shard, realmNum=realm, scheduleNum=number)


def topic(topic_id: str) -> TopicID:
    shard, realm, number = numbers(topic_id)
    return TopicID(shardNum=shard, realmNum=realm, topicNum=number)


def timestamp(moment: int) -> Timestamp:
    """``moment`` is in nanoseconds since 1970."""
    seconds, nanos = divmod(moment, times.SECOND)
    return Timestamp(seconds=seconds, nanos=nanos)


def public_key(content: bytes) -> Key:
    """The key of 32 bytes (ED25519) or 33 (ECDSA)."""
    return Key(ed25519=content) if len(content) == 32 else Key(ECDSA_secp256k1=content)


def key(kind: str, content: bytes) -> Key:
    """An account's key as the mirror node shows it: of a kind, or any other one as its protobuf."""
    if kind == "ProtobufEncoded":
        return Key.FromString(content)
    return public_key(content)


def encode(message: Message) -> bytes:
    """Serialize as protobuf does, field by field in the order of their numbers, plus ZEROS_WRITTEN."""
    written: dict[str, tuple[Any, Any]] = {
        field.name: (field, value) for field, value in message.ListFields()
    }
    for name in ZEROS_WRITTEN.get(message.DESCRIPTOR.name, ()):
        written.setdefault(name, (message.DESCRIPTOR.fields_by_name[name], 0))
    return b"".join(
        _encode_field(field, value)
        for field, value in sorted(written.values(), key=lambda pair: pair[0].number)
    )


def list_forms(body: bytes) -> tuple[bytes, bytes]:
    """The two forms in which SDKs write a body of ours: as encode() does, and as Java does, without zeros."""
    return body, TransactionBody.FromString(body).SerializeToString(deterministic=True)


def write_list(signed: SignedTransaction) -> bytes:
    """Write the bytes of a HAPI TransactionList of one: what an SDK's Transaction.fromBytes() reads."""
    signed.sigMap.SetInParent()  # writes the signature map even if it is empty
    transaction = Transaction(signedTransactionBytes=signed.SerializeToString())
    return bytes(TransactionList(transaction_list=[transaction]).SerializeToString())


def _encode_field(field: FieldDescriptor, value: Any) -> bytes:
    if isinstance(value, int):
        number = _zigzag(value) if field.type == FieldDescriptor.TYPE_SINT64 else int(value)
        return _varint(field.number << 3 | VARINT) + _varint(number)
    if isinstance(value, Message):
        content = encode(value)
    elif isinstance(value, str):
        content = value.encode()
    elif isinstance(value, bytes):
        content = value
    elif isinstance(value[0], Message):
        return b"".join(_encode_field(field, item) for item in value)
    else:
        content = b"".join(map(_varint, value))  # packed
    return _varint(field.number << 3 | LENGTH_DELIMITED) + _varint(len(content)) + content


def _zigzag(number: int) -> int:
    return 2 * number if number >= 0 else -2 * number - 1


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
