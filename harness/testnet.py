"""A small Hedera in place of testnet, with a collection, and the service there."""

import base64
import itertools
import json
import time
import urllib.request
from contextlib import closing, contextmanager
from urllib.error import HTTPError

from hiero_sdk_python import (
    AccountId,
    Client,
    Hbar,
    PrivateKey,
    ResponseCode,
    SupplyType,
    TokenAssociateTransaction,
    TokenCreateTransaction,
    TokenId,
    TokenMintTransaction,
    TokenType,
    Transaction,
)

from harness.network import PATIENCE_SECONDS
from harness.postgresql import until
from harness.serving import serve, watcher

MARKET, OWNER, BUYER = (f"0.0.{number}" for number in range(1022, 1025))
PRICE = 50


class Network:
    """hiero-sandbox with a collection, whose NFTs belong to the owner."""

    def __init__(self, sandbox, minted):
        """``minted``: how many NFTs, in tens."""
        self.sandbox = sandbox
        self.keys = {
            each["accountId"]: PrivateKey.from_string_der(each["privateKeyDer"])
            for each in sandbox.accounts()
        }
        self.serial_nos = itertools.count(1)
        self.token = self.create("Cats", minted)
        self.let_hold(BUYER, self.token)

    def create(self, name, minted, **keys):
        """Create a collection of the owner's; returns its id. ``keys``: more of its keys, all the owner's."""
        creation = (
            TokenCreateTransaction()
            .set_token_name(name)
            .set_token_symbol("CAT")
            .set_token_type(TokenType.NON_FUNGIBLE_UNIQUE)
            .set_supply_type(SupplyType.FINITE)
            .set_initial_supply(0)
            .set_max_supply(minted)
            .set_treasury_account_id(AccountId.from_string(OWNER))
            .set_supply_key(self.keys[OWNER])
        )
        for key in keys:
            getattr(creation, f"set_{key}")(self.keys[OWNER])
        creation.transaction_fee = Hbar(40).to_tinybars()
        token = self.execute(OWNER, creation).token_id
        for _ in range(minted // 10):
            metadata = [b"ipfs://bafkqacbqfyyc4nzqgayq/1.json"] * 10
            self.execute(OWNER, TokenMintTransaction(token, metadata=metadata))
        return str(token)

    def let_hold(self, account_id, token):
        """Associate an account with a collection."""
        account = AccountId.from_string(account_id)
        self.execute(account_id, TokenAssociateTransaction(account, [TokenId.from_string(token)]))

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
    """The service there, with an access token."""

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

    def list_one(self, nft=None, price=PRICE):
        """List another NFT of the owner, by handing the signed listing in; returns its keys."""
        nft = nft or {"tokenId": self.network.token, "serialNo": next(self.network.serial_nos)}
        seller = {"accountId": OWNER} | nft
        assert self.get("add", seller) == {"result": "OK"}
        while True:
            prepared = self.get("list/extwallet", seller | {"listingPrice": price})
            signed = self.network.sign(OWNER, prepared["byteArray"])
            handed_in = {"signedTransaction": base64.b64encode(signed).decode()}
            status, answer = self.call("comingsoon", seller | handed_in)
            assert status in (200, 202, 503), answer
            if status != 503:
                break
        until(lambda: self.call("comingsoon", seller)[0] == 200, "it is not listed")
        return nft

    def prepare(self, nft, buyer=BUYER):
        """Prepare a purchase, and sign it: the body of the call that hands it in."""
        body = {"accountId": buyer} | nft

        def is_prepared():
            nonlocal prepared
            status, prepared = self.call("buy/extwallet", body | {"expectedPrice": PRICE})
            assert status in (200, 429, 503), prepared
            return status == 200

        prepared = None
        until(is_prepared, "it is not prepared")
        signed = self.network.sign(buyer, prepared["byteArray"])
        return body | {"signedTransaction": base64.b64encode(signed).decode()}

    def settle(self, body):
        """Hand it in again until the ledger shows it."""

        def is_sold():
            time.sleep(0.5)
            status, answer = self.call("comingsoon", body)
            assert status in (200, 202, 503), answer
            return status == 200

        until(is_sold, "it is not sold")


@contextmanager
def serve_market(network, folder, **settings):
    """Run the service there, with a watcher."""
    key = folder / "key"
    key.touch(0o600)
    key.write_text(network.keys[MARKET].to_string_der())
    settings = {
        "NETWORK": "testnet",
        "ACCOUNT_ID": MARKET,
        "ACCOUNT_KEY_FILE": key,
        "MIRROR_NODE_URL": network.sandbox.url,
    } | settings
    with (
        serve(folder, "--workers", "2", **settings) as service,
        watcher(folder, PUBLIC_URL=service.url, **settings) as follower,
    ):
        scopes = ("--scope", "read", "--scope", "write", "--rate", "off")
        token = service.flask("token", "create", "x", *scopes).stdout.strip()
        yield Market(network, service, token)
    assert "Traceback" not in service.output + follower.output
