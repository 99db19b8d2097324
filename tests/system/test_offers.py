"""Offers as on a real network: gunicorn, a watcher, a key in a file, and hiero-sandbox in its own process.

The bidder and the owner sign with Hedera SDKs as they are, over gRPC. Nobody reports anything.
"""

import itertools
import json
import os
import signal
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from decimal import Decimal
from http.client import HTTPException
from urllib.error import HTTPError

import pytest
from hiero_sdk_python import (
    AccountId,
    Client,
    CustomFixedFee,
    CustomRoyaltyFee,
    Hbar,
    NftId,
    PrivateKey,
    ResponseCode,
    ScheduleId,
    ScheduleSignTransaction,
    SupplyType,
    TokenAssociateTransaction,
    TokenCreateTransaction,
    TokenId,
    TokenMintTransaction,
    TokenType,
    TransferTransaction,
)

from harness.network import PATIENCE_SECONDS
from harness.postgresql import until
from harness.serving import serve, watcher
from hiero_sandbox import testing
from tests.system.sdks import PYTHON_PROGRAM, by_each_sdk, execute

HBAR = 100_000_000
MARKET, OWNER, BIDDER, ARTIST = (f"0.0.{number}" for number in range(1022, 1026))
PRICE, ROYALTY = 50, 5  # HBAR, percent
MINTED, AT_ONCE = 20, 10
LAG_SECONDS = 6


class Network:
    """hiero-sandbox with a collection, whose NFTs belong to the owner. The artist gets royalties."""

    def __init__(self, sandbox, log):
        self.sandbox = sandbox
        self.log = log
        self.keys = {each["accountId"]: each["privateKeyDer"] for each in sandbox.accounts()}
        self.serial_nos = itertools.count(1)
        royalty = CustomRoyaltyFee(
            numerator=ROYALTY,
            denominator=100,
            fallback_fee=CustomFixedFee().set_hbar_amount(Hbar(1)),
            fee_collector_account_id=AccountId.from_string(ARTIST),
        )
        creation = (
            TokenCreateTransaction()
            .set_token_name("Cats")
            .set_token_symbol("CAT")
            .set_token_type(TokenType.NON_FUNGIBLE_UNIQUE)
            .set_supply_type(SupplyType.FINITE)
            .set_initial_supply(0)
            .set_max_supply(MINTED)
            .set_treasury_account_id(AccountId.from_string(ARTIST))
            .set_supply_key(PrivateKey.from_string_der(self.keys[ARTIST]))
            .set_custom_fees([royalty])
        )
        creation.transaction_fee = Hbar(40).to_tinybars()
        token = self.execute(ARTIST, creation).token_id
        for account_id in (OWNER, BIDDER):
            association = TokenAssociateTransaction(AccountId.from_string(account_id), [token])
            self.execute(account_id, association)
        metadata = [b"ipfs://bafkqacbqfyyc4nzqgayq/1.json"] * AT_ONCE
        between = AccountId.from_string(ARTIST), AccountId.from_string(OWNER)
        for first in range(1, MINTED + 1, AT_ONCE):
            self.execute(ARTIST, TokenMintTransaction(token, metadata=metadata))
            gift = TransferTransaction()
            for number in range(first, first + AT_ONCE):
                gift.add_nft_transfer(NftId(token, number), *between)
            self.execute(ARTIST, gift)
        self.token = str(token)

    def execute(self, account_id, transaction, *others):
        client = Client.for_network({self.sandbox.node: AccountId.from_string("0.0.3")})
        with closing(client):
            key = PrivateKey.from_string_der(self.keys[account_id])
            client.set_operator(AccountId.from_string(account_id), key)
            for other in others:
                transaction.freeze_with(client)
                transaction.sign(PrivateKey.from_string_der(self.keys[other]))
            receipt = transaction.execute(client)
        assert ResponseCode(receipt.status).name == "SUCCESS", ResponseCode(receipt.status).name
        return receipt

    def ask(self, path):
        with urllib.request.urlopen(f"{self.sandbox.mirror}{path}", timeout=30) as answer:
            return json.load(answer)

    def balance(self, account_id):
        return self.ask(f"/accounts/{account_id}")["balance"]["balance"]

    def count_created(self):
        """How many schedules the market has created, as the network saw it: the mirror node may lag."""
        lines = self.log.read_text().upper().splitlines()
        return sum("SCHEDULECREATE" in line and "SUCCESS" in line for line in lines)

    def find_sale(self, transaction_id):
        """The fee of the execution of a schedule, and how many tinybars each account got."""
        payer, moment = transaction_id.split("@")
        path = f"/transactions/{payer}-{moment.replace('.', '-')}?scheduled=true"
        [sale] = self.ask(path)["transactions"]
        got = {each["account"]: each["amount"] for each in sale["transfers"]}
        return sale["charged_tx_fee"], got


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    path = tmp_path_factory.mktemp("network") / "log"
    with path.open("w") as log, testing.serving(*testing.ANY_PORTS, "--log", log=log) as sandbox:
        yield Network(sandbox, path)
    assert "Traceback" not in path.read_text()


