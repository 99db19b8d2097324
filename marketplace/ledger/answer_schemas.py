"""How the mirror node's JSON is read: a marshmallow schema for each object of mirror_schemas.py.

Source of the keys: the mirror node's OpenAPI document, /api/v1. A key that no field names is ignored. Null
counts as missing where a field has a default.
"""

import base64
import re
import string
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar, cast

from marshmallow import EXCLUDE, Schema, ValidationError, fields, missing, post_load, pre_load
from marshmallow.validate import Range

from marketplace.hedera import times
from marketplace.hedera.ids import MAX_INT64, TransactionId, is_entity_id
from marketplace.ledger import mirror_schemas

# 100,000 HBAR, in tinybars: more than any transaction costs. A page's fees still add up to less than 2^63.
MAX_FEE = 10**13

UNREADABLE = object()  # stands for a value whose parent is not an object; no field reads it

T = TypeVar("T")


class Text(fields.String):
    """A text that a function parses. The function raises ValueError to refuse the text."""

    def __init__(self, parse: Callable[[str], Any] = str, **more: Any) -> None:
        super().__init__(**more)
        self._parse = parse

    def _deserialize(self, value: Any, *more: Any, **others: Any) -> Any:
        if not isinstance(value, str):
            raise self.make_error("invalid")
        try:
            return self._parse(value)
        except ValueError as error:
            raise ValidationError(f"Not valid: {error}.") from error


def _whole(low: int = -MAX_INT64, high: int = MAX_INT64, **more: Any) -> fields.Integer:
    return fields.Integer(strict=True, validate=Range(low, high), **more)


class Amount(fields.Integer):
    """An amount of tokens: mirror nodes write some as numbers, and others as strings of digits."""

    def __init__(self, **more: Any) -> None:
        super().__init__(strict=True, validate=Range(0, MAX_INT64), **more)

    def _deserialize(self, value: Any, *more: Any, **others: Any) -> Any:
        if isinstance(value, str) and not re.fullmatch("[0-9]{1,19}", value):
            raise self.make_error("invalid")
        return super()._deserialize(
            int(value) if isinstance(value, str) else value, *more, **others
        )


class Rows(fields.Nested):
    """A list of objects, as a tuple."""

    def __init__(self, schema: type[Schema], **more: Any) -> None:
        super().__init__(schema, many=True, **more)

    def _deserialize(self, *value: Any, **more: Any) -> Any:
        return tuple(super()._deserialize(*value, **more))


class Lenient(fields.Field[Any]):
    """Another field's value, or None if that field cannot read it."""

    def __init__(self, field: fields.Field[Any], load_default: Any = None, **more: Any) -> None:
        super().__init__(allow_none=True, load_default=load_default, **more)
        self._field = field

    def _bind_to_schema(self, field_name: str, parent: Any) -> None:
        super()._bind_to_schema(field_name, parent)
        self._field._bind_to_schema(field_name, parent)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **more: Any) -> Any:
        try:
            return self._field.deserialize(value, attr, data, **more)
        except ValidationError:
            return None


def _code(value: str) -> str:
    """The name of a transaction type or of a result."""
    if not re.fullmatch("[A-Z0-9_]{1,80}", value):
        raise ValueError("it is not a code")
    return value


def _entity_id(value: str) -> str:
    if not is_entity_id(value):
        raise ValueError("it is not an entity id")
    return value


def _host(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9.-]{0,253}", value):
        raise ValueError("it is not the name of a host")
    return value


def _base64(value: str) -> bytes:
    """Decode base64, with or without its padding."""
    return base64.b64decode(value + "=" * (-len(value) % 4), validate=True)


def _pointer(value: str) -> str:
    """The metadata of an NFT: usually text in base64, otherwise the text itself.

    Some minters pad it to a fixed length with NULs or spaces.
    """
    try:
        decoded = _base64(value).decode()
    except ValueError:  # not base64, or the bytes are not text
        decoded = value.encode(errors="ignore").decode()
    return decoded.strip(f"\0{string.whitespace}")


def _entity(key: str, **more: Any) -> Text:
    return Text(_entity_id, data_key=key, **more)


def _moment(key: str, **more: Any) -> Text:
    """A consensus timestamp, in nanoseconds."""
    return Text(times.from_consensus, data_key=key, **more)


def _is(expected: str, key: str) -> Text:
    return Text(expected.__eq__, data_key=key, load_default=False)


def _flag(key: str) -> fields.Boolean:
    return fields.Boolean(data_key=key, truthy={True}, falsy={False}, load_default=False)


