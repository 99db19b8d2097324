"""The programs of examples/sdk, each with its Hedera SDK as it is, beside the service as it is served.

The browser's is in tests/system/browser/test_sdk.py. Needs node, the packages of examples/sdk/javascript, and
a JDK with the SDK's jar: make sdks installs them.
"""

import os
import re
import shutil
import subprocess
import sys

import pytest
from hiero_sdk_python import (
    AccountInfoQuery,
    Client,
    NftId,
    TokenId,
    TokenInfoQuery,
    TokenMintTransaction,
    TokenNftInfoQuery,
)

from marketplace.sandbox import wallet
from tests.conftest import ALICE
from tests.sandbox.test_sandbox_ledger import account
from tests.serving import ROOT, sandbox_market

FOLDER = ROOT / "examples/sdk"
JAVASCRIPT, JAVA = FOLDER / "javascript", FOLDER / "java"
JAR = JAVA / "lib/hedera/sdk-2.50.0.jar"
SECONDS = 180  # with a program that takes three, on a busy machine

HBAR = r"[0-9.]+ (?:ℏ|tinybars)"
ID = r"0\.0\.[0-9]+@[0-9]+\.[0-9]+"
STEPS = [
    rf"Listed: SUCCESS, {HBAR} of fees, {ID}",
    "In the order book for 250 HBAR",
    rf"Withdrawn: SUCCESS, {HBAR} of fees, {ID}",
    "Not in the order book any more",
    rf"Listed again: SUCCESS, {HBAR} of fees, {ID}",
    "In the order book for 199 HBAR",
    rf"Bought: SUCCESS, {HBAR} of fees, 0\.0\.9001@[0-9.]+",
    "It belongs to the buyer now",
]
# Of 10,000 HBAR: the price of 199 comes or goes, and fees go, those of queries among them.
SELLER, BUYER = r"Seller has 10197\.49[0-9]* ℏ", r"Buyer has 980[01]\.[0-9]* ℏ"

needs_javascript = pytest.mark.skipif(
    not shutil.which("node") or not (JAVASCRIPT / "node_modules").exists(),
    reason="needs the JavaScript SDKs (make sdks, with npm)",
)
needs_java = pytest.mark.skipif(
    not shutil.which("javac") or not JAR.exists(),
    reason="needs a JDK and the Java SDK (make java sdks)",
)
pytestmark = pytest.mark.once("the sandbox keeps its ledger on SQLite")


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    with sandbox_market(tmp_path_factory.mktemp("sdks")) as service:
        yield service


@pytest.fixture
def run(market):
    """Run a program beside the service; returns the lines that it printed."""

    def run(*command, **settings):
        ended = subprocess.run(
            command,
            env=os.environ
            | {"MARKET": market.url, "NODE": f"127.0.0.1:{market.node.port}", "TOKEN": market.token}
            | settings,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout.splitlines()

    return run


def assert_sold(lines):
    *steps, one, other = lines
    assert len(steps) == len(STEPS), lines
    for step, expected in zip(steps, STEPS, strict=True):
        assert re.fullmatch(expected, step), step
    seller, buyer = sorted((one, other), reverse=True)
    assert re.fullmatch(SELLER, seller), seller
    assert re.fullmatch(BUYER, buyer), buyer


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


def assert_taught(lines):
    assert len(lines) == len(TUTORIAL), lines
    for line, expected in zip(lines, TUTORIAL, strict=True):
        assert re.fullmatch(expected, line), line


def test_the_tutorial_in_python(run):
    assert_taught(run(sys.executable, str(FOLDER / "python/tutorial.py")))


@needs_javascript
def test_the_tutorial_in_javascript(run):
    assert_taught(run("node", str(JAVASCRIPT / "tutorial.mjs")))


@needs_java
def test_java(run):
    assert_sold(run("java", "-cp", str(JAR), str(JAVA / "Sell.java")))


@needs_java
def test_the_tutorial_in_java(run):
    assert_taught(run("java", "-cp", str(JAR), str(JAVA / "Tutorial.java")))


@pytest.fixture
def client(market):
    """Alice's, of the Python SDK; her key is the demo wallet's."""
    client = Client.for_network({f"127.0.0.1:{market.node.port}": account("0.0.3")})
    client.set_operator(account(ALICE), wallet.private_key(ALICE))
    yield client
    client.close()


def test_what_the_sdk_reads(client):
    client.set_operator(account("0.0.1000"), wallet.private_key("0.0.1000"))  # the treasury
    mint = TokenMintTransaction().set_token_id(TokenId.from_string("0.0.7102"))
    receipt = mint.set_metadata([b"one", b"two"]).execute(client)
    assert receipt.serial_numbers == [1, 2]
    nft = TokenNftInfoQuery(NftId(TokenId.from_string("0.0.7102"), 2)).execute(client)
    assert (nft.metadata, str(nft.account_id)) == (b"two", "0.0.1000")
    token = TokenInfoQuery(TokenId.from_string("0.0.5001")).execute(client)
    [royalty] = token.custom_fees
    assert (token.name, royalty.numerator, royalty.denominator) == ("Tides", 5, 100)
    info = AccountInfoQuery(account("0.0.1000")).execute(client)
    expected = wallet.private_key("0.0.1000").public_key().to_bytes_raw()
    assert info.key.to_bytes_raw() == expected
