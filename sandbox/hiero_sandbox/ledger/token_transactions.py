"""Transactions about tokens themselves: creation, update, deletion, custom fees, pause.

The order of the checks and the result codes are the network's: the handlers and validators of the token
service in https://github.com/hiero-ledger/hiero-consensus-node.
"""

from decimal import Decimal
from functools import partial
from typing import Any

from hiero_sdk_python.hapi.services.basic_types_pb2 import (
    Key,
    TokenID,
    TokenKeyValidation,
    TokenSupplyType,
    TokenType,
)
from hiero_sdk_python.hapi.services.token_create_pb2 import TokenCreateTransactionBody
from hiero_sdk_python.hapi.services.token_delete_pb2 import TokenDeleteTransactionBody
from hiero_sdk_python.hapi.services.token_fee_schedule_update_pb2 import (
    TokenFeeScheduleUpdateTransactionBody,
)
from hiero_sdk_python.hapi.services.token_pause_pb2 import TokenPauseTransactionBody
from hiero_sdk_python.hapi.services.token_unpause_pb2 import TokenUnpauseTransactionBody
from hiero_sdk_python.hapi.services.token_update_pb2 import TokenUpdateTransactionBody

from hiero_sandbox import messages, times
from hiero_sandbox.ids import MAX_INT64
from hiero_sandbox.ledger import accounts, custom_fees, keys, queries, tokens
from hiero_sandbox.ledger.account_transactions import read_expiry, require_memo, require_renewal
from hiero_sandbox.ledger.envelopes import Refused, refuse_if, write_id
from hiero_sandbox.ledger.execution import Execution, Handler, entity, require_short
from hiero_sandbox.ledger.network_fees import Fee
from hiero_sandbox.ledger.nfts import Nft
from hiero_sandbox.ledger.tokens import KEYS, Token

Pause = TokenPauseTransactionBody | TokenUnpauseTransactionBody
UNPAID = "INSUFFICIENT_TOKEN_BALANCE"
INVALID_KEYS = {"fee_schedule": "INVALID_CUSTOM_FEE_SCHEDULE_KEY"}
NO_KEY = Key(keyList={})  # in place of a key that is taken away
# What only the admin key changes, beside name and symbol.
ADMINS_FIELDS = ("adminKey", "autoRenewAccount", "autoRenewPeriod", "memo", "treasury")
# The accounts that sign when they get a role, and the codes for what is no account.
UPDATE_SIGNERS = {"treasury": "INVALID_ACCOUNT_ID", "autoRenewAccount": "INVALID_AUTORENEW_ACCOUNT"}


def check_create(content: TokenCreateTransactionBody) -> None:
    """Check what a node checks before consensus."""
    is_fungible = content.tokenType == TokenType.FUNGIBLE_COMMON
    if content.initialSupply > (MAX_INT64 if is_fungible else 0):
        raise Refused("INVALID_TOKEN_INITIAL_SUPPLY")
    refuse_if(content.decimals > (2**31 - 1 if is_fungible else 0), "INVALID_TOKEN_DECIMALS")
    is_finite = content.supplyType == TokenSupplyType.FINITE
    if content.maxSupply < 0 or bool(content.maxSupply) != is_finite:
        raise Refused("INVALID_TOKEN_MAX_SUPPLY")
    if is_finite and content.initialSupply > content.maxSupply:
        raise Refused("INVALID_TOKEN_INITIAL_SUPPLY")
    refuse_if(not content.HasField("treasury"), "INVALID_TREASURY_ACCOUNT_FOR_TOKEN")
    refuse_if(not is_fungible and not content.HasField("supplyKey"), "TOKEN_HAS_NO_SUPPLY_KEY")
    if content.freezeDefault and not content.HasField("freezeKey"):
        raise Refused("TOKEN_HAS_NO_FREEZE_KEY")