class Entities(fields.List[Any]):
    """A list of entity ids, as a tuple."""

    def __init__(self, **more: Any) -> None:
        super().__init__(Text(_entity_id), **more)

    def _deserialize(self, *value: Any, **more: Any) -> Any:
        return tuple(super()._deserialize(*value, **more))


NEEDED: Mapping[str, Any] = {"required": True}
OR_NULL: Mapping[str, Any] = {"required": True, "allow_none": True}
IF_ANY: Mapping[str, Any] = {"load_default": None, "allow_none": True}


class AnswerSchema(Schema, Generic[T]):
    """Reads an object. A field's key with dots is a path through nested objects."""

    class Meta:
        unknown = EXCLUDE

    makes: Callable[..., T]

    def read(self, document: object) -> T:
        """Raises ValueError, which names the key."""
        try:
            return cast(T, self.load(cast(Any, document)))
        except ValidationError as error:
            raise ValueError(_describe(error.messages)) from error

    def read_rows(self, document: Mapping[str, Any], key: str) -> list[T]:
        """Read the objects of a list. Raises ValueError, which names the key."""
        rows = read_list(document, key)
        try:
            return cast(list[T], self.load(rows, many=True))
        except ValidationError as error:
            raise ValueError(f"{key}.{_describe(error.messages)}") from error

    @pre_load
    def _flatten(self, document: Any, **_: Any) -> Any:
        if not isinstance(document, dict):
            return document  # marshmallow refuses it
        found = {}
        for name, field in self.load_fields.items():
            key = field.data_key or name
            try:
                value = _find(document, key) if "." in key else document.get(key, missing)
            except ValidationError:
                if not isinstance(field, Lenient):
                    raise
                value = UNREADABLE
            if value is not missing and (value is not None or field.load_default is missing):
                found[key] = value
        return found

    @post_load
    def _make(self, values: dict[str, Any], **_: Any) -> Any:
        return type(self).makes(**values)


def read_list(document: Mapping[str, Any], key: str) -> list[Any]:
    """The list of a key. Raises ValueError, which names the key."""
    rows = document.get(key)
    if not isinstance(rows, list):
        raise ValueError(f"{key}: Not a list.")
    return rows


def _describe(messages: Any) -> str:
    """The first of marshmallow's messages, after the keys that lead to it: ``nfts.0.token_id: ...``."""
    path = []
    while isinstance(messages, dict) and messages:
        key, messages = next(iter(messages.items()))
        path.append(str(key))
    first = messages[0] if isinstance(messages, list) and messages else messages
    return f"{'.'.join(path)}: {first}"


def _find(document: Any, key: str) -> Any:
    """The value at a key's path; missing if an object on the path is null or missing."""
    value = document
    for part in key.split("."):
        if value is None or value is missing:
            return missing
        if not isinstance(value, dict):
            raise ValidationError({key: ["Not within an object."]})
        value = value.get(part, missing)
    return value


class NftSchema(AnswerSchema[mirror_schemas.Nft]):
    makes = mirror_schemas.Nft
    token = _entity("token_id", **NEEDED)
    serial_no = _whole(1, data_key="serial_number", **NEEDED)
    owner = _entity("account_id", **OR_NULL)
    modified_at = _moment("modified_timestamp", **NEEDED)
    is_deleted = _flag("deleted")
    spender = _entity("spender", **IF_ANY)  # old mirror nodes leave it out
    pointer = Text(_pointer, data_key="metadata", load_default="")


class KeySchema(AnswerSchema[mirror_schemas.LedgerKey]):
    makes = mirror_schemas.LedgerKey
    type = Text(data_key="_type", **NEEDED)
    content = Text(bytes.fromhex, data_key="key", **NEEDED)


class AccountSchema(AnswerSchema[mirror_schemas.LedgerAccount]):
    makes = mirror_schemas.LedgerAccount
    id = _entity("account", **NEEDED)
    is_deleted = _flag("deleted")
    key = fields.Nested(KeySchema, **IF_ANY)
    balance = _whole(0, data_key="balance.balance", **IF_ANY)
    max_automatic_associations = _whole(data_key="max_automatic_token_associations", load_default=0)
    must_sign_to_receive = _flag("receiver_sig_required")


class RelationshipSchema(AnswerSchema[mirror_schemas.Relationship]):
    makes = mirror_schemas.Relationship
    token = _entity("token_id", **NEEDED)
    is_automatic = _flag("automatic_association")
    is_frozen = _is("FROZEN", "freeze_status")
    lacks_kyc = _is("REVOKED", "kyc_status")
    balance = _whole(0, load_default=0)
    created_at = Lenient(Text(times.from_consensus), data_key="created_timestamp")


