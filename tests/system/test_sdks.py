"""The programs of examples/sdk, each with its Hedera SDK as it is, beside the service as it is served.

Clients of a local network, too, which know its ports by themselves.

The browser's is in tests/system/browser/test_sdk.py. Needs node, the packages of examples/sdk/javascript, and
a JDK with the SDK's jar: make tools installs them.
"""

import os
import random
import shutil
import sys
import time

import pytest
from hiero_sdk_python import PrivateKey

from harness.postgresql import until
from harness.serving import Service, environment, run_program, sandbox_market
from tests.namespaces import UNSHARE, needs_namespaces
from tests.system.sdks import (
    FOLDER,
    JAVA,
    JAVASCRIPT,
    SECONDS,
    assert_printed,
    assert_sold,
    by_each_sdk,
    execute,
    needs_javascript,
    sign,
)

JAR = JAVA / "lib/hedera/sdk-2.50.0.jar"


needs_java = pytest.mark.skipif(
    not shutil.which("javac") or not JAR.exists(),
    reason="needs a JDK and the Java SDK (make tools)",
)


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    with sandbox_market(tmp_path_factory.mktemp("sdks")) as service:
        yield service


@pytest.fixture
def run(market):
    """Run a program beside the service; returns the lines that it printed."""

    def run(*command, **settings):
        node = f"127.0.0.1:{market.node.port}"
        environ = os.environ | {"MARKET": market.url, "NODE": node, "TOKEN": market.token}
        options = {"env": environ | settings, "timeout": SECONDS}
        return run_program(*command, check=True, **options).stdout.splitlines()

    return run


@needs_javascript
@pytest.mark.parametrize("package", ["@hashgraph/sdk", "@hiero-ledger/sdk"])
def test_javascript(run, package):
    assert_sold(run("node", str(JAVASCRIPT / "sell.mjs"), SDK=package))


def test_python(run):
    assert_sold(run(sys.executable, str(FOLDER / "python/sell.py")))


TUTORIAL = [
    r"Accounts: 0\.0\.[0-9]+ made it, 0\.0\.[0-9]+ buys first, 0\.0\.[0-9]+ buys last",
    r"Collection 0\.0\.[0-9]+, with a royalty of 5 %",
    r"Minted: \[1, 2, 3, 4, 5\]",
    "Sold #1 for 100 HBAR: the artist has 200",
    "Listed #1 for 200 HBAR",
    "Bought #1: the artist has 210, the buyer 300",
    "Its history: TOKENMINT, CRYPTOTRANSFER, CRYPTOAPPROVEALLOWANCE, CRYPTOTRANSFER",
]


def test_the_tutorial_in_python(run):
    assert_printed(run(sys.executable, str(FOLDER / "python/tutorial.py")), TUTORIAL)


@needs_javascript
def test_the_tutorial_in_javascript(run):
    assert_printed(run("node", str(JAVASCRIPT / "tutorial.mjs")), TUTORIAL)


@needs_java
def test_java(run):
    assert_sold(run("java", "-cp", str(JAR), str(JAVA / "Sell.java")))


@needs_java
def test_the_tutorial_in_java(run):
    assert_printed(run("java", "-cp", str(JAR), str(JAVA / "Tutorial.java")), TUTORIAL)


TINYBARS = 100_000_000


class Trader:
    """An account that signs what the service has prepared with a program of its SDK."""

    def __init__(self, market, program):
        self.id = f"0.0.{random.randrange(100_000, 1_000_000)}"
        self._market = market
        self._program = program
        self._key = PrivateKey.generate_ed25519().to_string_der()

    def call(self, path, **body):
        return self._market.call(f"/v1/{path}", {"accountId": self.id, **body})

    def execute(self, path, **body):
        prepared = self.call(f"{path}/extwallet", **body)
        node = f"127.0.0.1:{self._market.node.port}"
        return execute(self._program, node, self.id, self._key, prepared["byteArray"])

    def buy(self, **body):
        """Sign a purchase and hand it in; returns what the ledger shows of it."""
        prepared = self.call("buy/extwallet", **body)
        signed = sign(self._program, self.id, self._key, prepared["byteArray"])
        assert self.call("comingsoon", signedTransaction=signed, **body) == {"result": "OK"}
        payer, _, valid_start = prepared["metadata"]["transactionId"].partition("@")
        path = f"/sandbox/api/v1/transactions/{payer}-{valid_start.replace('.', '-')}"
        [shown] = self._market.call(path)["transactions"]
        return shown


