"""The link to wallets, in Node.js: with wallets of WalletConnect's own libraries, and as it is bundled.

Needs Node.js, and packages that make tools installs.
"""

import gzip
import os
import shutil
import socket

import pytest

from harness.serving import ROOT, run_program
from hiero_sandbox import relay

LINK, WALLETS = ROOT / "clients/wallet-link", ROOT / "sandbox/tests/system/relay"
BUNDLES = {
    "wallet-link": ROOT / "marketplace/storefront/static/wallet-link.js",
    "wallet-check": ROOT / "marketplace/demo/static/wallet-check.js",
}

pytestmark = pytest.mark.skipif(
    not shutil.which("node")
    or not (LINK / "node_modules").exists()
    or not (WALLETS / "node_modules").exists(),
    reason="needs WalletConnect's packages (make tools, with npm)",
)


both = pytest.mark.parametrize("name", BUNDLES)


@both
def test_the_pages_have_what_its_source_makes(name):
    """make wallet-link"""
    made = run_program("node", LINK / "build.mjs", name, check=True).stdout
    assert made == BUNDLES[name].read_text()


@both
def test_it_is_small(name):
    assert len(gzip.compress(BUNDLES[name].read_bytes(), 9)) < 30_000


def test_it_works_with_wallets():
    listener = socket.create_server(("127.0.0.1", 0))
    relay.begin(listener)
    environ = os.environ | {"RELAY": f"ws://127.0.0.1:{listener.getsockname()[1]}"}
    run_program(
        "node", "--test", LINK / "tests/link.test.mjs", check=True, env=environ, timeout=300
    )


def test_the_check_finds_what_wallets_do_wrong():
    run_program("node", "--test", LINK / "tests/check.test.mjs", check=True, timeout=300)
