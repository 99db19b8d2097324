"""Transactions about accounts: creation (by a transfer, too), update and deletion.

The order of the checks and the result codes are the network's: CryptoCreateHandler and CryptoUpdateHandler of
https://github.com/hiero-ledger/hiero-consensus-node.
"""

from decimal import Decimal
from typing import Any

from hiero_sdk_python.hapi.services.basic_types_pb2 import AccountID
from hiero_sdk_python.hapi.services.crypto_create_pb2 import CryptoCreateTransactionBody
from hiero_sdk_python.hapi.services.crypto_delete_pb2 import CryptoDeleteTransactionBody
from hiero_sdk_python.hapi.services.crypto_update_pb2 import CryptoUpdateTransactionBody
from hiero_sdk_python.hapi.services.timestamp_pb2 import Timestamp
from hiero_sdk_python.hapi.services.token_create_pb2 import TokenCreateTransactionBody
from hiero_sdk_python.hapi.services.token_update_pb2 import TokenUpdateTransactionBody

from hiero_sandbox import messages, times
from hiero_sandbox.ids import MAX_INT64, numbers
from hiero_sandbox.ledger import accounts, keys, network_fees, queries, tokens
from hiero_sandbox.ledger.envelopes import Refused, refuse_if, write_id
from hiero_sandbox.ledger.execution import Execution, Handler, entity, require_short
from hiero_sandbox.ledger.network_fees import ACCOUNT_CREATION, Fee
from hiero_sandbox.storage import Connection

Staking = CryptoCreateTransactionBody | CryptoUpdateTransactionBody
MAX_ASSOCIATIONS = 5000
TOO_MANY = "INVALID_MAX_AUTO_ASSOCIATIONS"
MAX_LIFE_SECONDS = 8_000_001  # of an account, a token or a topic: how far its expiry may be ahead
RENEWAL_SECONDS = range(2_592_000, 8_000_002)
NODE_ID = 0  # of the one node
NO_STAKE = {"staked_account": None, "staked_node": None}
LAST_SYSTEM_NUMBER = 750  # accounts up to this number cannot be deleted


def check_create(content: CryptoCreateTransactionBody) -> None:
    """Check what a node checks before consensus."""
    refuse_if(not content.HasField("autoRenewPeriod"), "INVALID_RENEWAL_PERIOD")
    refuse_if(content.autoRenewPeriod.seconds < 0, "INVALID_RENEWAL_PERIOD")
    if content.max_automatic_token_associations < accounts.UNLIMITED:
        raise Refused("INVALID_MAX_AUTO_ASSOCIATIONS")
    refuse_if(content.initialBalance > MAX_INT64, "INVALID_INITIAL_BALANCE")
    alias = content.alias
    is_address = len(alias) == keys.EVM_ADDRESS_BYTES
    refuse_if(alias and not is_address and not keys.of_alias(alias), "INVALID_ALIAS_KEY")
    _require_key(content)
    refuse_if(content.hook_creation_details, "NOT_SUPPORTED")


def _require_key(content: CryptoCreateTransactionBody) -> None:
    """Refuse a new account without a key, and one whose key is empty."""
    if not content.HasField("key"):
        raise Refused("INVALID_ALIAS_KEY" if content.alias else "KEY_REQUIRED")
    if keys.is_empty(content.key):
        is_list = content.key.HasField("keyList") or content.key.HasField("thresholdKey")
        raise Refused("KEY_REQUIRED" if is_list else "BAD_ENCODING")


def create(execution: Execution, content: CryptoCreateTransactionBody) -> None:
    if content.alias:
        _require_alias_signature(execution, content)
    if content.receiverSigRequired:
        execution.require_key(content.key)
    refuse_if(accounts.is_of_number(content.alias), "INVALID_ALIAS_KEY")
    require_memo(content.memo)
    is_taken = content.alias and accounts.find_by_alias(execution.db, content.alias)
    refuse_if(is_taken, "ALIAS_ALREADY_ASSIGNED")
    require_renewal(content)
    refuse_if(content.max_automatic_token_associations > MAX_ASSOCIATIONS, TOO_MANY)
    refuse_if(not keys.is_valid(content.key), "INVALID_ADMIN_KEY")
    account_id = accounts.create(
        execution.db,
        execution.now,
        [content.alias] if content.alias else [],
        key=content.key.SerializeToString().hex(),
        automatic_associations=content.max_automatic_token_associations,
        memo=content.memo,
        is_receiver_signature_required=int(content.receiverSigRequired),
        declines_reward=int(content.decline_reward),
        renewal_seconds=content.autoRenewPeriod.seconds,
        **_stake(execution.db, content),
    )
    execution.effects.record.receipt.accountID.CopyFrom(messages.account(account_id))
    if content.initialBalance:
        amount = content.initialBalance
        execution.move({(execution.payer, None): -amount, (account_id, None): amount})


