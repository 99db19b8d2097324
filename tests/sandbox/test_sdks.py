"""The programs of examples/sdk, each with its Hedera SDK as it is, beside the service as it is served.

The browser's is in tests/demo/browser/test_sdk.py. Needs node and the packages of examples/sdk/javascript, and
a JDK with the SDK's jar: make sdks installs them.
"""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.sandbox.test_node import port_of
from tests.serving import ROOT, serve

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
# What 10,000 HBAR have become: the sale's 199 came or went, and fees went, those of records among them.
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
    """The service with its node; who calls it from a page may."""
    with serve(tmp_path_factory.mktemp("sdks"), GRPC_PORT=0, CORS_ORIGINS="*") as service:
        service.token = (service.folder / "instance/sandbox-token").read_text()
        yield service
    assert "Traceback" not in service.output


@pytest.fixture
def run(market):
    """Run a program beside the service; returns the lines that it printed."""

    def run(*command, **settings):
        port, _ = port_of(market)
        ended = subprocess.run(
            command,
            env=os.environ
            | {"MARKET": market.url, "NODE": f"127.0.0.1:{port}", "TOKEN": market.token}
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


@needs_java
def test_java(run):
    assert_sold(run("java", "-cp", str(JAR), str(JAVA / "Sell.java")))
