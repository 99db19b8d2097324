"""Transactions about tokens themselves: creation, update, deletion, custom fees, pause."""

from google.protobuf.message import Message
from hiero_sdk_python.hapi.services.basic_types_pb2 import Key

from hiero_sandbox.ledger import accounts, custom_fees, keys, queries, tokens
from hiero_sandbox.ledger.account_transactions import require_memo, require_renewal
from hiero_sandbox.ledger.envelopes import Refused, refuse_if, write_id
from hiero_sandbox.ledger.execution import Execution, entity, require_short
from hiero_sandbox.ledger.nfts import Nft
from hiero_sandbox.ledger.tokens import KEYS, Token
from marketplace.hedera.ids import MAX_INT64

UNPAID = "INSUFFICIENT_TOKEN_BALANCE"
INVALID_KEYS = {"fee_schedule": "INVALID_CUSTOM_FEE_SCHEDULE_KEY"}


def check_create(content: Message) -> None:
    """Check what a node checks before consensus."""
    entity(content.treasury, "INVALID_TREASURY_ACCOUNT_FOR_TOKEN")
    is_fungible = content.tokenType == 0
    if content.initialSupply > (MAX_INT64 if is_fungible else 0):
        raise Refused("INVALID_TOKEN_INITIAL_SUPPLY")
    refuse_if(content.decimals > (2**31 - 1 if is_fungible else 0), "INVALID_TOKEN_DECIMALS")
    refuse_if(not is_fungible and not content.HasField("supplyKey"), "TOKEN_HAS_NO_SUPPLY_KEY")
    is_finite = content.supplyType == 1
    if content.maxSupply < 0 or bool(content.maxSupply) != is_finite:
        raise Refused("INVALID_TOKEN_MAX_SUPPLY")
    if is_finite and content.initialSupply > content.maxSupply:
        raise Refused("INVALID_TOKEN_INITIAL_SUPPLY")
    if content.freezeDefault and not content.HasField("freezeKey"):
        raise Refused("TOKEN_HAS_NO_FREEZE_KEY")


def create(execution: Execution, content: Message) -> None:
    refuse_if(not content.name, "MISSING_TOKEN_NAME")
    refuse_if(not content.symbol, "MISSING_TOKEN_SYMBOL")
    _require_texts(content.name, content.symbol, content.memo, content.metadata)
    _require_valid_keys(content)
    require_renewal(content, "INVALID_RENEWAL_PERIOD")
    if not (content.HasField("autoRenewPeriod") or content.HasField("expiry")):
        raise Refused("INVALID_EXPIRATION_TIME")
    db, now, treasury = execution.db, execution.now, write_id(content.treasury)
    accounts.require_usable(db, treasury, "INVALID_TREASURY_ACCOUNT_FOR_TOKEN")
    execution.require_signature(treasury)
    if content.HasField("autoRenewAccount"):
        account_id = entity(content.autoRenewAccount, "INVALID_AUTORENEW_ACCOUNT")
        accounts.require_usable(db, account_id, "INVALID_AUTORENEW_ACCOUNT")
        execution.require_signature(account_id)
    if content.HasField("adminKey"):
        execution.require_key(content.adminKey)
    token = Token(queries.new_id(db), content, True, False, now, now, now)
    custom_fees.require_valid(db, token)
    tokens.put(db, token)
    # The treasury is not frozen, and its KYC is granted.
    columns = {"is_automatic": 0, "created_at": now, "is_frozen": 0, "is_kyc_granted": 1}
    queries.put(db, "association", account_id=treasury, token=token.token, **columns)
    execution.effects.associations.append((treasury, token.token))
    execution.effects.created = token.token
    if content.initialSupply:
        code = "INVALID_TOKEN_INITIAL_SUPPLY"
        execution.change_units(treasury, token.token, content.initialSupply, code)


def _require_texts(name: str, symbol: str, memo: str, metadata: bytes) -> None:
    require_short(name.encode(), "TOKEN_NAME_TOO_LONG")
    require_short(symbol.encode(), "TOKEN_SYMBOL_TOO_LONG")
    require_short(metadata, "METADATA_TOO_LONG")
    require_memo(memo)