def _stake(db: Connection, content: Staking) -> dict[str, Any]:
    """The columns of the account or the node that an account stakes to (StakingValidator)."""
    kind, code = content.WhichOneof("staked_id"), "INVALID_STAKING_ID"
    if kind == "staked_account_id":
        account_id = entity(content.staked_account_id, code)
        accounts.get(db, account_id, missing=code)
        return NO_STAKE | {"staked_account": account_id}
    if kind == "staked_node_id":
        refuse_if(content.staked_node_id != NODE_ID, code)
        return NO_STAKE | {"staked_node": content.staked_node_id}
    return {}


def _require_alias_signature(execution: Execution, content: CryptoCreateTransactionBody) -> None:
    """Refuse an EVM address that is neither the payer's nor the new key's, and has not signed: HIP-583.

    A transaction can't give an account a key as its alias; a transfer to that key can.
    """
    refuse_if(len(content.alias) != keys.EVM_ADDRESS_BYTES, "INVALID_ALIAS_KEY")
    payers = accounts.key(execution.db, execution.payer)
    owned = [keys.evm_address(key.ECDSA_secp256k1) for key in (payers, content.key) if key]
    if content.alias not in owned:
        _require_key_of(execution, content.alias)


def _require_key_of(execution: Execution, address: bytes) -> None:
    """Refuse an EVM address whose key has not signed."""
    for pair in execution.signed.pairs:
        if keys.evm_address(pair.pubKeyPrefix) == address:
            return execution.require_key(keys.of_bytes(pair.pubKeyPrefix))
    raise Refused("INVALID_SIGNATURE")


def require_renewal(
    content: CryptoCreateTransactionBody
    | CryptoUpdateTransactionBody
    | TokenCreateTransactionBody
    | TokenUpdateTransactionBody,
    code: str = "AUTORENEW_DURATION_NOT_IN_RANGE",
) -> None:
    """Refuse, with the code, a period of renewal that is out of range."""
    period = content.autoRenewPeriod.seconds
    refuse_if(content.HasField("autoRenewPeriod") and period <= 0, "INVALID_RENEWAL_PERIOD")
    refuse_if(content.HasField("autoRenewPeriod") and period not in RENEWAL_SECONDS, code)


