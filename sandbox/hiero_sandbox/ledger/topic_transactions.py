"""Transactions about topics themselves: creation, update, deletion.

The order of the checks and the result codes are the network's: the handlers and validators of the consensus
service in https://github.com/hiero-ledger/hiero-consensus-node.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from hiero_sdk_python.hapi.services.basic_types_pb2 import AccountID, Key, TopicID
from hiero_sdk_python.hapi.services.consensus_create_topic_pb2 import (
    ConsensusCreateTopicTransactionBody,
)
from hiero_sdk_python.hapi.services.consensus_delete_topic_pb2 import (
    ConsensusDeleteTopicTransactionBody,
)
from hiero_sdk_python.hapi.services.consensus_submit_message_pb2 import (
    ConsensusSubmitMessageTransactionBody,
)
from hiero_sdk_python.hapi.services.consensus_update_topic_pb2 import (
    ConsensusUpdateTopicTransactionBody,
)
from hiero_sdk_python.hapi.services.custom_fees_pb2 import FixedCustomFee

from hiero_sandbox import messages, times
from hiero_sandbox.ledger import accounts, custom_fees, keys, queries, tokens, topics
from hiero_sandbox.ledger.account_transactions import RENEWAL_SECONDS, read_expiry, require_memo
from hiero_sandbox.ledger.envelopes import Refused, refuse_if
from hiero_sandbox.ledger.execution import Execution, Handler, entity
from hiero_sandbox.ledger.network_fees import Fee
from hiero_sandbox.ledger.token_transactions import NO_KEY
from hiero_sandbox.ledger.topics import Topic
from hiero_sandbox.storage import Connection

Renewing = ConsensusCreateTopicTransactionBody | ConsensusUpdateTopicTransactionBody
MAX_EXEMPT_KEYS = 10
WITH_FEES = Decimal("1.99")  # of a topic with custom fees, beside the base
NOBODY = AccountID(accountNum=0)  # in place of a renewing account that is taken away
COLLECTOR = "INVALID_CUSTOM_FEE_COLLECTOR"
RENEWAL, RENEWING = "AUTORENEW_DURATION_NOT_IN_RANGE", "INVALID_AUTORENEW_ACCOUNT"
# What only the admin key changes, though a topic without one may have it.
ADMINS_FIELDS = ("adminKey", "autoRenewAccount", "autoRenewPeriod", "memo")


def find(db: Connection, named: TopicID) -> Topic:
    """Find a topic. Refuses an id of none, and of one that was deleted."""
    code = "INVALID_TOPIC_ID"
    found = topics.get(db, entity(named, code))
    if found is None or found.is_deleted:
        raise Refused(code)
    return found


def check_create(content: ConsensusCreateTopicTransactionBody) -> None:
    """Check what a node checks before consensus."""
    _require_distinct(content.fee_exempt_key_list)


def _require_distinct(exempt: Sequence[Key]) -> None:
    distinct = {key.SerializeToString() for key in exempt}
    refuse_if(len(distinct) < len(exempt), "FEE_EXEMPT_KEY_LIST_CONTAINS_DUPLICATED_KEYS")


def create(execution: Execution, content: ConsensusCreateTopicTransactionBody) -> None:
    db, now = execution.db, execution.now
    if content.HasField("adminKey") and content.adminKey != NO_KEY:
        refuse_if(not keys.is_valid(content.adminKey), "BAD_ENCODING")
        execution.require_key(content.adminKey)
    _require_renewing(execution, content)
    if content.HasField("submitKey"):
        refuse_if(not keys.is_valid(content.submitKey), "BAD_ENCODING")
    if content.HasField("fee_schedule_key") and not keys.is_valid(content.fee_schedule_key):
        raise Refused("INVALID_CUSTOM_FEE_SCHEDULE_KEY")
    _require_exempt_keys(content.fee_exempt_key_list)
    _require_fees(db, content.custom_fees)
    require_memo(content.memo)
    refuse_if(content.autoRenewPeriod.seconds not in RENEWAL_SECONDS, RENEWAL)
    expires_at = (now // times.SECOND + content.autoRenewPeriod.seconds) * times.SECOND
    made = Topic(queries.new_id(db), content, now, now, now, expires_at)
    topics.put(db, made)
    execution.effects.record.receipt.topicID.CopyFrom(messages.topic(made.topic))


def _require_renewing(
    execution: Execution,
    content: Renewing,
) -> None:
    """Refuse an account for renewals that does not exist, or has not signed."""
    if content.HasField("autoRenewAccount"):
        renewing = entity(content.autoRenewAccount, RENEWING)
        accounts.require_existing(execution.db, renewing, RENEWING)
        execution.require_signature(renewing)
        accounts.require_usable(execution.db, renewing, RENEWING)


def _require_exempt_keys(exempt: Sequence[Key]) -> None:
    refuse_if(len(exempt) > MAX_EXEMPT_KEYS, "MAX_ENTRIES_FOR_FEE_EXEMPT_KEY_LIST_EXCEEDED")
    refuse_if(not all(map(keys.is_valid, exempt)), "INVALID_KEY_IN_FEE_EXEMPT_KEY_LIST")


def _require_fees(db: Connection, fees: Sequence[FixedCustomFee]) -> None:
    """Refuse custom fees that the network refuses (ConsensusCustomFeesValidator)."""
    refuse_if(len(fees) > custom_fees.MAX_FEES, "CUSTOM_FEES_LIST_TOO_LONG")
    for fee in fees:
        collector = entity(fee.fee_collector_account_id, COLLECTOR)
        accounts.require_existing(db, collector, COLLECTOR)
        accounts.require_usable(db, collector)
        refuse_if(not fee.HasField("fixed_fee"), "CUSTOM_FEE_NOT_FULLY_SPECIFIED")
        custom_fees.require_valid_amount(db, fee.fixed_fee, collector)
        if unit := custom_fees.unit_of(fee.fixed_fee):
            most = tokens.find(db, unit).definition.maxSupply
            refuse_if(0 < most < fee.fixed_fee.amount, "AMOUNT_EXCEEDS_TOKEN_MAX_SUPPLY")
            row = accounts.get_association(db, collector, unit)
            refuse_if(row and row["is_frozen"], "ACCOUNT_FROZEN_FOR_TOKEN")


# Updates: ConsensusUpdateTopicHandler


def check_update(content: ConsensusUpdateTopicTransactionBody) -> None:
    """Check what a node checks before consensus."""
    check_named(content)
    _require_distinct(content.fee_exempt_key_list.keys)


def check_named(
    content: ConsensusUpdateTopicTransactionBody
    | ConsensusDeleteTopicTransactionBody
    | ConsensusSubmitMessageTransactionBody,
) -> None:
    """Check what a node checks before consensus."""
    refuse_if(not content.HasField("topicID"), "INVALID_TOPIC_ID")


def update(execution: Execution, content: ConsensusUpdateTopicTransactionBody) -> None:
    topic = find(execution.db, content.topicID)
    changed = {field.name: value for field, value in content.ListFields()}
    del changed["topicID"]
    _require_signatures(execution, content, topic, changed)
    if any(name in changed for name in ADMINS_FIELDS):
        refuse_if(not topic.key("admin"), "UNAUTHORIZED")
        is_dropped = changed.get("autoRenewAccount") == NOBODY
        if topic.definition.HasField("autoRenewAccount") and not is_dropped:
            refuse_if(changed.get("adminKey") == NO_KEY, "AUTORENEW_ACCOUNT_NOT_ALLOWED")
    _require_attributes(execution.db, content, topic)
    expires_at = topic.expires_at
    if "expirationTime" in changed:
        expires_at = read_expiry(execution, content.expirationTime, expires_at)
    if "autoRenewPeriod" in changed:
        refuse_if(content.autoRenewPeriod.seconds not in RENEWAL_SECONDS, RENEWAL)
    _apply(topic.definition, changed)
    fees_at = execution.now if "custom_fees" in changed else topic.fees_at
    times_changed = {"modified_at": execution.now, "fees_at": fees_at, "expires_at": expires_at}
    topics.put(execution.db, topic, **times_changed)


def _require_signatures(
    execution: Execution,
    content: ConsensusUpdateTopicTransactionBody,
    topic: Topic,
    changed: Iterable[str],
) -> None:
    is_only = {*changed} - {"fee_schedule_key", "fee_exempt_key_list", "custom_fees"}
    if is_only == {"submitKey"}:
        held = [key for name in ("submit", "admin") if (key := topic.key(name))]
        refuse_if(not held, "UNAUTHORIZED")
        return execution.require_key(Key(thresholdKey={"threshold": 1, "keys": {"keys": held}}))
    if is_only == {"expirationTime"}:
        return None
    admin = topic.key("admin")
    if admin is None:
        raise Refused("UNAUTHORIZED")
    execution.require_key(admin)
    if content.HasField("adminKey") and content.adminKey != NO_KEY:
        execution.require_key(content.adminKey)
    if content.autoRenewAccount != NOBODY:
        _require_renewing(execution, content)
    if content.HasField("custom_fees"):
        schedule = topic.key("fee_schedule")
        if schedule is None:
            raise Refused("FEE_SCHEDULE_KEY_NOT_SET")
        execution.require_key(schedule)
    return None


def _require_attributes(
    db: Connection, content: ConsensusUpdateTopicTransactionBody, topic: Topic
) -> None:
    if content.HasField("adminKey") and content.adminKey != NO_KEY:
        refuse_if(not keys.is_valid(content.adminKey), "BAD_ENCODING")
    is_none = keys.is_empty(content.submitKey) and content.submitKey != Key()
    if content.HasField("submitKey") and not is_none:
        refuse_if(not keys.is_valid(content.submitKey), "BAD_ENCODING")
    require_memo(content.memo.value)
    if content.HasField("fee_schedule_key"):
        refuse_if(not topic.key("fee_schedule"), "FEE_SCHEDULE_KEY_CANNOT_BE_UPDATED")
        is_valid = keys.is_empty(content.fee_schedule_key) or keys.is_valid(
            content.fee_schedule_key
        )
        refuse_if(not is_valid, "INVALID_CUSTOM_FEE_SCHEDULE_KEY")
    _require_exempt_keys(content.fee_exempt_key_list.keys)
    _require_fees(db, content.custom_fees.fees)


def _apply(definition: ConsensusCreateTopicTransactionBody, changed: dict[str, Any]) -> None:
    changed.pop("expirationTime", None)
    unwrapped = {"memo": "value", "fee_exempt_key_list": "keys", "custom_fees": "fees"}
    for name, value in changed.items():
        definition.ClearField(name)
        if name in unwrapped:
            value = getattr(value, unwrapped[name])
        is_taken_away = value == NOBODY or (isinstance(value, Key) and keys.is_empty(value))
        if not is_taken_away:
            definition.MergeFrom(type(definition)(**{name: value}))


def delete(execution: Execution, content: ConsensusDeleteTopicTransactionBody) -> None:
    topic = find(execution.db, content.topicID)
    admin = topic.key("admin")
    if admin is None:
        raise Refused("UNAUTHORIZED")
    execution.require_key(admin)
    topics.put(execution.db, topic, is_deleted=1, modified_at=execution.now)
    execution.effects.record.receipt.topicID.CopyFrom(messages.topic(topic.topic))


def _further(db: Connection, content: ConsensusCreateTopicTransactionBody) -> Decimal:
    """What a topic with custom fees costs."""
    return WITH_FEES if content.custom_fees else Decimal(0)


UPDATE = Fee(Decimal("0.00022"), included_keys=1, counts_lists_of_keys=False)
HANDLERS = {
    "consensusCreateTopic": Handler(
        create,
        check_create,
        Fee(Decimal("0.01"), included_keys=0, further=_further, has_high_volume=True),
        creates="topicID",
    ),
    "consensusDeleteTopic": Handler(delete, check_named, Fee(Decimal("0.005")), about="topicID"),
    "consensusUpdateTopic": Handler(update, check_update, UPDATE, about="topicID"),
}
