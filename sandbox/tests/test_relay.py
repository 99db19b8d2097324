"""The relay between dApps and wallets: who may connect, what is delivered, and what it refuses."""

import asyncio
import json
import socket
import time

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from hiero_sandbox import relay
from hiero_sandbox.relay import mailbox, server
from hiero_sandbox.relay.server import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    NO_METHOD,
    PARSE_ERROR,
    TOPICS,
)
from sandbox.tests.dapp import TOPIC, connected, did_of, make_token

OTHER = "cd" * 32
KEY = Ed25519PrivateKey.generate()


@pytest.fixture(scope="module")
def url():
    listener = socket.create_server(("127.0.0.1", 0))
    relay.begin(listener)
    return f"ws://127.0.0.1:{listener.getsockname()[1]}"


def run(work):
    return asyncio.run(work)


def test_it_delivers(url):
    async def work():
        async with connected(url) as dapp, connected(url) as wallet:
            answer = await wallet.call("irn_subscribe", topic=TOPIC)
            assert len(answer["result"]) == 64
            assert (await dapp.publish("sealed", tag=1108))["result"] is True
            found = await wallet.next()
            assert {"topic": TOPIC, "message": "sealed", "tag": 1108}.items() <= found.items()
            assert abs(found["publishedAt"] / 1000 - time.time()) < 60

    run(work())


def test_a_late_subscriber_gets_what_was_sent_and_once(url):
    async def work():
        key = Ed25519PrivateKey.generate()
        async with connected(url) as dapp:
            await dapp.call("irn_subscribe", topic=OTHER)
            await dapp.publish("first", OTHER)
            await dapp.publish("second", OTHER)
            async with connected(url, key) as wallet:
                await wallet.call("irn_batchSubscribe", topics=[TOPIC, OTHER])
                assert [(await wallet.next())["message"] for _ in range(2)] == ["first", "second"]
                await wallet.call("irn_unsubscribe", topic=OTHER)
            async with connected(url, key) as wallet:
                found = await wallet.call("irn_fetchMessages", topic=OTHER)
                assert found["result"] == {"messages": [], "hasMore": False}
            assert dapp.received == []  # nothing of its own

    run(work())


def test_what_was_not_acknowledged_comes_again(url):
    async def work():
        topic, key = "01" * 32, Ed25519PrivateKey.generate()
        async with connected(url) as dapp:
            async with connected(url, key) as wallet:
                await wallet.call("irn_subscribe", topic=topic)
                await dapp.publish("lost", topic)
                await wallet.read()  # and it loses its connection
            async with connected(url, key) as wallet:
                found = await wallet.call("irn_batchFetchMessages", topics=[topic])
                assert [each["message"] for each in found["result"]["messages"]] == ["lost"]
                await wallet.call("irn_subscribe", topic=topic)
                assert (await wallet.next())["message"] == "lost"

    run(work())


def test_a_message_ends_after_its_time(url):
    async def work():
        topic = "02" * 32
        async with connected(url) as dapp, connected(url) as wallet:
            await dapp.publish("short", topic, ttl=1)
            await asyncio.sleep(1)
            found = await wallet.call("irn_fetchMessages", topic=topic)
            assert found["result"]["messages"] == []

    run(work())


def test_newer_clients_propose_and_approve_in_one_call(url):
    async def work():
        pairing, session = "03" * 32, "04" * 32
        async with connected(url) as dapp, connected(url) as wallet:
            await dapp.call("wc_proposeSession", pairingTopic=pairing, sessionProposal="proposal")
            await wallet.call("irn_subscribe", topic=pairing)
            assert (await wallet.next())["tag"] == 1100
            approval = {"pairingTopic": pairing, "sessionTopic": session}
            contents = {"sessionProposalResponse": "yes", "sessionSettlementRequest": "settled"}
            await wallet.call("wc_approveSession", **approval, **contents)
            found = await dapp.next()
            assert (found["message"], found["tag"]) == ("yes", 1101)
            await dapp.call("irn_subscribe", topic=session)
            found = await dapp.next()
            assert (found["message"], found["tag"]) == ("settled", 1102)

    run(work())


