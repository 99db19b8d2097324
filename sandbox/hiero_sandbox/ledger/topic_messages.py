"""Messages of topics: who may submit one, what it costs, and the running hash.

Source: ConsensusSubmitMessageHandler of https://github.com/hiero-ledger/hiero-consensus-node, HIP-991.
"""

import hashlib
import struct
from collections import Counter
from decimal import Decimal

from hiero_sdk_python.hapi.services.basic_types_pb2 import TransactionID
from hiero_sdk_python.hapi.services.consensus_submit_message_pb2 import (
    ConsensusSubmitMessageTransactionBody,
)
from hiero_sdk_python.hapi.services.custom_fees_pb2 import FixedCustomFee
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody

from hiero_sandbox import times
from hiero_sandbox.ids import numbers
from hiero_sandbox.ledger import keys, queries, tokens, topics
from hiero_sandbox.ledger.custom_fees import unit_of
from hiero_sandbox.ledger.envelopes import Refused, refuse_if, write_id
from hiero_sandbox.ledger.execution import AssessedFee, Execution, Handler
from hiero_sandbox.ledger.network_fees import Fee, beyond
from hiero_sandbox.ledger.topic_transactions import check_named, find
from hiero_sandbox.ledger.topics import Topic
from hiero_sandbox.ledger.transfers import assess
from hiero_sandbox.storage import Connection

MAX_BYTES = 1024
HASH_VERSION = 3
# In USD: of a message to a topic with custom fees, beside the base; of each byte of another one beyond these.
WITH_FEES = Decimal("0.04983")
BYTE, INCLUDED_BYTES = Decimal("0.00000068"), 100
TWICE = "DUPLICATE_DENOMINATION_IN_MAX_CUSTOM_FEE_LIST"
# Java's serialization of what is hashed: a byte array, 76 bytes of numbers, and another byte array.
STREAM = bytes.fromhex("aced0005")
ARRAY = bytes.fromhex("757200025b42acf317f8060854e00200007870")
NUMBERS = bytes.fromhex("774c")
SECOND_ARRAY = bytes.fromhex("7571007e0000")


def check(content: ConsensusSubmitMessageTransactionBody) -> None:
    """Check what a node checks before consensus."""
    check_named(content)
    refuse_if(not content.message, "INVALID_TOPIC_MESSAGE")


def check_limits(body: TransactionBody) -> None:
    """Refuse limits of custom fees that are contradictory, and those of other transactions."""
    limits = body.max_custom_fees
    is_submission = body.WhichOneof("data") == "consensusSubmitMessage"
    refuse_if(limits and not is_submission, "MAX_CUSTOM_FEES_IS_NOT_SUPPORTED")
    account_ids = {write_id(limit.account_id) for limit in limits}
    refuse_if(len(account_ids) < len(limits), "DUPLICATE_ACCOUNT_ID_IN_MAX_CUSTOM_FEE_LIST")
    for limit in limits:
        units = [unit_of(fee) for fee in limit.fees]
        refuse_if(len({*units}) < len(units), TWICE)
        refuse_if(any(fee.amount < 0 for fee in limit.fees), "INVALID_MAX_CUSTOM_FEES")


def submit(execution: Execution, content: ConsensusSubmitMessageTransactionBody) -> None:
    topic = find(execution.db, content.topicID)
    if submit_key := topic.key("submit"):
        refuse_if(not keys.is_valid(submit_key), "INVALID_SUBMIT_KEY")
        execution.require_key(submit_key)
    refuse_if(len(content.message) > MAX_BYTES, "MESSAGE_SIZE_TOO_LARGE")
    _require_chunk(execution.signed.body.transactionID, content)
    exempt = topic.definition.fee_exempt_key_list
    if not any(keys.has_signed(key, execution.signed) for key in exempt):
        _charge_fees(execution, topic)
    _add(execution, topic, content)


def _require_chunk(id: TransactionID, content: ConsensusSubmitMessageTransactionBody) -> None:
    """Refuse a chunk that can't be one of a message that this payer began."""
    if content.HasField("chunkInfo"):
        chunk = content.chunkInfo
        refuse_if(not 1 <= chunk.number <= chunk.total, "INVALID_CHUNK_NUMBER")
        first, code = chunk.initialTransactionID, "INVALID_CHUNK_TRANSACTION_ID"
        refuse_if(first.accountID != id.accountID, code)
        refuse_if(chunk.number == 1 and first != id, code)


