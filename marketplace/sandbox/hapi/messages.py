"""Writes ids, timestamps and keys as HAPI's messages."""

from hiero_sdk_python.hapi.services.basic_types_pb2 import AccountID, Key, TokenID
from hiero_sdk_python.hapi.services.timestamp_pb2 import Timestamp

from marketplace import times


def account(account_id: str) -> AccountID:
    shard, realm, number = map(int, account_id.split("."))
    return AccountID(shardNum=shard, realmNum=realm, accountNum=number)


def token(token_id: str) -> TokenID:
    shard, realm, number = map(int, token_id.split("."))
    return TokenID(shardNum=shard, realmNum=realm, tokenNum=number)


def timestamp(moment: int) -> Timestamp:
    """``moment`` is in nanoseconds since 1970."""
    seconds, nanos = divmod(moment, times.SECOND)
    return Timestamp(seconds=seconds, nanos=nanos)


def key(known: tuple[str, str] | None) -> Key | None:
    """The key of accounts.key(), or None where an account has not signed yet."""
    if known is None:
        return None
    key_type, public_key = known
    content = bytes.fromhex(public_key)
    return Key(ed25519=content) if key_type == "ED25519" else Key(ECDSA_secp256k1=content)
