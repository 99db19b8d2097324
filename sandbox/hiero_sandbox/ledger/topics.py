"""Topics: messages in one order, which nobody can change. HIP-991 has their custom fees."""

from typing import Any, NamedTuple

from hiero_sdk_python.hapi.services.basic_types_pb2 import Key
from hiero_sdk_python.hapi.services.consensus_create_topic_pb2 import (
    ConsensusCreateTopicTransactionBody,
)

from hiero_sandbox.ledger import keys, queries
from hiero_sandbox.storage import Connection

HASH_BYTES = 48  # of a running hash, which begins with zeros
KEYS = {"admin": "adminKey", "submit": "submitKey", "fee_schedule": "fee_schedule_key"}


class Topic(NamedTuple):
    topic: str
    definition: ConsensusCreateTopicTransactionBody
    created_at: int  # nanoseconds
    modified_at: int
    fees_at: int  # when its custom fees were last changed
    expires_at: int  # nothing happens then
    is_deleted: int = 0
    sequence_no: int = 0  # of its last message
    running_hash: bytes = bytes(HASH_BYTES)  # after that message

    def key(self, name: str) -> Key | None:
        """One of its keys, by the names of KEYS. An empty key is none."""
        key: Key = getattr(self.definition, KEYS[name])
        return None if keys.is_empty(key) else key


def get(db: Connection, topic: str) -> Topic | None:
    row = queries.get(db, "topic", topic=topic)
    if row is None:
        return None
    definition = ConsensusCreateTopicTransactionBody.FromString(row["definition"])
    return Topic(**dict(row) | {"definition": definition})


def put(db: Connection, topic: Topic, **changes: Any) -> None:
    """Write a topic with some fields changed."""
    changed = topic._replace(**changes)
    content = changed.definition.SerializeToString()
    queries.put(db, "topic", **changed._asdict() | {"definition": content})