def read_expiry(execution: Execution, expiry: Timestamp, before: int = 0) -> int:
    """A new expiry in nanoseconds, not earlier than the one before (ExpiryValidatorImpl)."""
    second = execution.now // times.SECOND
    is_possible = second < expiry.seconds <= second + MAX_LIFE_SECONDS
    refuse_if(not is_possible, "INVALID_EXPIRATION_TIME")
    refuse_if(expiry.seconds < before // times.SECOND, "EXPIRATION_REDUCTION_NOT_ALLOWED")
    return int(expiry.seconds) * times.SECOND


def check_update(content: CryptoUpdateTransactionBody) -> None:
    """Check what a node checks before consensus."""
    refuse_if(not content.HasField("accountIDToUpdate"), "ACCOUNT_ID_DOES_NOT_EXIST")
    entity(content.accountIDToUpdate, "INVALID_ACCOUNT_ID")
    refuse_if(content.hook_creation_details or content.hook_ids_to_delete, "NOT_SUPPORTED")


def update(execution: Execution, content: CryptoUpdateTransactionBody) -> None:
    account_id = write_id(content.accountIDToUpdate)
    execution.require_signature(account_id)
    accounts.require_usable(execution.db, account_id)
    changes: dict[str, Any] = {}
    if content.HasField("key"):
        refuse_if(not keys.is_valid(content.key), "INVALID_ADMIN_KEY")
        execution.require_key(content.key)
        changes["key"] = content.key.SerializeToString().hex()
    if content.HasField("memo"):
        require_memo(content.memo.value)
        changes["memo"] = content.memo.value
    expiry = accounts.get(execution.db, account_id).expiry
    if content.HasField("expirationTime"):
        changes["expires_at"] = read_expiry(execution, content.expirationTime, expiry)
    require_renewal(content)
    if content.HasField("autoRenewPeriod"):
        changes["renewal_seconds"] = content.autoRenewPeriod.seconds
        changes.setdefault("expires_at", expiry)  # it does not expire at another time for that
    if content.HasField("receiverSigRequiredWrapper"):
        changes["is_receiver_signature_required"] = int(content.receiverSigRequiredWrapper.value)
    if content.HasField("max_automatic_token_associations"):
        limit = content.max_automatic_token_associations.value
        _require_limit(limit, accounts.count_automatic_associations(execution.db, account_id))
        changes["automatic_associations"] = limit
    if content.HasField("decline_reward"):
        changes["declines_reward"] = int(content.decline_reward.value)
    is_end = content.staked_node_id == -1 or content.staked_account_id == AccountID(accountNum=0)
    changes |= NO_STAKE if is_end else _stake(execution.db, content)
    accounts.change(execution.db, account_id, execution.now, **changes)


def _require_limit(limit: int, used: int) -> None:
    """Refuse a limit of automatic associations that is out of range, or below the number that is used."""
    if limit > MAX_ASSOCIATIONS:
        raise Refused("REQUESTED_NUM_AUTOMATIC_ASSOCIATIONS_EXCEEDS_ASSOCIATION_LIMIT")
    refuse_if(limit < accounts.UNLIMITED, TOO_MANY)
    if limit != accounts.UNLIMITED and used > limit:
        raise Refused("EXISTING_AUTOMATIC_ASSOCIATIONS_EXCEED_GIVEN_LIMIT")


def require_memo(memo: str) -> None:
    require_short(memo.encode(), "MEMO_TOO_LONG")
    refuse_if("\0" in memo, "INVALID_ZERO_BYTE_IN_STRING")


# Deletion: CryptoDeleteHandler and TokenServiceApiImpl of hiero-consensus-node


def check_delete(content: CryptoDeleteTransactionBody) -> None:
    """Check what a node checks before consensus."""
    if not content.HasField("deleteAccountID") or not content.HasField("transferAccountID"):
        raise Refused("ACCOUNT_ID_DOES_NOT_EXIST")
    if content.deleteAccountID == content.transferAccountID:
        raise Refused("TRANSFER_ACCOUNT_SAME_AS_DELETE_ACCOUNT")


def delete(execution: Execution, content: CryptoDeleteTransactionBody) -> None:
    """Delete an account that holds no tokens. Another account gets its HBAR, and its staking reward."""
    db, now = execution.db, execution.now
    deleted = entity(content.deleteAccountID, "INVALID_ACCOUNT_ID")
    no_heir = "INVALID_TRANSFER_ACCOUNT_ID"
    heir = entity(content.transferAccountID, no_heir)
    refuse_if(numbers(deleted)[2] <= LAST_SYSTEM_NUMBER, "ENTITY_NOT_ALLOWED_TO_DELETE")
    execution.require_signature(deleted)
    if accounts.get(db, heir, missing=no_heir).is_receiver_signature_required:
        execution.require_signature(heir)
    refuse_if(queries.count(db, "airdrop", sender=deleted), "ACCOUNT_HAS_PENDING_AIRDROPS")
    refuse_if(tokens.has_treasury(db, deleted), "ACCOUNT_IS_TREASURY")
    refuse_if(queries.has_tokens(db, deleted), "TRANSACTION_REQUIRES_ZERO_TOKEN_BALANCES")
    amount, reward = accounts.balance(db, deleted), accounts.get(db, deleted).pending_reward
    execution.move({(deleted, None): -amount, (heir, None): amount})
    reward += accounts.get(db, heir).pending_reward
    accounts.change(db, heir, now, pending_reward=reward)
    accounts.change(db, deleted, now, is_deleted=1, pending_reward=0)
    queries.delete(db, "alias", account_id=deleted)


# Accounts by alias: HIP-32, HIP-583


def resolve(execution: Execution, account: AccountID, *, may_create: bool) -> None:
    """Replace an alias in a transaction by its account's number. A missing account may be created."""
    if not account.alias:
        return
    account_id = accounts.find_by_alias(execution.db, account.alias)
    if account_id is None:
        refuse_if(not may_create, "INVALID_ACCOUNT_ID")
        account_id = _create_for(execution, account.alias)
    account.CopyFrom(messages.account(account_id))


def _create_for(execution: Execution, alias: bytes) -> str:
    """Create an account for an alias. The payer of the transfer pays for it.

    An account for an EVM address has no key until the key of that address signs.
    """
    key, aliases = keys.of_alias(alias), {alias}
    if key:
        address = keys.evm_address(key.ECDSA_secp256k1)
        aliases |= {address} if address else set()
    elif len(alias) != keys.EVM_ADDRESS_BYTES:
        raise Refused("INVALID_ALIAS_KEY")
    encoded = key.SerializeToString().hex() if key else None
    account_id = accounts.create(execution.db, execution.now, aliases, key=encoded)
    execution.charge_further(network_fees.ACCOUNT_CREATION)
    nonce = len(execution.effects.children) + 1
    creation = execution.child(execution.now - nonce, cryptoCreateAccount={})
    creation.signed.body.transactionID.nonce = nonce
    creation.effects.record.receipt.accountID.CopyFrom(messages.account(account_id))
    return account_id


HANDLERS = {
    "cryptoCreateAccount": Handler(
        create,
        check_create,
        Fee(ACCOUNT_CREATION, included_keys=1, has_high_volume=True),
        creates="accountID",
        function="CryptoCreate",
    ),
    "cryptoDelete": Handler(delete, check_delete, Fee(Decimal("0.005")), about="deleteAccountID"),
    "cryptoUpdateAccount": Handler(
        update,
        check_update,
        Fee(Decimal("0.00022"), included_keys=1),
        about="accountIDToUpdate",
        function="CryptoUpdate",
    ),
}
