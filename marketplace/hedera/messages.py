"""Converts ids, timestamps and keys to HAPI messages."""

from hiero_sdk_python.hapi.services.basic_types_pb2 import (
    AccountID,
    Key,
    ScheduleID,
    TokenID,
    TopicID,
)
from hiero_sdk_python.hapi.services.timestamp_pb2 import Timestamp

from marketplace.hedera import times
from marketplace.hedera.ids import numbers


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