@by_each_sdk
def test_twenty_are_listed_and_eight_are_bought(market, program):
    """Nobody reports anything. With -s and -n 0 it shows what each account paid, and when all are listed."""
    seller, other, buyer = (Trader(market, program) for _ in range(3))
    first = random.randrange(1, 10**9)
    bulk = {"tokenId": "0.0.7101", "serialNos": [*range(first, first + 20)]}
    four = {"tokenId": "0.0.7100", "serialNos": [*range(first, first + 4)]}
    for each, nfts in ((seller, bulk), (other, four)):
        assert each.call("add", **nfts) == {"result": "OK"}
    listing = seller.execute("list", listingPrice=30, **bulk)
    until(lambda: is_listed(market, seller, 20), "the twenty are not listed")
    seconds = time.time() - listing["began"]  # with the end of the program
    print(f"\nListed 20 after {seconds:.1f} s: {seller.id} paid {listing['fee']} tinybars of fees")
    assert listing["fee"] == TINYBARS // 2  # $0.05 in all
    assert listing["moved"][seller.id] == -listing["fee"]
    other.execute("list", listingPrice=50, **four)
    until(lambda: is_listed(market, other, 4), "the four are not listed")

    basket = [
        {"tokenId": nfts["tokenId"], "serialNo": number, "expectedPrice": price}
        for nfts, price in ((bulk, 30), (four, 50))
        for number in nfts["serialNos"][:4]
    ]
    purchase = buyer.buy(nfts=basket)
    moved, fee = {}, purchase["charged_tx_fee"]
    for transfer in purchase["transfers"]:
        moved[transfer["account"]] = moved.get(transfer["account"], 0) + transfer["amount"]
    print(f"Bought 8: of {fee} tinybars of fees, each account got {moved}")
    paid = {seller.id: 120, other.id: 200, buyer.id: -320}
    assert {account: moved[account] for account in paid} == {
        account: amount * TINYBARS for account, amount in paid.items()
    }
    assert moved["0.0.9001"] == -fee
    until(lambda: is_listed(market, seller, 16) and is_listed(market, other, 0), "it is not shown")
    ids = "&".join(f"id={nft['tokenId']}:{nft['serialNo']}" for nft in basket)
    bought = market.call(f"/v1/nfts?{ids}")
    assert {nft["owner"]["accountId"] for nft in bought} == {buyer.id}


def is_listed(market, seller, count):
    """Whether the order book has exactly this many NFTs of an account."""
    return len(market.call(f"/v1/user/{seller.id}/listed?limit=20")) == count


class LocalNetwork(Service):
    """``make run`` in a network namespace of its own, where nobody else has the ports that SDKs know."""

    def _has_started(self):
        assert self.process.poll() is None, self.printed()
        return all(f"forLocalNode() {what} on" in self.printed() for what in ("REST", "gRPC"))

    def beside(self, *command):
        inside = ["nsenter", f"--target={self.process.pid}", "--user", "--net"]
        return [*inside, "--preserve-credentials", *command]


@pytest.fixture(scope="module")
def local_network(tmp_path_factory):
    folder = tmp_path_factory.mktemp("local")
    serve = f"{sys.executable} -m gunicorn -c python:marketplace.sandbox.server"
    command = [*UNSHARE, "sh", "-c", f"ip link set lo up && exec {serve}"]
    with LocalNetwork(folder, None, environment()).running(command, start_new_session=True) as it:
        yield it
    assert "forLocalNode() REST on 127.0.0.1, ports 5551, 8084, 38081\n" in it.output
    assert "forLocalNode() gRPC on 127.0.0.1, ports 5600, 35211\n" in it.output
    assert "Traceback" not in it.output


