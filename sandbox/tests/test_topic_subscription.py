"""The mirror node's gRPC sends the messages of a topic as they come."""

import base64
import json
import signal
from threading import Thread
from urllib.request import urlopen

import grpc
import pytest
from hiero_sdk_python.hapi.mirror.consensus_service_pb2 import ConsensusTopicQuery

from hiero_sandbox import messages, times
from hiero_sandbox.hapi.address import HOST
from hiero_sandbox.messages import account
from sandbox.tests.bodies import make
from sandbox.tests.command import ask, running
from sandbox.tests.subscriptions import SUBSCRIBE, Topic, listening
from sandbox.tests.topics import DAYS


@pytest.fixture(scope="module")
def topic():
    with running() as (_, ports):
        yield Topic(ports)


def test_old_and_new_messages_come_in_order(topic):
    topic.say(b"one")
    with topic.listen(consensusStartTime={"seconds": 0}, limit=3) as stream:
        first = next(stream)
        topic.say(b"two")
        topic.say(b"three")
        further = [*stream]
    received = [first, *further]
    assert [each.message for each in received] == [b"one", b"two", b"three"]
    assert [each.sequenceNumber for each in received] == [1, 2, 3]
    url = f"http://{HOST}:{topic.ports['rest']}/api/v1/topics/{topic.id}/messages"
    with urlopen(url, timeout=60) as answer:
        shown = json.load(answer)["messages"]
    hashes = [base64.b64encode(each.runningHash).decode() for each in received]
    assert hashes == [row["running_hash"] for row in shown]
    assert {each.runningHashVersion for each in received} == {3}
    assert not first.HasField("chunkInfo")


def test_it_begins_now_and_ends_when_it_is_to(topic):
    before = ask(topic.ports, "/snapshot", {})
    topic.say(b"old")
    ask(topic.ports, "/clock", {"seconds": 60})
    with topic.listen(limit=1) as stream:
        received = []
        listener = Thread(target=lambda: received.extend(stream))
        listener.start()
        while listener.is_alive():
            topic.say(b"new")
    assert [each.message for each in received] == [b"new"]
    ask(topic.ports, "/restore", before)
    end = times.now() // times.SECOND + 2
    began = messages.timestamp(times.now())
    with topic.listen(consensusStartTime=began, consensusEndTime={"seconds": end}) as stream:
        assert [*stream] == []
    assert times.now() >= end * times.SECOND


def test_more_than_a_page(topic):
    for _ in range(101):
        topic.say(b"x")
    now = messages.timestamp(times.now())
    asked = {"consensusStartTime": {"seconds": 0}, "consensusEndTime": now}
    with topic.listen(**asked) as stream:
        numbers = [each.sequenceNumber for each in stream]
    assert numbers == [*range(1, len(numbers) + 1)]
    assert len(numbers) > 100


def test_a_mirror_node_that_lags_sends_them_later(topic):
    before = ask(topic.ports, "/snapshot", {})
    ask(topic.ports, "/lag", {"seconds": 1000})
    try:
        began = messages.timestamp(times.now())
        with topic.listen(consensusStartTime=began, limit=1) as stream:
            topic.say(b"late")
            ask(topic.ports, "/clock", {"seconds": 1000})
            assert next(stream).message == b"late"
    finally:
        ask(topic.ports, "/restore", before)


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({}, grpc.StatusCode.INVALID_ARGUMENT),
        ({"topicID": messages.topic("0.0.999999")}, grpc.StatusCode.NOT_FOUND),
        ({"topicID": messages.topic("0.0.1002")}, grpc.StatusCode.INVALID_ARGUMENT),
        ({"topicID": messages.topic("0.0.0")}, grpc.StatusCode.INVALID_ARGUMENT),
        (
            {"topicID": messages.topic("0.0.77"), "limit": 2**64 - 1},
            grpc.StatusCode.INVALID_ARGUMENT,
        ),
        ({"consensusStartTime": {"seconds": 2**40}}, grpc.StatusCode.INVALID_ARGUMENT),
        ({"consensusEndTime": {"seconds": 1}}, grpc.StatusCode.INVALID_ARGUMENT),
    ],
)
def test_what_cannot_be_subscribed_to(topic, asked, status):
    if asked and "topicID" not in asked:
        asked = asked | {"topicID": messages.topic(topic.id)}
    with (
        listening(topic.ports, ConsensusTopicQuery(**asked)) as stream,
        pytest.raises(grpc.RpcError) as error,
    ):
        next(stream)
    assert error.value.code() == status


def test_a_subscription_to_what_is_no_topic(topic):
    renewed = {"autoRenewAccount": account("0.0.2"), "autoRenewPeriod": {"seconds": 90 * DAYS}}
    body = make(
        "0.0.2", "tokenCreation", name="A", symbol="A", treasury=account("0.0.2"), **renewed
    )
    token = topic.create(body)
    with topic.listen(token) as stream, pytest.raises(grpc.RpcError) as error:
        next(stream)
    assert (error.value.code(), error.value.details()) == (
        grpc.StatusCode.INVALID_ARGUMENT,
        "Not a valid topic",
    )


def test_bytes_that_are_no_query(topic):
    with grpc.insecure_channel(f"{HOST}:{topic.ports['mirror']}") as channel:
        stream = channel.unary_stream(SUBSCRIBE)(b"\xff", timeout=60)
        with pytest.raises(grpc.RpcError) as error:
            next(stream)
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_it_ends_with_the_sandbox():
    with running() as (process, ports):
        topic = Topic(ports)
        with topic.listen(consensusStartTime={"seconds": 0}) as stream:
            topic.say(b"last")
            assert next(stream).message == b"last"
            process.send_signal(signal.SIGINT)
            with pytest.raises(grpc.RpcError) as error:
                next(stream)
            assert error.value.code() == grpc.StatusCode.UNAVAILABLE
            assert error.value.details() == "The sandbox stops"
            assert process.wait(30) == 0
