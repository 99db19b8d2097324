"""Text and numbers in HAPI's messages, and back: ids, moments, keys."""

from google.protobuf.message import Message
from hiero_sdk_python.hapi.services.basic_types_pb2 import AccountID, Key, TokenID
from hiero_sdk_python.hapi.services.timestamp_pb2 import Timestamp

from marketplace import times
from marketplace.ids import MAX_INT64
from marketplace.sandbox.envelopes import number_of, write_id
from marketplace.sandbox.hapi.refusal import Refused


def account(account_id: str) -> AccountID:
    shard, realm, number = map(int, account_id.split("."))
    return AccountID(shardNum=shard, realmNum=realm, accountNum=number)


def token(token_id: str) -> TokenID:
    shard, realm, number = map(int, token_id.split("."))
    return TokenID(shardNum=shard, realmNum=realm, tokenNum=number)


def timestamp(moment: int) -> Timestamp:
    """A moment in nanoseconds since 1970."""
    seconds, nanos = divmod(moment, times.SECOND)
    return Timestamp(seconds=seconds, nanos=nanos)


def key(row) -> Key | None:
    """The key of an account's row, or None where it has not signed yet."""
    if row is None:
        return None
    content = bytes.fromhex(row["public_key"])
    if row["key_type"] == "ED25519":
        return Key(ed25519=content)
    return Key(ECDSA_secp256k1=content)


def require_id(entity: Message, refusal: str) -> str:
    """Write an AccountID or TokenID as text. Refuses, with the code, what can be none here."""
    number = number_of(entity)
    if min(entity.shardNum, entity.realmNum) < 0 or not 1 <= number <= MAX_INT64:
        raise Refused(refusal)
    return write_id(entity)