@pytest.mark.parametrize(
    "query",
    [
        "",
        "auth=",
        "auth=a.b.c",
        "auth=" + "[" * 3000,
        f"auth={make_token(KEY, signer=Ed25519PrivateKey.generate())}",
        f"auth={make_token(KEY, iss='did:web:example.com')}",
        f"auth={make_token(KEY, iss=did_of(Ed25519PrivateKey.generate()))}",
        f"auth={make_token(KEY, iss=did_of(KEY, bytes.fromhex('e701')))}",
        f"auth={make_token(KEY, iss=7)}",
        f"auth={make_token(KEY, iss='did:key:z0OIl')}",
        f"auth={make_token(KEY, exp=time.time() - 3600)}",
        f"auth={make_token(KEY, exp='soon')}",
        f"auth={make_token(KEY, header={'alg': 'none'})}",
        f"auth={make_token(KEY, header=['x'])}",
    ],
)
def test_it_refuses_a_client_that_it_cannot_tell(url, query):
    async def work():
        with pytest.raises(InvalidStatus) as error:
            async with connect(f"{url}/?{query}&projectId=x"):
                pass
        assert error.value.response.status_code == 401
        assert b"'auth'" in error.value.response.body

    run(work())


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("{", PARSE_ERROR),
        (b"\xff\x00", PARSE_ERROR),
        ("[" * 100_000, PARSE_ERROR),
        ("7", INVALID_REQUEST),
        ('{"id": 1, "method": "irn_dance", "params": {}}', NO_METHOD),
        ('{"id": 1, "method": ["irn_publish"], "params": {}}', NO_METHOD),
        ('{"id": 1, "method": "irn_subscribe", "params": []}', INVALID_PARAMS),
        ('{"id": 1, "method": "irn_subscribe", "params": {"topic": "zz"}}', INVALID_PARAMS),
        ('{"id": 1, "method": "irn_subscribe", "params": {}}', INVALID_PARAMS),
        ('{"id": 1, "method": "irn_batchSubscribe", "params": {"topics": 7}}', INVALID_PARAMS),
        ('{"id": 1, "method": "irn_batchSubscribe", "params": {"topics": [7]}}', INVALID_PARAMS),
        ('{"id": 1, "method": "irn_batchUnsubscribe", "params": {"subscriptions": 7}}', INVALID_PARAMS),
        ('{"id": 1, "method": "irn_batchPublish", "params": {"messages": [7]}}', INVALID_PARAMS),
        ('{"id": 1, "method": "wc_approveSession", "params": {"sessionTopic": null}}', INVALID_PARAMS),
    ],
)  # fmt: skip
def test_it_answers_what_makes_no_sense_with_an_error(url, frame, code):
    async def work():
        async with connected(url) as client:
            await client.socket.send(frame)
            assert (await client.read())["error"]["code"] == code
            assert len((await client.call("irn_subscribe", topic=TOPIC))["result"]) == 64

    run(work())


@pytest.mark.parametrize(
    "params",
    [{"message": ""}, {"message": 7}, {"ttl": 0}, {"ttl": "x"}, {"tag": {}}, {"topic": "g" * 64}],
)
def test_it_keeps_no_message_that_makes_no_sense(url, params):
    async def work():
        async with connected(url) as client:
            answer = await client.publish(**{"message": "x"} | params)
            assert answer["error"]["code"] == INVALID_PARAMS

    run(work())


def test_acknowledging_what_is_anothers_drops_nothing(url):
    async def work():
        topic = "05" * 32
        async with connected(url) as dapp, connected(url) as wallet, connected(url) as third:
            await wallet.call("irn_subscribe", topic=topic)
            await dapp.publish("kept", topic)
            number = (await wallet.read())["id"]
            assert number < 2**53
            for client in (third, dapp):
                for result in (number, None, True, [number], "x"):
                    await client.socket.send(json.dumps({"id": result, "result": True}))
            found = await third.call("irn_fetchMessages", topic=topic)
            assert len(found["result"]["messages"]) == 1

    run(work())


def test_a_megabyte_is_refused(url):
    async def work():
        async with connected(url) as client:
            await client.socket.send("x" * 1_000_000)
            with pytest.raises(ConnectionClosed) as error:
                await client.read()
            assert error.value.rcvd.code == 1009

    run(work())


def test_the_topics_of_a_connection_are_limited(url):
    async def work():
        async with connected(url) as client:
            topics = [f"{number:064x}" for number in range(TOPICS)]
            answer = await client.call("irn_batchSubscribe", topics=topics)
            assert len(answer["result"]) == TOPICS
            assert "error" in await client.call("irn_subscribe", topic="ff" * 32)
            assert "result" in await client.call("irn_subscribe", topic=topics[0])

    run(work())


def test_connections_are_limited(url, monkeypatch):
    async def work():
        async with connected(url):
            monkeypatch.setattr(server, "CONNECTIONS", 1)
            with pytest.raises(InvalidStatus) as error:
                async with connected(url):
                    pass
            assert error.value.response.status_code == 503

    run(work())


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def box():
    return mailbox.Mailbox(Clock())


def test_a_topic_keeps_the_newest_messages(box):
    for number in range(mailbox.MESSAGES_OF_TOPIC + 3):
        box.put(TOPIC, "sender", str(number), 0, 60)
    found = box.find(TOPIC, "receiver")
    assert [found[0].content, len(found)] == ["3", mailbox.MESSAGES_OF_TOPIC]


@pytest.mark.parametrize(("size", "kept"), [(1, mailbox.MESSAGES), (2**20, mailbox.BYTES // 2**20)])
def test_all_topics_together_keep_so_much(box, size, kept):
    text = "x" * size
    topics = [f"{number:064x}" for number in range(kept + 2)]
    for topic in topics:
        box.put(topic, "sender", text, 0, 60)
    assert sum(len(box.find(topic, "receiver")) for topic in topics) == kept
    assert box.find(topics[0], "receiver") == []
