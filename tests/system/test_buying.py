"""Purchases as on a real network: gunicorn, a watcher, a key in a file, and hiero-sandbox in its own process.

The buyer signs with Hedera's SDK, without any connection to a node. KILLS sets how often the workers are
killed while they take a purchase.
"""

import base64
import json
import os
import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException

import grpc
import pytest
from hiero_sdk_python import (
    Transaction,
)

from harness.apps import authorized_client, on_testnet
from harness.consensus_node import serve_node
from harness.network import PATIENCE_SECONDS
from harness.postgresql import until
from harness.testnet import BUYER, MARKET, Market, Network, serve_market
from hiero_sandbox import testing
from marketplace.market.nodes import ANSWER_SECONDS
from marketplace.services import write
from marketplace.store import properties
from tests.engines import both_engines

HBAR = 100_000_000
TRANSFER = "/proto.CryptoService/cryptoTransfer"
KILLS = int(os.environ.get("KILLS", "3"))
AT_ONCE = 10
MINTED = AT_ONCE * (5 + KILLS // 4)  # more than twice KILLS, on two engines
# Longer than another request may be submitting a purchase.
SUBMITTING_SECONDS = 10


class InProcess(Market):
    """The same, in this process."""

    def __init__(self, network, app):
        self.network = network
        self._client = authorized_client(app, "read", "write")

    def call(self, path, body=None):
        answer = self._client.open(f"/v1/{path}", method="POST" if body else "GET", json=body)
        return answer.status_code, answer.json


@pytest.fixture(scope="module")
def network():
    with testing.serving(*testing.ANY_PORTS) as sandbox:
        yield Network(sandbox, MINTED)


@pytest.fixture(scope="module")
def market(network, tmp_path_factory):
    nodes = "0.0.3,0.0.77"  # of which the second is no node
    folder = tmp_path_factory.mktemp("buying")
    with serve_market(network, folder, NODE_ACCOUNT_IDS=nodes) as market:
        yield market


@both_engines
def test_it_works_and_a_node_without_connection_costs_nothing(market, network):
    """Of the two configured nodes, one can't be reached: nothing is stored, and the next one is named."""
    before, charged = network.count_purchases(), network.balance(MARKET)
    reasons = set()
    for _ in range(2):
        nft = market.list_one()
        while True:
            body = market.prepare(nft)
            status, answer = market.call("comingsoon", body)
            if status != 503:
                break
            reasons.add(answer["reason"])
        market.settle(body)
        owner = market.get(f"nft/{network.token}/{nft['serialNo']}")["owner"]
        assert owner == {"accountId": BUYER}
        assert market.call("comingsoon", body) == (200, {"result": "OK"})
    assert reasons <= {"TRY_AGAIN"}
    assert network.count_purchases() == before + 2
    assert 0 < charged - network.balance(MARKET) < 2 * HBAR // 10


@both_engines
def test_a_node_that_breaks_off_gets_the_same_bytes_again(market, network):
    nft, before = market.list_one(), network.count_purchases()
    body = _name_reachable(market, nft)
    network.sandbox.fail("NODE_UNAVAILABLE", 1)
    status, answer = market.call("comingsoon", body)
    assert (status, answer["result"]) == (202, "PENDING"), answer
    time.sleep(SUBMITTING_SECONDS)
    market.settle(body)
    assert network.count_purchases() == before + 1


class HangingNode:
    """A node that takes transactions, but answers none. It passes on what comes after the first ones."""

    def __init__(self, network, swallowed):
        self.received = []
        self._network, self._swallowed = network, swallowed

    def take(self, content, context):
        self.received.append(content)
        if len(self.received) > self._swallowed:
            with grpc.insecure_channel(self._network.sandbox.node) as channel:
                channel.unary_unary(TRANSFER)(content, timeout=PATIENCE_SECONDS)
        time.sleep(context.time_remaining() + 0.1)


@both_engines
@pytest.mark.parametrize("swallowed", [0, 1])
def test_a_node_that_hangs_gets_the_same_bytes_again(network, tmp_path, swallowed):
    """Whether it has taken the first ones or not, the purchase is charged once."""
    key = tmp_path / "key"
    key.touch(0o600)
    key.write_text(network.keys[MARKET].to_string_der())
    app = on_testnet(tmp_path, network.sandbox.url, ACCOUNT_ID=MARKET, ACCOUNT_KEY_FILE=str(key))
    market, hanging = InProcess(network, app), HangingNode(network, swallowed)
    nft, before = market.list_one(), network.count_purchases()
    body = _name_reachable(market, nft)
    with serve_node(TRANSFER, hanging.take) as address:
        with app.app_context(), write() as db:
            addresses = json.dumps({"0.0.3": [address]}).encode()
            properties.mark_property(db, properties.NODE_ADDRESSES, addresses)
        began = time.monotonic()
        status, answer = market.call("comingsoon", body)
        expected = (202, "PENDING") if swallowed else (200, "OK")
        assert (status, answer["result"]) == expected, answer
        assert ANSWER_SECONDS <= time.monotonic() - began < 2 * ANSWER_SECONDS
        time.sleep(SUBMITTING_SECONDS - ANSWER_SECONDS)
        market.settle(body)
    assert len(set(hanging.received)) == 1
    assert len(hanging.received) == 1 + swallowed
    assert network.count_purchases() == before + 1


def _name_reachable(market, nft):
    """Prepare a purchase for the node that can be reached."""
    while True:
        body = market.prepare(nft)
        content = base64.b64decode(body["signedTransaction"])
        if "0.0.3" in map(str, Transaction.from_bytes(content).node_account_ids):
            return body


@both_engines
def test_a_killed_worker_charges_nothing_twice_and_loses_no_sale(market, network):
    before, dice = network.count_purchases(), random.Random(KILLS)
    counts = {"answered": 0, "killed": 0}
    for _ in range(KILLS):
        nft = market.list_one()
        body = _name_reachable(market, nft)
        workers = market.service.workers()
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(market.call, "comingsoon", body)
            time.sleep(dice.random() * 0.5)
            for worker in workers:
                os.kill(worker, signal.SIGKILL)
            try:
                answer.result(PATIENCE_SECONDS)
                counts["answered"] += 1
            except (OSError, HTTPException):
                counts["killed"] += 1
        market.service.wait_for_other_workers(workers)
        until(market.service.answers, "it does not answer again")
        market.settle(body)
    print(counts)
    assert network.count_purchases() == before + KILLS