def create(execution: Execution, content: TokenCreateTransactionBody) -> None:
    db, now, treasury = execution.db, execution.now, entity(content.treasury, "INVALID_ACCOUNT_ID")
    execution.require_signature(treasury)
    if content.HasField("autoRenewAccount"):
        renewing = entity(content.autoRenewAccount, "INVALID_AUTORENEW_ACCOUNT")
        accounts.require_usable(db, renewing, "INVALID_AUTORENEW_ACCOUNT")
        execution.require_signature(renewing)
    if keys.is_valid(content.adminKey):
        execution.require_key(content.adminKey)
    for fee in content.custom_fees:
        collector = custom_fees.collector_of(db, fee)
        has_to = accounts.get(db, collector).is_receiver_signature_required
        if has_to or custom_fees.is_in_own_units(fee):
            execution.require_signature(collector)
    accounts.require_usable(db, treasury, "INVALID_TREASURY_ACCOUNT_FOR_TOKEN")
    require_memo(content.memo)
    _require_text(content.symbol, "MISSING_TOKEN_SYMBOL", "TOKEN_SYMBOL_TOO_LONG")
    _require_text(content.name, "MISSING_TOKEN_NAME", "TOKEN_NAME_TOO_LONG")
    _require_valid_keys(content)
    require_short(content.metadata, "METADATA_TOO_LONG")
    require_renewal(content, "INVALID_RENEWAL_PERIOD")
    if not (content.HasField("autoRenewPeriod") or content.HasField("expiry")):
        raise Refused("INVALID_EXPIRATION_TIME")
    if content.HasField("autoRenewPeriod") and content.HasField("autoRenewAccount"):
        content.ClearField("expiry")  # the period counts
    if content.HasField("expiry"):
        read_expiry(execution, content.expiry)
    token = Token(queries.new_id(db), content, True, False, now, now, now)
    tokens.put(db, token)
    # The treasury is not frozen, and its KYC is granted.
    columns = {"is_automatic": 0, "created_at": now, "is_frozen": 0, "is_kyc_granted": 1}
    queries.put(db, "association", account_id=treasury, token=token.token, **columns)
    execution.effects.record_association(treasury, token.token)
    execution.effects.record.receipt.tokenID.CopyFrom(messages.token(token.token))
    _associate_collectors(execution, token)
    custom_fees.require_valid(db, token)
    if content.initialSupply:
        code = "INVALID_TOKEN_INITIAL_SUPPLY"
        execution.change_units(treasury, token.token, content.initialSupply, code)


def _associate_collectors(execution: Execution, token: Token) -> None:
    """Associate those who get fees in units of a new token."""
    for fee in token.definition.custom_fees:
        if custom_fees.is_in_own_units(fee):
            if fee.HasField("fixed_fee"):
                fee.fixed_fee.denominating_token_id.CopyFrom(messages.token(token.token))
            collector = write_id(fee.fee_collector_account_id)
            if not accounts.is_associated(execution.db, collector, token.token):
                accounts.associate(execution.db, collector, token.token, execution.now)
                execution.effects.record_association(collector, token.token)
    tokens.put(execution.db, token)


def _require_text(text: str, missing: str, too_long: str) -> None:
    """Refuse a name or a symbol that is missing, too long, or has a zero byte."""
    refuse_if(not text, missing)
    require_short(text.encode(), too_long)
    refuse_if("\0" in text, "INVALID_ZERO_BYTE_IN_STRING")


def _require_valid_keys(content: TokenCreateTransactionBody | TokenUpdateTransactionBody) -> None:
    """Refuse keys of a wrong form. An empty list of keys is none: HIP-540."""
    for name, (field, _) in KEYS.items():
        key = getattr(content, field)
        if content.HasField(field) and key != NO_KEY and not keys.is_valid(key):
            raise Refused(INVALID_KEYS.get(name, f"INVALID_{name.upper()}_KEY"))