class Market:
    """The service, with an access token."""

    def __init__(self, network, service, token):
        self.network = network
        self.service = service
        self.token = token

    def call(self, path, body=None, method=None):
        """Returns the status and the JSON."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        url = f"{self.service.url}/v1/{path}"
        request = urllib.request.Request(url, data, headers, method=method)
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

    def add(self):
        """Store another NFT of the owner; returns its serial number."""
        nft = {"tokenId": self.network.token, "serialNo": next(self.network.serial_nos)}
        assert self.get("add", {"accountId": OWNER, **nft}) == {"result": "OK"}
        return nft["serialNo"]

    def offer(self, serial_no, price=PRICE, bidder=BIDDER):
        nft = {"tokenId": self.network.token, "serialNo": serial_no}
        return self.call("offer/extwallet", {"accountId": bidder, "offerPrice": price, **nft})

    def sign(self, program, account_id, prepared):
        keys, node = self.network.keys, self.network.sandbox.node
        return execute(program, node, account_id, keys[account_id], prepared["byteArray"])

    def answer(self, what, account_id, offer_id):
        return self.get(f"{what}/extwallet", {"accountId": account_id, "offerId": offer_id})

    def kinds(self, serial_no):
        events = self.get(f"nft/{self.network.token}/{serial_no}/events")
        return [(event["kind"], event["price"]) for event in events]

    def wait_for(self, offer_id, state):
        def has_state():
            return self.get(f"offers/{offer_id}")["state"] == state

        until(has_state, f"the offer is not {state}")


@pytest.fixture(scope="module")
def settings(network, tmp_path_factory):
    key = tmp_path_factory.mktemp("key") / "key"
    key.touch(0o600)
    key.write_text(network.keys[MARKET])
    return {
        "NETWORK": "testnet",
        "ACCOUNT_ID": MARKET,
        "ACCOUNT_KEY_FILE": key,
        "MIRROR_NODE_URL": network.sandbox.url,
        "NODE_ACCOUNT_IDS": "0.0.3",
        "OFFERS": "on",
    }


@pytest.fixture(scope="module")
def market(network, settings, tmp_path_factory):
    folder = tmp_path_factory.mktemp("offers")
    with (
        serve(folder, "--workers", "2", **settings) as service,
        watcher(folder, PUBLIC_URL=service.url, **settings) as follower,
    ):
        scopes = ("--scope", "read", "--scope", "write", "--rate", "off")
        yield Market(
            network, service, service.flask("token", "create", "x", *scopes).stdout.strip()
        )
    assert "Traceback" not in service.output + follower.output


@by_each_sdk
def test_an_offer_is_made_accepted_and_seen(market, network, program):
    """With -s it shows what each account got, and how soon the sale was seen."""
    serial_no, before = market.add(), network.balance(MARKET)
    status, prepared = market.offer(serial_no)
    assert status == 200, prepared
    offer_id = prepared["metadata"]["offerId"]
    signature = market.sign(program, BIDDER, prepared)
    market.wait_for(offer_id, "OPEN")
    acceptance = market.sign(program, OWNER, market.answer("acceptoffer", OWNER, offer_id))
    sold = [("ADDED", None), ("OFFERED", PRICE), ("SOLD", PRICE)]
    until(lambda: market.kinds(serial_no) == sold, "it is not sold")
    seconds = time.time() - acceptance["began"]  # with the end of the program
    assert market.get(f"nft/{network.token}/{serial_no}")["owner"] == {"accountId": BIDDER}
    market.wait_for(offer_id, "ACCEPTED")
    fee, got = network.find_sale(market.get(f"offers/{offer_id}")["transactionId"])
    royalty, after = PRICE * ROYALTY * HBAR // 100, network.balance(MARKET)
    fees = f"{signature['fee']} and {acceptance['fee']}, of the sale {fee}"
    print(f"\nSold after {seconds:.1f} s. Tinybars of the signatures {fees}. Each got {got}")
    assert before - after == usd("0.02")
    assert signature["fee"] == acceptance["fee"] == usd("0.001")
    assert fee == usd("0.0019")  # without the fees of node and network
    assert (got[OWNER], got[ARTIST]) == (PRICE * HBAR - royalty, royalty)
    assert got[BIDDER] == -PRICE * HBAR - fee
    assert MARKET not in got


@by_each_sdk
def test_its_bidder_withdraws_it(market, network, program):
    serial_no = market.add()
    _, prepared = market.offer(serial_no)
    offer_id = prepared["metadata"]["offerId"]
    market.sign(program, BIDDER, prepared)
    market.wait_for(offer_id, "OPEN")
    withdrawal = market.sign(program, BIDDER, market.answer("withdrawoffer", BIDDER, offer_id))
    market.wait_for(offer_id, "WITHDRAWN")
    assert withdrawal["fee"] == usd("0.001")
    withdrawn = [("ADDED", None), ("OFFERED", PRICE), ("OFFER_WITHDRAWN", PRICE)]
    assert market.kinds(serial_no) == withdrawn
    status, refused = market.call(
        "acceptoffer/extwallet", {"accountId": OWNER, "offerId": offer_id}
    )
    assert status == 409, refused


def test_nothing_is_scheduled_that_a_hollow_account_must_sign(market, network):
    serial_no, before = market.add(), network.count_created()
    address = PrivateKey.generate_ecdsa().public_key().to_evm_address()
    gift = TransferTransaction().add_hbar_transfer(AccountId.from_string(BIDDER), -100 * HBAR)
    gift.add_hbar_transfer(AccountId.from_evm_address(address, 0, 0), 100 * HBAR)
    network.execute(BIDDER, gift)
    hollow = network.ask(f"/accounts/0x{address}")["account"]
    refusals = [market.offer(serial_no, bidder=hollow)]
    nft = NftId(TokenId.from_string(network.token), serial_no)
    owner, bidder = AccountId.from_string(OWNER), AccountId.from_string(BIDDER)
    sale = TransferTransaction().add_nft_transfer(nft, owner, AccountId.from_string(hollow))
    sale.add_hbar_transfer(bidder, -HBAR).add_hbar_transfer(owner, HBAR)
    network.execute(BIDDER, sale, OWNER)
    refusals.append(market.offer(serial_no))
    assert [status for status, _ in refusals] == [409, 409]
    for _, answer in refusals:
        assert f"{hollow} is hollow" in str(answer)
    assert network.count_created() == before


def test_two_equal_requests_at_once_create_one_schedule(market, network):
    serial_no, before = market.add(), network.count_created()
    with ThreadPoolExecutor(2) as pool:
        answers = [*pool.map(market.offer, [serial_no] * 2)]
    assert {status for status, _ in answers} <= {200, 202}, answers
    until(lambda: market.offer(serial_no)[0] == 200, "the offer is not found")
    made = {answer["metadata"]["offerId"] for status, answer in answers if status == 200}
    assert {market.offer(serial_no)[1]["metadata"]["offerId"]} >= made
    assert network.count_created() == before + 1


def test_a_kill_between_submission_and_answer_creates_nothing_twice(market, network):
    serial_no, before, balance = market.add(), network.count_created(), network.balance(MARKET)
    network.sandbox.set_lag(LAG_SECONDS)
    try:
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(market.offer, serial_no)
            until(lambda: network.count_created() > before, "nothing was submitted")
            assert not answer.done()
            workers = market.service.workers()
            for worker in workers:
                os.kill(worker, signal.SIGKILL)
            with pytest.raises((OSError, HTTPException)):
                answer.result(PATIENCE_SECONDS)
        market.service.wait_for_other_workers(workers)
        until(market.service.answers, "it does not answer again")
        until(lambda: market.offer(serial_no)[0] == 200, "the offer is not found")
    finally:
        network.sandbox.set_lag(0)
    assert network.count_created() == before + 1
    assert balance - network.balance(MARKET) == usd("0.02")


def test_a_node_that_fails_is_asked_again(market, network):
    serial_no, before = market.add(), network.count_created()
    network.sandbox.fail("NODE_UNAVAILABLE", 1)
    status, answer = market.offer(serial_no)
    assert status in (202, 503), answer
    until(lambda: market.offer(serial_no)[0] == 200, "the offer is not made")
    assert network.count_created() == before + 1


def test_a_wallet_may_change_the_transaction_id(market, network):
    _, prepared = market.offer(market.add())
    offer_id = prepared["metadata"]["offerId"]
    schedule = ScheduleId.from_string(offer_id)
    network.execute(BIDDER, ScheduleSignTransaction().set_schedule_id(schedule))
    market.wait_for(offer_id, "OPEN")


def test_who_made_it_deletes_it_though_a_node_fails(market, network):
    _, prepared = market.offer(market.add())
    path, balance = f"offers/{prepared['metadata']['offerId']}", network.balance(MARKET)
    network.sandbox.fail("NODE_UNAVAILABLE", 1)
    status, answer = market.call(path, method="DELETE")
    assert status in (202, 503), answer
    until(lambda: market.call(path, method="DELETE")[0] == 200, "it is not deleted")
    assert market.get(path)["state"] == "WITHDRAWN"
    assert balance - network.balance(MARKET) == usd("0.001")


def test_a_database_from_before_the_offer_finds_it_again(market, network, settings, tmp_path):
    serial_no = market.add()
    (tmp_path / "instance").mkdir()
    market.service.flask("backup", str(tmp_path / "instance/marketplace.db"))
    _, prepared = market.offer(serial_no)
    offer_id = prepared["metadata"]["offerId"]
    market.sign(PYTHON_PROGRAM, BIDDER, prepared)
    market.wait_for(offer_id, "OPEN")
    path = f"nft/{network.token}/{serial_no}/offers"
    with (
        serve(tmp_path, "--workers", "1", **settings) as service,
        watcher(tmp_path, PUBLIC_URL=service.url, **settings),
    ):
        restored = Market(network, service, market.token)
        until(lambda: restored.get(path), "the offer is not found")
        [offer] = restored.get(path)
    assert (offer["offerId"], offer["price"]) == (offer_id, PRICE)


def usd(amount):
    """In tinybars, by the sandbox's exchange rate."""
    return int(Decimal(amount) / Decimal("0.12") * HBAR)