def _require_valid_keys(content: Message, *, may_be_removed: bool = False) -> None:
    for name, (field, _) in KEYS.items():
        key = getattr(content, field)
        is_removal = may_be_removed and key.HasField("keyList") and not key.keyList.keys
        if content.HasField(field) and not is_removal and not keys.is_valid(key):
            raise Refused(INVALID_KEYS.get(name, f"INVALID_{name.upper()}_KEY"))


def issued(execution: Execution, asked: Message, *names: str) -> Token:
    """The token that a transaction is about. Refuses if none of its keys of these names has signed."""
    token = tokens.get_usable(execution.db, entity(asked, "INVALID_TOKEN_ID"))
    require_issuer(execution, token, *names)
    return token


def require_issuer(execution: Execution, token: Token, *names: str) -> None:
    """Refuse if none of a token's keys of these names has signed."""
    held = [key for name in names if (key := token.key(name))]
    refuse_if(not held, KEYS[names[0]][1])
    refuse_if(not any(keys.has_signed(key, execution.signed) for key in held), "INVALID_SIGNATURE")


def update(execution: Execution, content: Message) -> None:
    is_metadata_alone = {field.name for field, _ in content.ListFields()} == {"token", "metadata"}
    token = issued(execution, content.token, "admin", *(["metadata"] if is_metadata_alone else []))
    _require_texts(content.name, content.symbol, content.memo.value, content.metadata.value)
    _require_valid_keys(content, may_be_removed=True)
    require_renewal(content, "INVALID_RENEWAL_PERIOD")
    if keys.is_valid(content.adminKey):
        execution.require_key(content.adminKey)
    definition = token.definition
    changes = {field.name: value for field, value in content.ListFields()}
    for field, code in KEYS.values():
        refuse_if(field in changes and not definition.HasField(field), code)
    if "treasury" in changes:
        _change_treasury(execution, token, write_id(content.treasury))
    for name in changes.keys() & {"memo", "metadata"}:
        changes[name] = changes[name].value
    for name in changes.keys() & definition.DESCRIPTOR.fields_by_name.keys():
        definition.ClearField(name)
        # An empty list of keys removes a key: HIP-540.
        if not isinstance(changes[name], Key) or keys.is_valid(changes[name]):
            definition.MergeFrom(type(definition)(**{name: changes[name]}))
    tokens.put(execution.db, token, modified_at=execution.now)


def _change_treasury(execution: Execution, token: Token, treasury: str) -> None:
    """Give all NFTs or units of the treasury to another account, which signs (TokenUpdateHandler)."""
    db, before = execution.db, token.treasury
    if treasury == before:
        return
    accounts.require_usable(db, treasury, "INVALID_TREASURY_ACCOUNT_FOR_TOKEN")
    execution.require_signature(treasury)
    execution.let_hold(treasury, token.token)
    held = queries.count(db, "nft", owner=treasury, token=token.token)
    refuse_if(held, "TRANSACTION_REQUIRES_ZERO_TOKEN_BALANCES")
    for row in queries.select(db, "nft", owner=before, token=token.token):
        execution.move_nft(Nft(**row), treasury)
    if units := queries.count_units_of(db, before, token.token):
        execution.change_units(before, token.token, -units, UNPAID)
        execution.change_units(treasury, token.token, units, UNPAID)


def delete(execution: Execution, content: Message) -> None:
    token = issued(execution, content.token, "admin")
    queries.put(execution.db, "deleted_token", token=token.token, deleted_at=execution.now)


def change_fees(execution: Execution, content: Message) -> None:
    token = issued(execution, content.token_id, "fee_schedule")
    definition = token.definition
    if not content.custom_fees and not definition.custom_fees:
        raise Refused("CUSTOM_SCHEDULE_ALREADY_HAS_NO_FEES")
    definition.ClearField("custom_fees")
    definition.custom_fees.extend(content.custom_fees)
    custom_fees.require_valid(execution.db, token)
    tokens.put(execution.db, token, fees_at=execution.now)


def set_paused(execution: Execution, content: Message, *, is_paused: bool) -> None:
    token = tokens.find(execution.db, entity(content.token, "INVALID_TOKEN_ID"))
    refuse_if(queries.is_deleted(execution.db, token.token), "TOKEN_WAS_DELETED")
    require_issuer(execution, token, "pause")
    tokens.put(execution.db, token, is_paused=is_paused)