def issued(execution: Execution, asked: TokenID, name: str) -> Token:
    """The token that a transaction is about. Its key of this name signs, if it has one; it must have one."""
    token = tokens.find(execution.db, entity(asked, "INVALID_TOKEN_ID"))
    if token.key(name):
        require_issuer(execution, token, name)
    tokens.get_usable(execution.db, token.token)
    refuse_if(not token.key(name), KEYS[name][1])
    return token


def require_issuer(execution: Execution, token: Token, *names: str) -> None:
    """Refuse if none of a token's keys of these names has signed."""
    held = [key for name in names if (key := token.key(name))]
    refuse_if(not held, KEYS[names[0]][1])
    execution.require_key(_one_of(held))


def _one_of(several: list[Key]) -> Key:
    """The key for which one of several keys signs."""
    if len(several) == 1:
        return several[0]
    return Key(thresholdKey={"threshold": 1, "keys": {"keys": several}})


# Updates: TokenUpdateHandler of hiero-consensus-node


def check_update(content: TokenUpdateTransactionBody) -> None:
    """Check what a node checks before consensus."""
    entity(content.token, "INVALID_TOKEN_ID")
    _require_valid_keys(content)


def update(execution: Execution, content: TokenUpdateTransactionBody) -> None:
    token = tokens.find(execution.db, write_id(content.token))
    for key in _signing_keys(content, token):
        execution.require_key(key)
    for name, code in UPDATE_SIGNERS.items():
        if content.HasField(name):
            account_id = entity(getattr(content, name), code)
            accounts.require_existing(execution.db, account_id, code)
            execution.require_signature(account_id)
    tokens.get_usable(execution.db, token.token)
    require_memo(content.memo.value)
    if content.symbol:
        _require_text(content.symbol, "MISSING_TOKEN_SYMBOL", "TOKEN_SYMBOL_TOO_LONG")
    if content.name:
        _require_text(content.name, "MISSING_TOKEN_NAME", "TOKEN_NAME_TOO_LONG")
    require_short(content.metadata.value, "METADATA_TOO_LONG")
    require_renewal(content)
    if content.HasField("autoRenewAccount"):
        renewing = write_id(content.autoRenewAccount)
        accounts.require_usable(execution.db, renewing, "INVALID_AUTORENEW_ACCOUNT")
    if content.HasField("expiry"):
        read_expiry(execution, content.expiry, token.expiry)
    elif content.HasField("autoRenewPeriod"):  # it does not expire at another time for that
        content.expiry.seconds = token.expiry // times.SECOND
    if content.HasField("treasury"):
        _change_treasury(execution, token, write_id(content.treasury))
    changes = {field.name: value for field, value in content.ListFields()}
    for name, (field, code) in KEYS.items():
        refuse_if(field in changes and not token.key(name), code)
    _change(token.definition, changes)
    tokens.put(execution.db, token, modified_at=execution.now)


def _signing_keys(content: TokenUpdateTransactionBody, token: Token) -> list[Key]:
    """The keys that must sign an update, by what it changes: HIP-540."""
    admin, signing = token.key("admin"), []
    if content.HasField("metadata") and token.key("metadata"):
        signing.append(_role(token, "metadata"))
    given = {
        name: getattr(content, field)
        for name, (field, _) in KEYS.items()
        if content.HasField(field)
    }
    is_admins = any(map(content.HasField, ADMINS_FIELDS)) or content.name or content.symbol
    is_metadata_admins = content.HasField("metadata") and not token.key("metadata")
    if is_admins or is_metadata_admins or NO_KEY in given.values():
        if admin is None:
            raise Refused("TOKEN_IS_IMMUTABLE")
        signing.append(admin)
    for name, key in given.items():
        if key != NO_KEY and name == "admin":
            signing.append(key)
        elif key != NO_KEY:
            is_unchecked = content.key_verification_mode == TokenKeyValidation.NO_VALIDATION
            signing.append(_role(token, name, *([] if is_unchecked else [key])))
    return signing


