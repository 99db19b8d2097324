"""HAPI's query about a topic, and the mirror node's subscription to its messages.

Source: ConsensusController and TopicMessageFilter of https://github.com/hiero-ledger/hiero-mirror-node.
"""

from collections.abc import Iterator

from grpc import StatusCode
from hiero_sdk_python.hapi.mirror.consensus_service_pb2 import (
    ConsensusTopicQuery,
    ConsensusTopicResponse,
)
from hiero_sdk_python.hapi.services.consensus_get_topic_info_pb2 import (
    ConsensusGetTopicInfoQuery,
    ConsensusGetTopicInfoResponse,
)
from hiero_sdk_python.hapi.services.consensus_submit_message_pb2 import (
    ConsensusSubmitMessageTransactionBody,
)
from hiero_sdk_python.hapi.services.timestamp_pb2 import Timestamp

from hiero_sandbox import times
from hiero_sandbox.conditions import mirror_now
from hiero_sandbox.database import read
from hiero_sandbox.hapi.errors import Failed
from hiero_sandbox.ids import MAX_INT64
from hiero_sandbox.ledger import accounts, queries, tokens, topics
from hiero_sandbox.ledger.envelopes import Refused, write_id
from hiero_sandbox.ledger.execution import entity
from hiero_sandbox.ledger.topic_messages import HASH_VERSION
from hiero_sandbox.ledger.topic_transactions import find
from hiero_sandbox.messages import timestamp

PAGE = 100
# On the network, a message needs some seconds to reach consensus. Here it needs none, and an SDK that
# subscribes just before it submits is often too late: a subscription without a start begins earlier.
LEAD = 2 * times.SECOND
FAR = 9_223_372_035  # seconds; further times are the end of time
INVALID = StatusCode.INVALID_ARGUMENT


def find_topic(
    query: ConsensusGetTopicInfoQuery, response: ConsensusGetTopicInfoResponse, now: int
) -> None:
    found, info = find(read(), query.topicID), response.topicInfo
    response.topicID.CopyFrom(query.topicID)
    for field, value in found.definition.ListFields():  # with the same names and types
        info.MergeFrom(type(info)(**{field.name: value}))
    info.runningHash, info.sequenceNumber = found.running_hash, found.sequence_no
    info.expirationTime.seconds = found.expires_at // times.SECOND


def subscribe(content: bytes, now: int) -> Iterator[list[bytes]]:
    """The messages of a topic as they come, until there are as many as asked for, or until a time.

    Each step shows those that are new; none is an empty list.
    """
    asked = ConsensusTopicQuery.FromString(content)
    topic = _require_topic(asked)
    low = _moment(asked.consensusStartTime) if asked.HasField("consensusStartTime") else now - LEAD
    high = _moment(asked.consensusEndTime) if asked.HasField("consensusEndTime") else MAX_INT64
    if low > now:
        raise Failed(INVALID, "subscribeTopic.filter: Start time must be before the current time")
    if high <= low:
        raise Failed(INVALID, "subscribeTopic.filter: End time must be after start time")
    return _follow(topic, low, high, asked.limit or MAX_INT64)


def _require_topic(asked: ConsensusTopicQuery) -> str:
    name = "subscribeTopic.filter"
    if asked.limit > MAX_INT64:  # it is negative in 64 bits
        raise Failed(INVALID, f"{name}.limit: must be greater than or equal to 0")
    if not asked.HasField("topicID"):
        raise Failed(INVALID, f"{name}.topicId: must not be null")
    try:
        topic = entity(asked.topicID, "INVALID_TOPIC_ID")
    except Refused:
        raise Failed(INVALID, "Invalid entity ID") from None
    if topics.get(read(), topic) is None:
        if _is_of_another_kind(topic):
            raise Failed(INVALID, "Not a valid topic")
        raise Failed(StatusCode.NOT_FOUND, f"Topic {write_id(asked.topicID)} does not exist")
    return topic


def _is_of_another_kind(entity_id: str) -> bool:
    """Whether an id that is no topic's is that of an account, a token, a file or a schedule."""
    is_created = queries.get(read(), "created", number=int(entity_id.rpartition(".")[2]))
    return bool(is_created or accounts.exists(read(), entity_id) or tokens.get(read(), entity_id))


def _moment(asked: Timestamp) -> int:
    is_far = asked.seconds >= FAR
    return MAX_INT64 if is_far else max(0, asked.seconds * times.SECOND + asked.nanos)


def _follow(topic: str, low: int, high: int, limit: int) -> Iterator[list[bytes]]:
    while limit:
        is_over = mirror_now() >= high
        rows = queries.list_messages(read(), topic, low, high, min(limit, PAGE))
        limit -= len(rows)
        if rows:
            low = rows[-1]["consensus_at"] + 1
        elif is_over:
            return
        yield [_response(row).SerializeToString() for row in rows]


def _response(row: queries.Row) -> ConsensusTopicResponse:
    submission = ConsensusSubmitMessageTransactionBody.FromString(row["submission"])
    return ConsensusTopicResponse(
        consensusTimestamp=timestamp(row["consensus_at"]),
        message=submission.message,
        runningHash=row["running_hash"],
        runningHashVersion=HASH_VERSION,
        sequenceNumber=row["sequence_no"],
        chunkInfo=submission.chunkInfo if submission.HasField("chunkInfo") else None,
    )
