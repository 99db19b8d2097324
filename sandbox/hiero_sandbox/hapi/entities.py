"""HAPI's queries about accounts, tokens and NFTs."""

import base64
from operator import itemgetter

from flask import current_app
from hiero_sdk_python.hapi.services.basic_types_pb2 import (
    AccountID,
    Key,
    TokenFreezeStatus,
    TokenKycStatus,
    TokenPauseStatus,
    TokenRelationship,
)
from hiero_sdk_python.hapi.services.crypto_get_account_balance_pb2 import (
    CryptoGetAccountBalanceQuery,
    CryptoGetAccountBalanceResponse,
)
from hiero_sdk_python.hapi.services.crypto_get_info_pb2 import (
    CryptoGetInfoQuery,
    CryptoGetInfoResponse,
)
from hiero_sdk_python.hapi.services.schedule_get_info_pb2 import (
    ScheduleGetInfoQuery,
    ScheduleGetInfoResponse,
)
from hiero_sdk_python.hapi.services.timestamp_pb2 import Timestamp
from hiero_sdk_python.hapi.services.token_get_info_pb2 import (
    TokenGetInfoQuery,
    TokenGetInfoResponse,
)
from hiero_sdk_python.hapi.services.token_get_nft_info_pb2 import (
    TokenGetNftInfoQuery,
    TokenGetNftInfoResponse,
)

from hiero_sandbox import times
from hiero_sandbox.database import read
from hiero_sandbox.ledger import accounts, keys, nfts, queries, schedules, tokens
from hiero_sandbox.ledger.envelopes import Refused, refuse_if
from hiero_sandbox.ledger.execution import entity
from hiero_sandbox.messages import account, timestamp, token

MAX_RELATIONSHIPS = 1000
NOBODYS_KEY = Key(keyList={})  # an account has it until its key is known


def find_balance(
    query: CryptoGetAccountBalanceQuery, response: CryptoGetAccountBalanceResponse, now: int
) -> None:
    """Answer, or refuse as the networks do: since release 0.77 their throttles allow no such query.

    Their code is BUSY, after which SDKs try again for two minutes. NOT_SUPPORTED is final.
    Source: https://github.com/hiero-ledger/hiero-consensus-node/pull/25952
    """
    refuse_if(query.HasField("contractID"), "INVALID_CONTRACT_ID")  # the sandbox has no contracts
    account_id = _require_account(query.accountID)
    if not current_app.config.get("BALANCE_QUERIES"):
        current_app.logger.warning(
            "cryptoGetBalance is refused, as on the networks: ask the mirror node for balances"
        )
        raise Refused("NOT_SUPPORTED")
    response.accountID.CopyFrom(account(account_id))
    response.balance = accounts.balance(read(), account_id)
    for row in _list_associations(account_id):
        decimals = tokens.find(read(), row["token"]).definition.decimals
        held = {"tokenId": token(row["token"]), "balance": row["balance"], "decimals": decimals}
        response.tokenBalances.add(**held)


def find_account(query: CryptoGetInfoQuery, response: CryptoGetInfoResponse, now: int) -> None:
    account_id = _require_account(query.accountID)
    info = response.accountInfo
    info.accountID.CopyFrom(account(account_id))
    info.key.CopyFrom(accounts.key(read(), account_id) or NOBODYS_KEY)
    stored = accounts.get(read(), account_id)
    info.balance, info.memo = stored.balance, stored.memo
    info.receiverSigRequired = bool(stored.is_receiver_signature_required)
    aliases = queries.list_aliases(read(), account_id)
    info.alias = next((alias for alias in aliases if keys.of_alias(alias)), b"")
    info.contractAccountID = accounts.evm_address(read(), account_id).hex()
    info.expirationTime.seconds = stored.expiry // times.SECOND
    info.autoRenewPeriod.seconds = stored.renewal_seconds
    info.tokenRelationships.extend(map(_relationship, _list_associations(account_id)))
    info.max_automatic_token_associations = stored.automatic_associations
    info.ownedNfts = queries.count(read(), "nft", owner=account_id)
    staking = info.staking_info
    staking.decline_reward, staking.pending_reward = (
        bool(stored.declines_reward),
        stored.pending_reward,
    )
    if stored.staked_account:
        staking.staked_account_id.CopyFrom(account(stored.staked_account))
    elif stored.staked_node is not None:
        staking.staked_node_id = stored.staked_node


