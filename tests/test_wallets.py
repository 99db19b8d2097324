"""A real wallet's SDK reads, signs and re-encodes our bytes, and the sandbox accepts what it signed.

Needs node, and the packages of tests/javascript: make wallets installs them.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ALICE, ROOT, TOKEN

FOLDER = Path(__file__).parent / "javascript"

pytestmark = pytest.mark.skipif(
    not shutil.which("node") or not (FOLDER / "node_modules").exists(),
    reason="needs the JavaScript SDK: run make wallets (needs npm)",
)


def wallet(byte_array, key_type):
    process = subprocess.run(
        ["node", "wallet.mjs", key_type],
        cwd=FOLDER,
        input=byte_array,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(process.stdout)


def test_the_demos_snippet_signs(client, nft, tmp_path):
    keys = {"accountId": ALICE, "tokenId": TOKEN, "serialNo": 7}
    listing = client.post("/v1/list/extwallet", json=keys | {"listingPrice": 250}).json
    snippet = ROOT / "marketplace" / "demo" / "snippets" / "sdk.mjs"
    script = tmp_path / "sign.mjs"
    script.write_text(snippet.read_text().replace("LISTING", json.dumps(listing)))
    (tmp_path / "node_modules").symlink_to(FOLDER / "node_modules")
    signed = subprocess.run(["node", script], capture_output=True, text=True, check=True).stdout
    r = client.post("/sandbox/transactions", json={"transaction": signed.strip()})
    assert r.json["result"] == "SUCCESS"


@pytest.mark.parametrize("key_type", ["ED25519", "ECDSA"])
def test_a_javascript_wallet_signs_a_listing(client, nft, ledger, key_type):
    keys = {"accountId": ALICE, "tokenId": TOKEN, "serialNo": 7}
    prepared = client.post("/v1/list/extwallet", json=keys | {"listingPrice": 250}).json

    read = wallet(prepared["byteArray"], key_type)
    signed, transaction_id = read.pop("signed"), read.pop("transactionId")
    assert read == {
        "isApproval": True,
        "isFrozen": True,
        "nodes": ["0.0.3"],
        "memo": f"Listing NFT with {TOKEN} and Serial Number 7 for 250 HBAR on NFT Marketplace",
        "maxFee": "5 ℏ",
        "validSeconds": 180,
        "token": TOKEN,
        "serials": ["7"],
        "owner": ALICE,
        "spender": "0.0.9001",
        "allSerials": False,
        "sameBytes": True,
        "sameBody": True,
    }

    receipt = client.post("/sandbox/transactions", json={"transaction": signed}).json
    assert receipt["result"] == "SUCCESS"
    reported = client.post("/v1/comingsoon", json=keys | {"transactionId": transaction_id})
    assert reported.json == {"result": "OK"}
    assert [listed["serialNo"] for listed in client.get("/v1/orderbook").json] == [7]