class FallbackFeeSchema(AnswerSchema[mirror_schemas.FallbackFee]):
    makes = mirror_schemas.FallbackFee
    amount = Amount(**NEEDED)
    token = _entity("denominating_token_id", **OR_NULL)


class RoyaltyFeeSchema(AnswerSchema[mirror_schemas.RoyaltyFee]):
    makes = mirror_schemas.RoyaltyFee
    collector = _entity("collector_account_id", **NEEDED)
    numerator = _whole(0, data_key="amount.numerator", **NEEDED)
    denominator = _whole(1, data_key="amount.denominator", **NEEDED)
    fallback = fields.Nested(FallbackFeeSchema, data_key="fallback_fee", **IF_ANY)
    exempts_collectors = _flag("all_collectors_are_exempt")


class FixedFeeSchema(AnswerSchema[mirror_schemas.FixedFee]):
    makes = mirror_schemas.FixedFee
    collector = _entity("collector_account_id", **NEEDED)
    amount = Amount(**NEEDED)
    token = _entity("denominating_token_id", **OR_NULL)
    exempts_collectors = _flag("all_collectors_are_exempt")


class TokenSchema(AnswerSchema[mirror_schemas.LedgerToken]):
    makes = mirror_schemas.LedgerToken
    name = Text(**NEEDED)
    type = Text(load_default="")
    total_supply = Lenient(Amount())
    symbol = fields.Raw(**IF_ANY)
    treasury = Lenient(Text(_entity_id), data_key="treasury_account_id")
    royalties = Lenient(
        Rows(RoyaltyFeeSchema), data_key="custom_fees.royalty_fees", load_default=()
    )
    fixed_fees = Lenient(Rows(FixedFeeSchema), data_key="custom_fees.fixed_fees", load_default=())
    fees_since = Lenient(Text(times.from_consensus), data_key="custom_fees.created_timestamp")
    can_change_fees = fields.Function(
        deserialize=bool, data_key="fee_schedule_key", load_default=False
    )
    modified_at = Lenient(Text(times.from_consensus), data_key="modified_timestamp")
    is_deleted = _flag("deleted")
    is_paused = _is("PAUSED", "pause_status")
    asks_for_kyc = fields.Function(deserialize=bool, data_key="kyc_key", load_default=False)
    freezes_newcomers = _flag("freeze_default")
    metadata = Lenient(Text(_pointer))
    memo = Lenient(Text())


class ExchangeRateSchema(AnswerSchema[mirror_schemas.ExchangeRate]):
    makes = mirror_schemas.ExchangeRate
    cents = _whole(1, data_key="cent_equivalent", **NEEDED)
    hbar = _whole(1, data_key="hbar_equivalent", **NEEDED)


class ExchangeRatesSchema(AnswerSchema[mirror_schemas.ExchangeRates]):
    makes = mirror_schemas.ExchangeRates
    current = fields.Nested(ExchangeRateSchema, data_key="current_rate", **NEEDED)
    following = fields.Nested(ExchangeRateSchema, data_key="next_rate", **NEEDED)


class NftTransferSchema(AnswerSchema[mirror_schemas.LedgerNftTransfer]):
    makes = mirror_schemas.LedgerNftTransfer
    token = _entity("token_id", **NEEDED)
    serial_no = _whole(data_key="serial_number", **NEEDED)
    sender = _entity("sender_account_id", **IF_ANY)
    receiver = _entity("receiver_account_id", **IF_ANY)


class HbarTransferSchema(AnswerSchema[mirror_schemas.HbarTransfer]):
    makes = mirror_schemas.HbarTransfer
    account = _entity("account", **NEEDED)
    amount = _whole(**NEEDED)


class AssessedFeeSchema(AnswerSchema[mirror_schemas.AssessedFee]):
    makes = mirror_schemas.AssessedFee
    amount = _whole(**NEEDED)
    collector = _entity("collector_account_id", **NEEDED)
    token = _entity("token_id", **IF_ANY)
    payers = Entities(data_key="effective_payer_account_ids", load_default=())