# Nothing says where the node or the mirror node is: each client knows the ports of a local network by itself.
# It creates an account, asks the mirror node for its 5 HBAR and for nodes, and for the fee of another one.
LOCAL_JAVASCRIPT = """
const sdk = await import(process.argv[2]);
const key = sdk.PrivateKey.generateED25519();
const client = sdk.Client.forLocalNode().setOperator(process.argv[3], key);
const creation = () => new sdk.AccountCreateTransaction().setKeyWithoutAlias(key).setInitialBalance(5);
const { status, accountId } = await (await creation().execute(client)).getReceipt(client);
const balances = await fetch(`${client.mirrorRestApiBaseUrl}/balances?account.id=${accountId}`);
const { nodeAddresses } = await new sdk.AddressBookQuery().setFileId("0.0.102").execute(client);
console.log(`${status}`);
console.log((await balances.json()).balances[0].balance);
console.log(`${nodeAddresses[0].accountId}`);
if (sdk.FeeEstimateQuery) {
  const query = new sdk.FeeEstimateQuery().setTransaction(creation().freezeWith(client));
  console.log(`${(await query.execute(client)).total}`);
}
client.close();
"""
LOCAL_PYTHON = """
import sys

from hiero_sdk_python import *
from hiero_sdk_python.query.fee_estimate_query import FeeEstimateQuery
from hiero_sdk_python.query.mirror_node_account_balance_query import MirrorNodeAccountBalanceQuery

key = PrivateKey.generate_ed25519()
client = Client(Network("solo"))
client.set_operator(AccountId.from_string(sys.argv[1]), key)
creation = lambda: AccountCreateTransaction(initial_balance=Hbar(5)).set_key_without_alias(key)
receipt = creation().execute(client)
print(ResponseCode(receipt.status).name)
print(MirrorNodeAccountBalanceQuery(receipt.account_id).execute(client).hbars.to_tinybars())
print(FeeEstimateQuery().set_transaction(creation()).execute(client).total)
client.close()
"""
LOCAL_JAVA = """
import com.hedera.hashgraph.sdk.*;
import java.util.List;

class Local {
  public static void main(String[] arguments) throws Exception {
    var key = PrivateKey.generateED25519();
    var client = Client.forMirrorNetwork(List.of("127.0.0.1:5600"));
    client.setOperator(AccountId.fromString(arguments[0]), key);
    var creation = new AccountCreateTransaction().setKeyWithoutAlias(key);
    var receipt = creation.execute(client).getReceipt(client);
    System.out.println(receipt.status);
    System.out.println(receipt.accountId.populateAccountEvmAddress(client).evmAddress != null);
    client.close();
  }
}
"""
NODE_JS = ("node", "--input-type=module", "-")
HBAR_5 = "500000000"  # what an account is given, and costs


@needs_namespaces
@pytest.mark.parametrize(
    ("program", "command", "printed"),
    [
        pytest.param(
            LOCAL_JAVASCRIPT,
            (*NODE_JS, "@hashgraph/sdk", "0.0.3101"),
            ["SUCCESS", HBAR_5, "0.0.3"],
            marks=needs_javascript,
        ),
        pytest.param(
            LOCAL_JAVASCRIPT,
            (*NODE_JS, "@hiero-ledger/sdk", "0.0.3102"),
            ["SUCCESS", HBAR_5, "0.0.3", HBAR_5],
            marks=needs_javascript,
        ),
        (LOCAL_PYTHON, (sys.executable, "-", "0.0.3103"), ["SUCCESS", HBAR_5, HBAR_5]),
        pytest.param(
            LOCAL_JAVA,
            ("java", "--source=17", "-cp", str(JAR), "/dev/stdin", "0.0.3104"),
            ["SUCCESS", "true"],
            marks=needs_java,
        ),
    ],
    ids=["hashgraph", "hiero", "python", "java"],
)
def test_a_client_of_a_local_network(local_network, tmp_path, program, command, printed):
    file = tmp_path / "program"
    file.write_text(program)
    with file.open() as stdin:  # java does not read a pipe
        options = {"cwd": JAVASCRIPT, "stdin": stdin, "timeout": SECONDS}
        ended = run_program(*local_network.beside(*command), **options)
    assert ended.stdout.splitlines() == printed, ended.stdout + ended.stderr
