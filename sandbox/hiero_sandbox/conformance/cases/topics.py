"""Topics and their messages."""

import base64
import hashlib
import struct
from typing import Any

from hiero_sdk_python.crypto.private_key import PrivateKey
from hiero_sdk_python.hapi.services.consensus_submit_message_pb2 import ConsensusMessageChunkInfo
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody

from hiero_sandbox import messages
from hiero_sandbox.conformance.case import case, equal, refused
from hiero_sandbox.conformance.entities import ISSUER, ISSUER_KEY, QUARTER
from hiero_sandbox.conformance.network import Network, code_of, key_of, text

SUBMIT = "ConsensusSubmitMessageHandler of hiero-consensus-node"
CREATE = "ConsensusCreateTopicHandler of hiero-consensus-node"
UPDATE = "ConsensusUpdateTopicHandler of hiero-consensus-node"
ARRAY = bytes.fromhex("aced0005757200025b42acf317f8060854e00200007870")
SECOND_ARRAY = bytes.fromhex("7571007e0000")
# The version, the ids of payer and topic, the time and the sequence number
NUMBERS = struct.Struct(">8qiq")
DELETE = "ConsensusDeleteTopicHandler of hiero-consensus-node"


def create_topic(network: Network, **fields: Any) -> str:
    body = network.body("consensusCreateTopic", autoRenewPeriod=QUARTER, **fields)
    return text(network.done(body, ISSUER).receipt.topicID)


def topic(network: Network) -> str:
    """A topic that nobody can change, and to which everybody may write."""
    return create_topic(network, memo="conformance")


def message(network: Network, topic_id: str, content: bytes, **fields: Any) -> TransactionBody:
    given = {"topicID": messages.topic(topic_id), "message": content}
    return network.body("consensusSubmitMessage", **given | fields)


@case(
    "ConsensusSubmitMessage in consensus_submit_message.proto; TransactionReceipt.topicRunningHash"
)
def messages_in_one_order(network: Network) -> None:
    """Messages are numbered, and each running hash contains the former one."""
    topic_id = create_topic(network)
    hashes = [bytes(48)]
    for number, content in enumerate([b"one", b"two"], start=1):
        sent = network.done(message(network, topic_id, content))
        equal([sent.receipt.topicSequenceNumber, sent.receipt.topicRunningHashVersion], [number, 3])
        equal(len(sent.receipt.topicRunningHash), 48)
        hashes.append(sent.receipt.topicRunningHash)
    path = f"/topics/{topic_id}/messages"
    rows = network.shown(path, lambda body: len(body["messages"]) == 2)["messages"]
    for number, row in enumerate(rows, start=1):
        equal([row["sequence_number"], row["running_hash_version"]], [number, 3])
        equal(base64.b64decode(row["running_hash"]), hashes[number])
        equal(row["payer_account_id"], network.operator.id)
        equal(next_hash(hashes[number - 1], row), hashes[number])


def next_hash(former: bytes, row: Any) -> bytes:
    """The running hash after a message: of two arrays and numbers, as Java serializes them."""
    seconds, nanos = map(int, row["consensus_timestamp"].split("."))
    ids = [*row["payer_account_id"].split("."), *row["topic_id"].split(".")]
    fields = (3, *map(int, ids), seconds, nanos, row["sequence_number"])
    message_hash = hashlib.sha384(base64.b64decode(row["message"])).digest()
    size = len(former).to_bytes(4, "big")
    numbers = b"\x77\x4c" + NUMBERS.pack(*fields)
    content = ARRAY + size + former + numbers + SECOND_ARRAY + size + message_hash
    return hashlib.sha384(content).digest()


@case("Topic in the mirror node's openapi.yml")
def a_new_topic(network: Network) -> None:
    """A topic has its memo and keys, at the mirror node and in HAPI's query."""
    topic_id = create_topic(network, memo="conformance", submitKey=ISSUER_KEY)
    answer = network.ask("consensusGetTopicInfo", topicID=messages.topic(topic_id))
    equal([code_of(answer.header), answer.topicInfo.memo], ["OK", "conformance"])
    equal([answer.topicInfo.submitKey, answer.topicInfo.sequenceNumber], [ISSUER_KEY, 0])
    shown = network.shown(f"/topics/{topic_id}", lambda body: body["topic_id"])
    equal([shown["memo"], shown["deleted"], shown["admin_key"]], ["conformance", False, None])
    equal(shown["submit_key"]["key"], ISSUER_KEY.ed25519.hex())


@case(SUBMIT)
def a_submit_key(network: Network) -> None:
    """To a topic with a submit key, only who has the key may write."""
    topic_id = create_topic(network, submitKey=ISSUER_KEY)
    equal(network.submit(message(network, topic_id, b"one")).code, "INVALID_SIGNATURE")
    equal(network.submit(message(network, topic_id, b"one"), ISSUER).code, "SUCCESS")


@refused("INVALID_TOPIC_MESSAGE", SUBMIT)
def an_empty_message(network: Network) -> object:
    """A message has content."""
    return message(network, network.once(topic), b"")