class TransactionSchema(AnswerSchema[mirror_schemas.Transaction]):
    makes = mirror_schemas.Transaction
    name = Text(_code, **NEEDED)
    transaction_id = Text(TransactionId.require, **NEEDED)
    result = Text(_code, **NEEDED)
    consensus_at = _moment("consensus_timestamp", **NEEDED)
    memo = Text(_base64, data_key="memo_base64", load_default=b"")
    nonce = _whole(load_default=0)
    scheduled = _flag("scheduled")
    fee_tinybars = _whole(0, MAX_FEE, data_key="charged_tx_fee", load_default=0)
    nft_transfers = Rows(NftTransferSchema, load_default=())
    hbar_transfers = Rows(HbarTransferSchema, data_key="transfers", load_default=())
    rewards = Lenient(
        Rows(HbarTransferSchema), data_key="staking_reward_transfers", load_default=()
    )
    assessed_fees = Lenient(
        Rows(AssessedFeeSchema), data_key="assessed_custom_fees", load_default=()
    )
    entity_id = _entity("entity_id", **IF_ANY)
    parent_at = Lenient(Text(times.from_consensus), data_key="parent_consensus_timestamp")


class NftEventSchema(AnswerSchema[mirror_schemas.NftEvent]):
    makes = mirror_schemas.NftEvent
    name = Text(_code, data_key="type", **NEEDED)
    transaction_id = Text(TransactionId.require, **NEEDED)
    consensus_at = _moment("consensus_timestamp", **NEEDED)
    sender = _entity("sender_account_id", **IF_ANY)
    receiver = _entity("receiver_account_id", **IF_ANY)
    is_approval = _flag("is_approval")


class ScheduleSignatureSchema(AnswerSchema[mirror_schemas.ScheduleSignature]):
    makes = mirror_schemas.ScheduleSignature
    consensus_at = _moment("consensus_timestamp", **NEEDED)
    public_key = Text(_base64, data_key="public_key_prefix", load_default=b"")


class ScheduleSchema(AnswerSchema[mirror_schemas.Schedule]):
    makes = mirror_schemas.Schedule
    id = _entity("schedule_id", **NEEDED)
    creator = _entity("creator_account_id", **NEEDED)
    payer = _entity("payer_account_id", **IF_ANY)
    created_at = _moment("consensus_timestamp", **NEEDED)
    body = Text(_base64, data_key="transaction_body", **NEEDED)
    signatures = Rows(ScheduleSignatureSchema, load_default=())
    memo = Text(load_default="")
    is_deleted = _flag("deleted")
    executed_at = _moment("executed_timestamp", **IF_ANY)
    expires_at = _moment("expiration_time", **IF_ANY)
    waits_for_expiry = _flag("wait_for_expiry")
    admin_key = Lenient(fields.Nested(KeySchema))


class PartSchema(AnswerSchema[mirror_schemas.Part]):
    makes = mirror_schemas.Part
    payer = _entity("initial_transaction_id.account_id", **NEEDED)
    valid_start = _moment("initial_transaction_id.transaction_valid_start", **NEEDED)
    number = _whole(1, **NEEDED)
    total = _whole(1, **NEEDED)


class MessageSchema(AnswerSchema[mirror_schemas.Message]):
    makes = mirror_schemas.Message
    content = Text(_base64, data_key="message", **NEEDED)
    topic = _entity("topic_id", **IF_ANY)
    part = Lenient(fields.Nested(PartSchema), data_key="chunk_info")


class MomentSchema(AnswerSchema[int]):
    """Reads only a transaction's consensus timestamp."""

    makes = staticmethod(lambda consensus_at: consensus_at)
    consensus_at = _moment("consensus_timestamp", **NEEDED)


class BlockSchema(AnswerSchema[int]):
    """Reads only a block's end."""

    makes = staticmethod(lambda ended_at: ended_at)
    ended_at = _moment("timestamp.to", **NEEDED)


class EndpointSchema(AnswerSchema[mirror_schemas.Endpoint]):
    makes = mirror_schemas.Endpoint
    port = _whole(1, 65_535, **NEEDED)
    domain = Text(_host, data_key="domain_name", load_default="")
    ip = Text(_host, data_key="ip_address_v4", load_default="")


class NodeSchema(AnswerSchema[mirror_schemas.ConsensusNode]):
    makes = mirror_schemas.ConsensusNode
    account = _entity("node_account_id", **NEEDED)
    endpoints = Lenient(Rows(EndpointSchema), data_key="service_endpoints", load_default=())


class TopicSchema(AnswerSchema[str]):
    """Reads only a topic's memo."""

    makes = staticmethod(lambda memo: memo)
    memo = Text(**NEEDED)


class LinksSchema(AnswerSchema[str | None]):
    """Reads only the next page's address; None on the last page."""

    makes = staticmethod(lambda following: following)
    following = Text(data_key="links.next", **OR_NULL)
