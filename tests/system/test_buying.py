"""Purchases as on a real network: gunicorn, a watcher, a key in a file, and hiero-sandbox in its own process.

The buyer signs with Hedera's SDK, without any connection to a node. KILLS sets how often the workers are
killed while they take a purchase.
"""

import base64
import itertools
import json
import os
import random
import signal
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPException
from urllib.error import HTTPError

import grpc
import pytest
from hiero_sdk_python import (
    AccountId,
    Client,
    Hbar,
    PrivateKey,
    ResponseCode,
    SupplyType,
    TokenAssociateTransaction,
    TokenCreateTransaction,
    TokenMintTransaction,
    TokenType,
    Transaction,
)

from harness.apps import authorized_client, on_testnet
from harness.consensus_node import serve_node
from harness.network import PATIENCE_SECONDS
from harness.postgresql import until
from harness.serving import serve, watcher
from hiero_sandbox import testing
from marketplace.market.nodes import ANSWER_SECONDS
from marketplace.services import write
from marketplace.store import properties
from tests.engines import both_engines

HBAR = 100_000_000
MARKET, OWNER, BUYER = (f"0.0.{number}" for number in range(1022, 1025))
PRICE = 50
TRANSFER = "/proto.CryptoService/cryptoTransfer"
KILLS = int(os.environ.get("KILLS", "3"))
AT_ONCE = 10
MINTED = AT_ONCE * (5 + KILLS // 4)  # more than twice KILLS, on two engines
# Longer than another request may be submitting a purchase.
SUBMITTING_SECONDS = 10


class Network:
    """hiero-sandbox with a collection, whose NFTs belong to the owner."""

    def __init__(self, sandbox):
        self.sandbox = sandbox
        self.keys = {
            each["accountId"]: PrivateKey.from_string_der(each["privateKeyDer"])
            for each in sandbox.accounts()
        }
        self.serial_nos = itertools.count(1)
        creation = (
            TokenCreateTransaction()
            .set_token_name("Cats")
            .set_token_symbol("CAT")
            .set_token_type(TokenType.NON_FUNGIBLE_UNIQUE)
            .set_supply_type(SupplyType.FINITE)
            .set_initial_supply(0)
            .set_max_supply(MINTED)
            .set_treasury_account_id(AccountId.from_string(OWNER))
            .set_supply_key(self.keys[OWNER])
        )
        creation.transaction_fee = Hbar(40).to_tinybars()
        token = self.execute(OWNER, creation).token_id
        self.execute(BUYER, TokenAssociateTransaction(AccountId.from_string(BUYER), [token]))
        for _ in range(MINTED // AT_ONCE):
            metadata = [b"ipfs://bafkqacbqfyyc4nzqgayq/1.json"] * AT_ONCE
            self.execute(OWNER, TokenMintTransaction(token, metadata=metadata))
        self.token = str(token)

    def execute(self, account_id, transaction):
        client = Client.for_network({self.sandbox.node: AccountId.from_string("0.0.3")})
        with closing(client):
            client.set_operator(AccountId.from_string(account_id), self.keys[account_id])
            receipt = transaction.execute(client)
        assert ResponseCode(receipt.status).name == "SUCCESS", ResponseCode(receipt.status).name
        return receipt

    def sign(self, account_id, byte_array):
        """What a wallet returns: signed, without any connection."""
        transaction = Transaction.from_bytes(base64.b64decode(byte_array))
        return transaction.sign(self.keys[account_id]).to_bytes()

    def ask(self, path):
        with urllib.request.urlopen(f"{self.sandbox.mirror}{path}", timeout=30) as answer:
            return json.load(answer)

    def balance(self, account_id):
        return self.ask(f"/accounts/{account_id}")["balance"]["balance"]

    def count_purchases(self):
        """How many transactions the marketplace has paid for."""
        path = f"/transactions?account.id={MARKET}&transactiontype=CRYPTOTRANSFER&limit=100"
        rows = self.ask(path)["transactions"]
        return sum(row["transaction_id"].startswith(f"{MARKET}-") for row in rows)


class Market:
    """The service, with an access token."""

    def __init__(self, network, service, token):
        self.network = network
        self.service = service
        self.token = token

    def call(self, path, body=None):
        """Returns the status and the JSON."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.service.url}/v1/{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                return answer.status, json.load(answer)
        except HTTPError as error:
            with error:
                return error.code, json.load(error)

    def get(self, path, body=None):
        status, answer = self.call(path, body)
        assert status == 200, answer
        return answer

    def list_one(self):
        """List another NFT of the owner, by handing the signed listing in; returns its keys."""
        nft = {"tokenId": self.network.token, "serialNo": next(self.network.serial_nos)}
        seller = {"accountId": OWNER} | nft
        assert self.get("add", seller) == {"result": "OK"}
        while True:
            prepared = self.get("list/extwallet", seller | {"listingPrice": PRICE})
            signed = self.network.sign(OWNER, prepared["byteArray"])
            handed_in = {"signedTransaction": base64.b64encode(signed).decode()}
            status, answer = self.call("comingsoon", seller | handed_in)
            assert status in (200, 202, 503), answer
            if status != 503:
                break
        until(lambda: self.call("comingsoon", seller)[0] == 200, "it is not listed")
        return nft

    def prepare(self, nft):
        """Prepare a purchase, and sign it: the body of the call that hands it in."""
        body = {"accountId": BUYER} | nft

        def is_prepared():
            nonlocal prepared
            status, prepared = self.call("buy/extwallet", body | {"expectedPrice": PRICE})
            assert status in (200, 429, 503), prepared
            return status == 200

        prepared = None
        until(is_prepared, "it is not prepared")
        signed = self.network.sign(BUYER, prepared["byteArray"])
        return body | {"signedTransaction": base64.b64encode(signed).decode()}

    def settle(self, body):
        """Hand it in again until the ledger shows it."""

        def is_sold():
            time.sleep(0.5)
            status, answer = self.call("comingsoon", body)
            assert status in (200, 202, 503), answer
            return status == 200

        until(is_sold, "it is not sold")


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
        yield Network(sandbox)


@pytest.fixture(scope="module")
def market(network, tmp_path_factory):
    folder = tmp_path_factory.mktemp("buying")
    key = folder / "key"
    key.touch(0o600)
    key.write_text(network.keys[MARKET].to_string_der())
    settings = {
        "NETWORK": "testnet",
        "ACCOUNT_ID": MARKET,
        "ACCOUNT_KEY_FILE": key,
        "MIRROR_NODE_URL": network.sandbox.url,
        "NODE_ACCOUNT_IDS": "0.0.3,0.0.77",  # of which the second is no node
    }
    with (
        serve(folder, "--workers", "2", **settings) as service,
        watcher(folder, PUBLIC_URL=service.url, **settings) as follower,
    ):
        scopes = ("--scope", "read", "--scope", "write", "--rate", "off")
        token = service.flask("token", "create", "x", *scopes).stdout.strip()
        yield Market(network, service, token)
    assert "Traceback" not in service.output + follower.output


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