def _charge_fees(execution: Execution, topic: Topic) -> None:
    """Charge the topic's fees one by one, each with the fees of the token that it is paid in."""
    owed = list(filter(None, (_owed(execution, fee) for fee in topic.definition.custom_fees)))
    _require_within_limits(execution, owed)
    for fee in owed:
        execution.effects.assessed_fees.append(fee)
        if fee.token:
            for account_id in (fee.payer, fee.collector):
                execution.let_hold(account_id, fee.token)
        given = {(fee.payer, fee.token): -fee.amount, (fee.collector, fee.token): fee.amount}
        changes, further = assess(execution, given, [])
        for each in (changes, *further):
            execution.move(each)


def _owed(execution: Execution, fee: FixedCustomFee) -> AssessedFee | None:
    """What the payer owes of a fee: nothing if the payer collects it, or issues its token."""
    collector, unit = write_id(fee.fee_collector_account_id), unit_of(fee.fixed_fee)
    exempt = {collector}
    if unit:
        try:
            exempt.add(tokens.get_usable(execution.db, unit).treasury)
        except Refused:
            raise Refused("INVALID_TOKEN_ID_IN_CUSTOM_FEES") from None
    if execution.payer in exempt:
        return None
    return AssessedFee(execution.payer, collector, fee.fixed_fee.amount, unit)


def _require_within_limits(execution: Execution, owed: list[AssessedFee]) -> None:
    """Refuse fees above the payer's limits, if the transaction has any limits."""
    limits = execution.signed.body.max_custom_fees
    total: Counter[str | None] = Counter()
    for fee in owed:
        total[fee.token] += fee.amount
    own = [
        fee
        for limit in limits
        if write_id(limit.account_id) == execution.payer
        for fee in limit.fees
    ]
    most = {unit_of(fee): fee.amount for fee in own}
    for unit, amount in total.items() if limits else ():
        refuse_if(unit not in most, "NO_VALID_MAX_CUSTOM_FEE")
        refuse_if(amount > most[unit], "MAX_CUSTOM_FEE_LIMIT_EXCEEDED")


def _add(
    execution: Execution, topic: Topic, content: ConsensusSubmitMessageTransactionBody
) -> None:
    sequence_no, payer = topic.sequence_no + 1, execution.id.account_id
    running_hash = next_hash(topic, payer, execution.now, content.message)
    topics.put(execution.db, topic, sequence_no=sequence_no, running_hash=running_hash)
    queries.put(
        execution.db,
        "topic_message",
        topic=topic.topic,
        sequence_no=sequence_no,
        consensus_at=execution.now,
        payer=payer,
        submission=content.SerializeToString(),
        running_hash=running_hash,
    )
    receipt = execution.effects.record.receipt
    receipt.topicSequenceNumber, receipt.topicRunningHash = sequence_no, running_hash
    receipt.topicRunningHashVersion = HASH_VERSION


def next_hash(topic: Topic, payer: str, now: int, message: bytes) -> bytes:
    """The running hash after a message, as the nodes make it with Java's ObjectOutputStream."""
    ids = (*numbers(payer), *numbers(topic.topic))
    seconds, nanos = divmod(now, times.SECOND)
    content = struct.pack(">8qiq", HASH_VERSION, *ids, seconds, nanos, topic.sequence_no + 1)
    message_hash = hashlib.sha384(message).digest()
    size = struct.pack(">i", topics.HASH_BYTES)
    arrays = (ARRAY + size + topic.running_hash, SECOND_ARRAY + size + message_hash)
    return hashlib.sha384(STREAM + arrays[0] + NUMBERS + content + arrays[1]).digest()


def _further(db: Connection, content: ConsensusSubmitMessageTransactionBody) -> Decimal:
    """What a long message costs, or one to a topic with custom fees."""
    topic = topics.get(db, write_id(content.topicID))
    if topic and topic.definition.custom_fees:
        return WITH_FEES
    return beyond(INCLUDED_BYTES, len(content.message)) * BYTE


FEE = Fee(Decimal("0.00017"), further=_further)
HANDLERS = {"consensusSubmitMessage": Handler(submit, check, FEE, about="topicID")}