def _list_associations(account_id: str) -> list[queries.Row]:
    """The newest associations of an account, as many as a node shows."""
    rows = queries.list_associations(read(), account_id)
    return sorted(rows, key=itemgetter("created_at"), reverse=True)[:MAX_RELATIONSHIPS]


def _relationship(row: queries.Row) -> TokenRelationship:
    found = tokens.find(read(), row["token"])
    frozen = "Frozen" if row["is_frozen"] else "Unfrozen"
    granted = "Granted" if row["is_kyc_granted"] else "Revoked"
    return TokenRelationship(
        tokenId=token(row["token"]),
        symbol=found.definition.symbol,
        balance=row["balance"],
        freezeStatus=frozen if found.key("freeze") else "FreezeNotApplicable",
        kycStatus=granted if found.key("kyc") else "KycNotApplicable",
        decimals=found.definition.decimals,
        automatic_association=bool(row["is_automatic"]),
    )


def find_token(query: TokenGetInfoQuery, response: TokenGetInfoResponse, now: int) -> None:
    found, info = tokens.find(read(), entity(query.token, "INVALID_TOKEN_ID")), response.tokenInfo
    definition = found.definition
    for field, value in definition.ListFields():
        if field.name in info.DESCRIPTOR.fields_by_name:  # with the same name and type
            info.MergeFrom(type(info)(**{field.name: value}))
    info.expiry.CopyFrom(Timestamp(seconds=found.expiry // times.SECOND))
    info.tokenId.CopyFrom(token(found.token))
    info.totalSupply = tokens.supply(read(), found)
    info.deleted = queries.is_deleted(read(), found.token)
    if found.key("freeze"):
        is_frozen = definition.freezeDefault
        info.defaultFreezeStatus = (
            TokenFreezeStatus.Frozen if is_frozen else TokenFreezeStatus.Unfrozen
        )
    if found.key("kyc"):
        info.defaultKycStatus = TokenKycStatus.Revoked
    info.pause_status = TokenPauseStatus.PauseNotApplicable
    if found.key("pause"):
        is_paused = found.is_paused
        info.pause_status = TokenPauseStatus.Paused if is_paused else TokenPauseStatus.Unpaused


def find_nft(query: TokenGetNftInfoQuery, response: TokenGetNftInfoResponse, now: int) -> None:
    token_id = entity(query.nftID.token_ID, "INVALID_TOKEN_ID")
    refuse_if(query.nftID.serial_number < 1, "INVALID_TOKEN_NFT_SERIAL_NUMBER")
    nft = nfts.require(nfts.find(read(), token_id, query.nftID.serial_number))
    response.nft.nftID.CopyFrom(query.nftID)
    response.nft.accountID.CopyFrom(account(nft.owner))
    response.nft.creationTime.CopyFrom(timestamp(nft.created_at))
    response.nft.metadata = base64.b64decode(nft.metadata)
    if nft.spender:
        response.nft.spender_id.CopyFrom(account(nft.spender))


def find_schedule(query: ScheduleGetInfoQuery, response: ScheduleGetInfoResponse, now: int) -> None:
    found, info = schedules.get(read(), query.scheduleID, now), response.scheduleInfo
    definition = found.definition
    info.scheduleID.CopyFrom(query.scheduleID)
    info.creatorAccountID.CopyFrom(found.creation.transactionID.accountID)
    info.payerAccountID.CopyFrom(account(found.payer))
    info.scheduledTransactionID.CopyFrom(found.transaction_id)
    info.scheduledTransactionBody.CopyFrom(definition.scheduledTransactionBody)
    info.signers.CopyFrom(found.signatories)
    info.expirationTime.CopyFrom(timestamp(found.expires_at))
    info.memo, info.wait_for_expiry = definition.memo, definition.wait_for_expiry
    if definition.HasField("adminKey"):
        info.adminKey.CopyFrom(definition.adminKey)
    if found.resolved_at:
        is_executed = found.state == "executed"
        moment = info.execution_time if is_executed else info.deletion_time
        moment.CopyFrom(timestamp(found.resolved_at))


def _require_account(named: AccountID) -> str:
    code = "INVALID_ACCOUNT_ID"
    found = accounts.find_by_alias(read(), named.alias) if named.alias else entity(named, code)
    if found is None:
        raise Refused(code)
    accounts.require_usable(read(), found)
    return found
