"""Whatever clients do to the relay, the ledger beside it answers."""

import asyncio
import json
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack

import pytest

from sandbox.tests.command import ask, reserved_port, running
from sandbox.tests.dapp import connected

GIFT = {"accountId": "0.0.1002", "amount": 7}
SECONDS = 10  # for an answer of the ledger; alone it needs hundredths
TOPICS = 10_000


@pytest.fixture(scope="module")
def served():
    with reserved_port() as port, running("--relay-port", str(port)) as (process, ports):
        yield ports, f"ws://127.0.0.1:{port}", process.stdout.readline()


def run(work):
    """Run a coroutine in a thread of its own: a browser's tests leave a loop in this one."""
    with ThreadPoolExecutor(1) as executor:
        executor.submit(asyncio.run, work).result()


def while_the_ledger_works(ports, attack):
    """Run an attack until the ledger has answered ten times, each time soon enough."""

    async def both():
        attacking = asyncio.create_task(attack())
        for _ in range(10):
            asked = asyncio.to_thread(ask, ports, "/faucet", GIFT)
            answer = await asyncio.wait_for(asked, SECONDS)
            assert answer["result"] == "SUCCESS"
        attacking.cancel()
        await asyncio.gather(attacking, return_exceptions=True)

    run(both())


def test_the_start_names_it(served):
    _, url, line = served
    assert line == f"Relay of WalletConnect, for wallets: {url}\n"


def test_a_flood(served):
    ports, url, _ = served
    frame = json.dumps({"id": 1, "method": "irn_subscribe", "params": {"topic": "x"}})

    async def flood():
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(connected(url)) for _ in range(20)]
            while True:
                await asyncio.gather(*(each.socket.send(frame) for each in clients))

    while_the_ledger_works(ports, flood)


def test_slow_readers(served):
    """They are disconnected, and what others send is kept for others."""
    ports, url, _ = served
    topic = "aa" * 32

    async def stall():
        async with AsyncExitStack() as stack:
            for _ in range(5):
                slow = await stack.enter_async_context(connected(url, max_queue=1))
                await slow.call("irn_subscribe", topic=topic)
            sender = await stack.enter_async_context(connected(url))
            while True:
                await sender.publish("x" * 200_000, topic)

    while_the_ledger_works(ports, stall)


def test_ten_thousand_topics(served):
    ports, url, _ = served

    async def subscribe():
        async with AsyncExitStack() as stack:
            for first in range(0, TOPICS, 1000):
                client = await stack.enter_async_context(connected(url))
                topics = [f"{number:064x}" for number in range(first, first + 1000)]
                assert (
                    len((await client.call("irn_batchSubscribe", topics=topics))["result"]) == 1000
                )
                await client.publish("x", topics[0])

    run(subscribe())
    while_the_ledger_works(ports, subscribe)


def test_sockets_that_say_nothing(served):
    ports, url, _ = served
    port = int(url.rpartition(":")[2])

    async def connect():
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]
        try:
            for each in silent[::2]:
                each.sendall(b"GET / HTTP/1.1\r\n\xff")
            await asyncio.sleep(60)
        finally:
            for each in silent:
                each.close()

    while_the_ledger_works(ports, connect)


def test_others_still_get_their_messages(served):
    _, url, _ = served

    async def work():
        async with connected(url) as dapp, connected(url) as wallet:
            await wallet.call("irn_subscribe", topic="bb" * 32)
            await dapp.publish("sealed", "bb" * 32)
            assert (await wallet.next())["message"] == "sealed"

    run(work())