@refused("MESSAGE_SIZE_TOO_LARGE", SUBMIT)
def a_message_of_1025_bytes(network: Network) -> object:
    """A message has 1,024 bytes at most."""
    return message(network, network.once(topic), bytes(1025))


@refused("INVALID_TOPIC_ID", SUBMIT)
def a_topic_that_nobody_has(network: Network) -> object:
    """A topic exists."""
    return message(network, "0.0.4294967295", b"one")


@case(f"{SUBMIT}; ConsensusMessageChunkInfo in consensus_submit_message.proto")
def a_message_in_chunks(network: Network) -> None:
    """Chunks name the first one's transaction, their number and how many there are."""
    topic_id = create_topic(network)
    first = message(network, topic_id, b"one")
    of_all: dict[str, Any] = {"initialTransactionID": first.transactionID, "total": 2}
    chunks = [of_all | {"number": number} for number in (1, 2, 3)]
    chunk = ConsensusMessageChunkInfo(**chunks[0])
    first.consensusSubmitMessage.chunkInfo.CopyFrom(chunk)
    network.done(first)
    network.done(message(network, topic_id, b"two", chunkInfo=chunks[1]))
    third = network.submit(message(network, topic_id, b"three", chunkInfo=chunks[2]))
    equal(third.code, "INVALID_CHUNK_NUMBER")
    path = f"/topics/{topic_id}/messages"
    rows = network.shown(path, lambda body: len(body["messages"]) == 2)["messages"]
    equal(
        [(row["chunk_info"]["number"], row["chunk_info"]["total"]) for row in rows],
        [(1, 2), (2, 2)],
    )
    ids = {row["chunk_info"]["initial_transaction_id"]["account_id"] for row in rows}
    equal(ids, {network.operator.id})


@refused("UNAUTHORIZED", DELETE)
def a_deletion_without_an_admin_key(network: Network) -> object:
    """Without an admin key, a topic is never deleted."""
    return network.body("consensusDeleteTopic", topicID=messages.topic(network.once(topic)))


@refused("UNAUTHORIZED", UPDATE)
def an_update_without_an_admin_key(network: Network) -> object:
    """Without an admin key, a topic stays as it is."""
    fields = {"topicID": messages.topic(network.once(topic)), "memo": {"value": "new"}}
    return network.body("consensusUpdateTopic", **fields)


@case(f"{UPDATE}; {DELETE}")
def an_admin_key(network: Network) -> None:
    """The admin key changes and deletes a topic, which then takes no messages; its messages stay."""
    topic_id = create_topic(network, adminKey=ISSUER_KEY)
    named = {"topicID": messages.topic(topic_id)}
    network.done(message(network, topic_id, b"one"))
    changed = network.body("consensusUpdateTopic", **named, memo={"value": "new"})
    network.done(changed, ISSUER)
    shown = network.shown(f"/topics/{topic_id}", lambda body: body["memo"] == "new")
    equal(shown["memo"], "new")
    refusal = network.submit(network.body("consensusDeleteTopic", **named))
    equal(refusal.code, "INVALID_SIGNATURE")
    network.done(network.body("consensusDeleteTopic", **named), ISSUER)
    equal(network.submit(message(network, topic_id, b"two")).code, "INVALID_TOPIC_ID")
    rows = network.get(f"/topics/{topic_id}/messages").body["messages"]
    equal([base64.b64decode(row["message"]) for row in rows], [b"one"])


@refused("INVALID_SIGNATURE", CREATE)
def an_admin_key_that_has_not_signed(network: Network) -> object:
    """A new topic's admin key signs."""
    key = key_of(PrivateKey.generate_ed25519())
    return network.body("consensusCreateTopic", autoRenewPeriod=QUARTER, adminKey=key)


@refused("AUTORENEW_DURATION_NOT_IN_RANGE", CREATE)
def a_renewal_of_one_second(network: Network) -> object:
    """A topic renews itself within 30 to 92 days."""
    return network.body("consensusCreateTopic", autoRenewPeriod={"seconds": 1})


@case("TopicMessages in the mirror node's openapi.yml")
def pages_of_messages(network: Network) -> None:
    """Messages come oldest first, and each page leads on to the next one."""
    topic_id = create_topic(network)
    for content in (b"one", b"two", b"three"):
        network.done(message(network, topic_id, content))
    path = f"/topics/{topic_id}/messages"
    network.shown(path, lambda body: len(body["messages"]) == 3)
    numbers, following = [], f"{path}?limit=2"
    while following:
        page = network.get(following).body
        numbers.append([row["sequence_number"] for row in page["messages"]])
        following = page["links"]["next"]
    equal(numbers, [[1, 2], [3]])
    newest = network.get(f"{path}?order=desc&limit=1").body["messages"]
    equal([row["sequence_number"] for row in newest], [3])
    later = network.get(f"{path}?sequencenumber=gt:1").body["messages"]
    equal([row["sequence_number"] for row in later], [2, 3])
    row = network.get(f"{path}/2").body
    equal(base64.b64decode(row["message"]), b"two")
    equal(network.get(f"/topics/messages/{row['consensus_timestamp']}").body, row)
