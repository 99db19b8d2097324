"""Accounts, tokens and NFTs, as a node tells of them."""

from google.protobuf.message import Message
from hiero_sdk_python.hapi.services.basic_types_pb2 import (
    TokenPauseStatus,
    TokenSupplyType,
    TokenType,
)

from marketplace import times
from marketplace.sandbox import catalogue, queries
from marketplace.sandbox.hapi.messages import account, key, require_id, timestamp, token
from marketplace.sandbox.hapi.refusal import Refused
from marketplace.store.database import read

LIFE_SECONDS = 7_776_000  # ninety days, until an account or a token is renewed
UNLIMITED = -1


def find_balance(asked: Message, told: Message, now: int) -> None:
    account_id = _require_account(asked.accountID)
    told.accountID.CopyFrom(account(account_id))
    told.balance = _balance(account_id)


def find_account(asked: Message, told: Message, now: int) -> None:
    account_id = _require_account(asked.accountID)
    info = told.accountInfo
    info.accountID.CopyFrom(account(account_id))
    if public_key := key(queries.get_account(read(), account_id)):
        info.key.CopyFrom(public_key)
    info.balance = _balance(account_id)
    info.expirationTime.CopyFrom(timestamp(now + LIFE_SECONDS * times.SECOND))
    info.autoRenewPeriod.seconds = LIFE_SECONDS
    info.max_automatic_token_associations = UNLIMITED


def find_token(asked: Message, told: Message, now: int) -> None:
    token_id = require_id(asked.token, "INVALID_TOKEN_ID")
    collection, info = catalogue.collection_of(token_id), told.tokenInfo
    info.tokenId.CopyFrom(token(token_id))
    info.name, info.symbol = collection.name, collection.symbol
    info.totalSupply = queries.count_nfts_in(read(), token_id)
    info.treasury.CopyFrom(account(queries.TREASURY))
    info.deleted = queries.get_deleted_token(read(), token_id) is not None
    info.expiry.CopyFrom(timestamp(now + LIFE_SECONDS * times.SECOND))
    info.autoRenewPeriod.seconds = LIFE_SECONDS
    info.tokenType = TokenType.NON_FUNGIBLE_UNIQUE
    info.supplyType = TokenSupplyType.INFINITE
    info.pause_status = TokenPauseStatus.PauseNotApplicable


def find_nft(asked: Message, told: Message, now: int) -> None:
    token_id = require_id(asked.nftID.token_ID, "INVALID_TOKEN_ID")
    serial_no = asked.nftID.serial_number
    row = queries.get_nft(read(), token_id, serial_no)
    if row is None or queries.get_deleted_token(read(), token_id):
        raise Refused("INVALID_NFT_ID")
    told.nft.nftID.CopyFrom(asked.nftID)
    told.nft.accountID.CopyFrom(account(row["owner"]))
    told.nft.creationTime.CopyFrom(timestamp(row["created_at"]))
    told.nft.metadata = catalogue.pointer(token_id, serial_no).encode()
    if row["spender"]:
        told.nft.spender_id.CopyFrom(account(row["spender"]))


def _require_account(entity: Message) -> str:
    return require_id(entity, "INVALID_ACCOUNT_ID")


def _balance(account_id: str) -> int:
    return 1_000_000_000_000