def _role(token: Token, name: str, *successor: Key) -> Key:
    """The key that signs a change of a role's key: the admin key, or the role's key and its successor."""
    admin, role = token.key("admin"), token.key(name)
    if not role:
        raise Refused(KEYS[name][1] if admin else "TOKEN_IS_IMMUTABLE")
    both = Key(keyList={"keys": [role, *successor]})
    return _one_of([admin, both] if admin else [both])


def _change(definition: TokenCreateTransactionBody, changes: dict[str, Any]) -> None:
    for name in changes.keys() & {"memo", "metadata"}:
        changes[name] = changes[name].value
    for name in changes.keys() & definition.DESCRIPTOR.fields_by_name.keys():
        definition.ClearField(name)
        if changes[name] != NO_KEY:
            definition.MergeFrom(type(definition)(**{name: changes[name]}))


def _change_treasury(execution: Execution, token: Token, treasury: str) -> None:
    """Give all NFTs or units of the treasury to another account.

    The network keeps the spenders of the NFTs. Mirror nodes show none, and so does the sandbox.
    """
    db, before = execution.db, token.treasury
    accounts.require_usable(db, treasury)
    full = "NO_REMAINING_AUTOMATIC_ASSOCIATIONS"
    if accounts.associate_receiver(db, treasury, token.token, execution.now, none_allowed=full):
        execution.effects.record_association(treasury, token.token)
    if treasury == before:
        return
    association = accounts.get_association(db, treasury, token.token)
    unrestricted = {"is_frozen": 0, "is_kyc_granted": 1}
    queries.put(db, "association", **dict(association or {}) | unrestricted)
    tokens.require_unrestricted(db, token.token, before)
    held = queries.count(db, "nft", owner=treasury, token=token.token)
    refuse_if(held, "TRANSACTION_REQUIRES_ZERO_TOKEN_BALANCES")
    for row in queries.select(db, "nft", owner=before, token=token.token):
        execution.move_nft(Nft(**row), treasury)
    execution.effects.moves_all = True
    if units := queries.count_units_of(db, before, token.token):
        execution.change_units(before, token.token, -units, UNPAID)
        execution.change_units(treasury, token.token, units, UNPAID)


def delete(execution: Execution, content: TokenDeleteTransactionBody) -> None:
    token = issued(execution, content.token, "admin")
    queries.put(execution.db, "deleted_token", token=token.token, deleted_at=execution.now)


def change_fees(execution: Execution, content: TokenFeeScheduleUpdateTransactionBody) -> None:
    token = issued(execution, content.token_id, "fee_schedule")
    definition = token.definition
    if not content.custom_fees and not definition.custom_fees:
        raise Refused("CUSTOM_SCHEDULE_ALREADY_HAS_NO_FEES")
    definition.ClearField("custom_fees")
    definition.custom_fees.extend(content.custom_fees)
    custom_fees.require_valid(execution.db, token)
    tokens.put(execution.db, token, fees_at=execution.now)


def set_paused(
    execution: Execution,
    content: Pause,
    *,
    is_paused: bool,
) -> None:
    token = tokens.find(execution.db, entity(content.token, "INVALID_TOKEN_ID"))
    refuse_if(queries.is_deleted(execution.db, token.token), "TOKEN_WAS_DELETED")
    require_issuer(execution, token, "pause")
    tokens.put(execution.db, token, is_paused=is_paused)


CREATION = Fee(Decimal(1), listing=Decimal(1), included_keys=1, has_high_volume=True)
HANDLERS = {
    "tokenCreation": Handler(
        create, check_create, CREATION, creates="tokenID", function="TokenCreate"
    ),
    "tokenDeletion": Handler(delete, about="token", function="TokenDelete"),
    "tokenUpdate": Handler(update, check_update, Fee(included_keys=1), about="token"),
    "token_fee_schedule_update": Handler(change_fees, about="token_id"),
    "token_pause": Handler(partial(set_paused, is_paused=True), about="token"),
    "token_unpause": Handler(partial(set_paused, is_paused=False), about="token"),
}
