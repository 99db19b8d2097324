"""Offers as on a real network: gunicorn, a watcher, a key in a file, and hiero-sandbox in its own process.

The service has no key. The bidder and the owner sign with Hedera SDKs as they are, over gRPC.
"""

import base64
import itertools
import json
import time
import urllib.request
from contextlib import closing
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from hiero_sdk_python import (
    AccountId,
    AccountUpdateTransaction,
    Client,
    CustomFixedFee,
    CustomRoyaltyFee,
    Hbar,
    NftId,
    PrivateKey,
    ResponseCode,
    SupplyType,
    TokenAssociateTransaction,
    TokenCreateTransaction,
    TokenId,
    TokenMintTransaction,
    TokenType,
    Transaction,
    TransferTransaction,
)

from harness import testnet
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


class Market(testnet.Market):
    """The service, and what is done there with offers."""

    def add(self):
        """Store another NFT of the owner; returns its serial number."""
        nft = {"tokenId": self.network.token, "serialNo": next(self.network.serial_nos)}
        assert self.get("add", {"accountId": OWNER, **nft}) == {"result": "OK"}
        return nft["serialNo"]

    def offer(self, serial_no, price=PRICE, bidder=BIDDER):
        nft = {"tokenId": self.network.token, "serialNo": serial_no}
        return self.call("offer/extwallet", {"accountId": bidder, "offerPrice": price, **nft})

    def make(self, program, serial_no, price=PRICE):
        """Make an offer that the bidder signs and submits; returns its id, and what was submitted."""
        status, prepared = self.offer(serial_no, price)
        assert status == 200, prepared
        assert prepared["metadata"]["returnTransaction"] is False
        made = self.sign(program, BIDDER, prepared)
        nft = {"tokenId": self.network.token, "serialNo": serial_no, "accountId": BIDDER}
        report = nft | {"transactionId": prepared["metadata"]["transactionId"]}
        until(lambda: self.call("comingsoon", report)[0] == 200, "the offer is not found")
        return self.get("comingsoon", report)["offerId"], made

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
def settings(network):
    return {
        "NETWORK": "testnet",
        "ACCOUNT_ID": MARKET,
        "MIRROR_NODE_URL": network.sandbox.url,
        "NODE_ACCOUNT_IDS": "0.0.3",
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
    offer_id, made = market.make(program, serial_no)
    offer = market.get(f"offers/{offer_id}")
    assert (offer["state"], offer["covered"]) == ("OPEN", True)
    days = datetime.fromisoformat(offer["expiresAt"]) - datetime.fromisoformat(offer["createdAt"])
    assert timedelta(days=6, hours=23) < days <= timedelta(days=7)  # no SDK has lost it
    prepared = market.answer("acceptoffer", OWNER, offer_id)
    royalty = PRICE * ROYALTY * HBAR // 100
    assert prepared["metadata"]["sellerReceives"] == str(PRICE * HBAR - royalty)
    acceptance = market.sign(program, OWNER, prepared)
    sold = [("ADDED", None), ("OFFERED", PRICE), ("SOLD", PRICE)]
    until(lambda: market.kinds(serial_no) == sold, "it is not sold")
    seconds = time.time() - acceptance["began"]  # with the end of the program
    assert market.get(f"nft/{network.token}/{serial_no}")["owner"] == {"accountId": BIDDER}
    market.wait_for(offer_id, "ACCEPTED")
    fee, got = network.find_sale(market.get(f"offers/{offer_id}")["transactionId"])
    fees = f"{made['fee']} and {acceptance['fee']}, of the sale {fee}"
    print(f"\nSold after {seconds:.1f} s. Tinybars of the signatures {fees}. Each got {got}")
    assert network.balance(MARKET) == before
    assert made["fee"] == usd("0.02")
    assert acceptance["fee"] == usd("0.001")
    assert fee == usd("0.0019")  # without the fees of node and network
    assert (got[OWNER], got[ARTIST]) == (PRICE * HBAR - royalty, royalty)
    assert got[BIDDER] == -PRICE * HBAR - fee
    assert MARKET not in got


@by_each_sdk
@pytest.mark.parametrize("account_id", [BIDDER, OWNER])
def test_its_bidder_or_the_owner_ends_it(market, network, program, account_id):
    serial_no = market.add()
    offer_id, _ = market.make(program, serial_no)
    withdrawal = market.sign(
        program, account_id, market.answer("withdrawoffer", account_id, offer_id)
    )
    market.wait_for(offer_id, "WITHDRAWN")
    assert withdrawal["fee"] == usd("0.001")
    withdrawn = [("ADDED", None), ("OFFERED", PRICE), ("OFFER_WITHDRAWN", PRICE)]
    assert market.kinds(serial_no) == withdrawn
    status, refused = market.call(
        "acceptoffer/extwallet", {"accountId": OWNER, "offerId": offer_id}
    )
    assert status == 409, refused


def test_it_may_be_handed_in_signed(market, network):
    serial_no = market.add()
    _, prepared = market.offer(serial_no)
    signed = Transaction.from_bytes(base64.b64decode(prepared["byteArray"]))
    signed.sign(PrivateKey.from_string_der(network.keys[BIDDER]))
    body = {"accountId": BIDDER, "tokenId": network.token, "serialNo": serial_no}
    handed_in = body | {"signedTransaction": base64.b64encode(signed.to_bytes()).decode()}
    status, answer = market.call("comingsoon", handed_in)
    assert status in (200, 202), answer
    report = body | {"transactionId": prepared["metadata"]["transactionId"]}
    until(lambda: market.call("comingsoon", report)[0] == 200, "the offer is not found")
    assert market.get(f"offers/{market.get('comingsoon', report)['offerId']}")["state"] == "OPEN"


def test_nothing_is_prepared_that_a_hollow_account_must_sign(market, network):
    serial_no = market.add()
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


def test_a_database_from_before_the_offer_finds_it_again(market, network, settings, tmp_path):
    serial_no = market.add()
    (tmp_path / "instance").mkdir()
    market.service.flask("backup", str(tmp_path / "instance/marketplace.db"))
    offer_id, _ = market.make(PYTHON_PROGRAM, serial_no)
    path = f"nft/{network.token}/{serial_no}/offers"
    with (
        serve(tmp_path, "--workers", "1", **settings) as service,
        watcher(tmp_path, PUBLIC_URL=service.url, **settings),
    ):
        restored = Market(network, service, market.token)
        until(lambda: restored.get(path), "the offer is not found")
        [offer] = restored.get(path)
    assert (offer["offerId"], offer["price"]) == (offer_id, PRICE)


def test_an_empty_database_finds_it_though_nobody_added_the_nft(
    market, network, settings, tmp_path
):
    serial_no = market.add()
    offer_id, _ = market.make(PYTHON_PROGRAM, serial_no)
    with (
        serve(tmp_path, "--workers", "1", **settings) as service,
        watcher(tmp_path, PUBLIC_URL=service.url, **settings),
    ):
        scopes = ("--scope", "read", "--scope", "write", "--rate", "off")
        token = service.flask("token", "create", "x", *scopes).stdout.strip()
        empty = Market(network, service, token)
        until(lambda: empty.call(f"offers/{offer_id}")[0] == 200, "the offer is not found")
        assert empty.get(f"offers/{offer_id}")["state"] == "OPEN"


def test_another_key_leaves_the_owner_no_offer_to_accept(market, network):
    """The free option: the bidder signs, changes the key, and would sign again when the price is right."""
    serial_no = market.add()
    offer_id, _ = market.make(PYTHON_PROGRAM, serial_no)
    new = PrivateKey.generate_ed25519()
    update = AccountUpdateTransaction().set_account_id(AccountId.from_string(BIDDER))
    update.set_key(new.public_key())
    first = network.keys[BIDDER]
    network.keys["new"] = new.to_string_der()
    network.execute(BIDDER, update, "new")
    network.keys[BIDDER] = new.to_string_der()
    try:
        market.wait_for(offer_id, "CLOSED")
        body = {"accountId": OWNER, "offerId": offer_id}
        status, answer = market.call("acceptoffer/extwallet", body)
        assert status in (409, 503), answer
    finally:
        back = AccountUpdateTransaction().set_account_id(AccountId.from_string(BIDDER))
        back.set_key(PrivateKey.from_string_der(first).public_key())
        network.keys["first"] = first
        network.execute(BIDDER, back, "first")
        network.keys[BIDDER] = first


def usd(amount):
    """In tinybars, by the sandbox's exchange rate."""
    return int(Decimal(amount) / Decimal("0.12") * HBAR)
