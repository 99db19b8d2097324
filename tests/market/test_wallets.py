"""A real wallet's SDK reads, signs and re-encodes our bytes, and the sandbox accepts what it signed.

Needs node, and the packages of tests/javascript: make wallets installs them.
"""

import base64
import json
import shutil
import subprocess

import pytest
from hiero_sdk_python.crypto.private_key import PrivateKey

from marketplace.ids import TransactionId
from marketplace.market.transactions import build_purchase, write_signed
from tests import lives
from tests.conftest import ALICE, BOB, TOKEN
from tests.serving import ROOT

FOLDER = ROOT / "tests/javascript"

pytestmark = [
    pytest.mark.once("a wallet sees no engine"),
    pytest.mark.skipif(
        not shutil.which("node") or not (FOLDER / "node_modules").exists(),
        reason="needs the JavaScript SDK (make wallets, with npm)",
    ),
]


def wallet(byte_array, argument, script="wallet.mjs"):
    process = subprocess.run(
        ["node", script, argument],
        cwd=FOLDER,
        input=byte_array,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(process.stdout)


@pytest.fixture
def listing(client, nft):
    keys = {"accountId": ALICE, "tokenId": TOKEN, "serialNo": 7}
    return client.post("/v1/list/extwallet", json=keys | {"listingPrice": 250}).json


@pytest.fixture
def run_snippet(tmp_path, listing):
    """Run code that the demo offers to copy, with the listing in it; returns what it printed."""

    def run_snippet(name, stubs=""):
        code = (ROOT / "marketplace" / "demo" / "snippets" / name).read_text()
        script = tmp_path / "snippet.mjs"
        script.write_text(stubs + code.replace("LISTING", json.dumps(listing)))
        (tmp_path / "node_modules").symlink_to(FOLDER / "node_modules")
        process = subprocess.run(["node", script], capture_output=True, text=True, check=True)
        return process.stdout.splitlines()

    return run_snippet


def test_the_demos_sdk_snippet_signs(client, run_snippet):
    [signed] = run_snippet("sdk.mjs")
    r = client.post("/sandbox/transactions", json={"transaction": signed})
    assert r.json["result"] == "SUCCESS"


HASHCONNECT_0 = """
const topic = "of the pairing";
// As hashconnect 0.2.9 does it: base64 of what it is given.
const hashconnect = {
  sendTransaction: async (topic, { byteArray, metadata }) => {
    const sent = Buffer.from(byteArray).toString("base64");
    console.log(JSON.stringify({ topic, sent, metadata }));
    return { success: true };
  },
};
"""
HASHCONNECT_3 = """
const hashconnect = {
  sendTransaction: async (account, transaction) => {
    const sent = Buffer.from(transaction.toBytes()).toString("base64");
    console.log(JSON.stringify({ account: account.toString(), sent }));
  },
};
"""
WALLETCONNECT = """
const session = { topic: "of the session" };
const signClient = {
  request: async (asked) => {
    console.log(JSON.stringify(asked));
    return { transactionId: "0.0.1001@1763640000.123456789" };
  },
};
"""


def test_the_demos_hashconnect_0_snippet_encodes_once(run_snippet, listing):
    [sent] = run_snippet("hashconnect-0.js", HASHCONNECT_0)
    assert json.loads(sent) == {
        "topic": "of the pairing",
        "sent": listing["byteArray"],
        "metadata": {"accountToSign": ALICE, "returnTransaction": False},
    }


def test_the_demos_hashconnect_3_snippet_hands_over_a_transaction(run_snippet, listing):
    sent, transaction_id = run_snippet("hashconnect-3.js", HASHCONNECT_3)
    assert json.loads(sent) == {"account": ALICE, "sent": listing["byteArray"]}
    assert transaction_id.startswith(f"{ALICE}@")


def test_the_demos_walletconnect_snippet_passes_the_text_on(run_snippet, listing):
    sent, transaction_id = run_snippet("walletconnect.js", WALLETCONNECT)
    assert json.loads(sent) == {
        "topic": "of the session",
        "chainId": "hedera:testnet",
        "request": {
            "method": "hedera_signAndExecuteTransaction",
            "params": {
                "signerAccountId": f"hedera:testnet:{ALICE}",
                "transactionList": listing["byteArray"],
            },
        },
    }
    assert transaction_id == "0.0.1001@1763640000.123456789"


@pytest.mark.parametrize("key_type", ["ED25519", "ECDSA"])
def test_a_javascript_wallet_signs_a_listing(client, nft, ledger, key_type):
    keys = {"accountId": ALICE, "tokenId": TOKEN, "serialNo": 7}
    prepared = client.post("/v1/list/extwallet", json=keys | {"listingPrice": 250}).json

    read = wallet(prepared["byteArray"], key_type)
    signed, transaction_id = read.pop("signed"), read.pop("transactionId")
    assert read == {
        "kind": "listing",
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


@pytest.mark.parametrize("key_type", ["ED25519", "ECDSA"])
def test_a_javascript_wallet_signs_a_withdrawal(client, nft, ledger, lister, key_type):
    keys = {"accountId": BOB, "tokenId": TOKEN, "serialNo": 7}
    ledger.hand_over(nft, BOB)
    ledger.approve(nft, BOB, "0.0.9001", f"Listing NFT with {TOKEN} and Serial Number 7 for 5 HBAR")
    prepared = client.post("/v1/delist/extwallet", json=keys).json
    read = wallet(prepared["byteArray"], key_type)
    signed, transaction_id = read.pop("signed"), read.pop("transactionId")
    assert read == {
        "kind": "withdrawal",
        "isFrozen": True,
        "nodes": ["0.0.3"],
        "memo": f"Delisting NFT with {TOKEN} and Serial Number 7 on NFT Marketplace",
        "maxFee": "5 ℏ",
        "validSeconds": 180,
        "token": TOKEN,
        "serials": ["7"],
        "owner": BOB,
        "sameBytes": True,
        "sameBody": True,
    }
    assert TransactionId.parse(transaction_id).account_id == BOB
    assert signed


@pytest.mark.parametrize("key_type", ["ED25519", "ECDSA"])
def test_a_javascript_wallet_buys(client, nft, lister, buy, key_type):
    lister(nft)
    read = wallet(buy().json["byteArray"], key_type)
    signed, transaction_id = read.pop("signed"), read.pop("transactionId")
    assert read == {
        "kind": "purchase",
        "isFrozen": True,
        "nodes": ["0.0.3"],
        "memo": f"Buying NFT with {TOKEN} and Serial Number 7 for 250 HBAR on NFT Marketplace",
        "maxFee": "0.5 ℏ",
        "validSeconds": 60,
        "payments": {ALICE: "25000000000", BOB: "-25000000000"},
        "nfts": [[TOKEN, "7", ALICE, BOB, True]],
        "sameBytes": True,
        "sameBody": True,
    }
    receipt = client.post("/sandbox/transactions", json={"transaction": signed}).json
    assert receipt == {"transactionId": transaction_id, "result": "SUCCESS"}
    keys = {"accountId": BOB, "tokenId": TOKEN, "serialNo": 7}
    reported = client.post("/v1/comingsoon", json=keys | {"transactionId": transaction_id})
    assert reported.json == {"result": "OK"}


@pytest.mark.parametrize("signer_type", ["ED25519", "ECDSA"])
@pytest.mark.parametrize(
    ("price", "basis_points", "seller", "buyer"),
    [
        (250, 250, "0.0.1001", "0.0.1002"),
        (50_000_000_000, 5000, "0.0.99999", "0.0.5"),
        (1, 0, "1.2.3", f"0.0.{2**63 - 1}"),
        (1, 1, "0.0.9002", "0.0.900"),
    ],
)
def test_javascript_encodes_a_purchase_as_we_do(signer_type, price, basis_points, seller, buyer):
    key = getattr(PrivateKey, f"generate_{signer_type.lower()}")()
    body = build_purchase(
        transaction_id=TransactionId("0.0.9001", 1_790_000_000, 0),
        token="0.0.5005",
        serial_no=2**63 - 1,
        seller=seller,
        buyer=buyer,
        price=price,
        fee_basis_points=basis_points,
        node_account_id="0.0.3",
        memo="für 5",
        max_fee_tinybars=50_000_000,
        valid_seconds=60,
    )
    content = write_signed(body, key.public_key().to_bytes_raw(), key.sign(body))
    read = wallet(base64.b64encode(content).decode(), "ED25519")
    assert (read["sameBytes"], read["sameBody"]) == (True, True)
    amounts = [int(amount) for amount in read["payments"].values()]
    assert sum(amounts) == 0
    assert int(read["payments"][buyer]) == -price * 100_000_000


@pytest.mark.parametrize("is_named", [True, False])
def test_a_javascript_wallet_that_freezes_anew_lists_under_its_own_id(client, nft, is_named):
    keys = {"accountId": ALICE, "tokenId": TOKEN, "serialNo": 7}
    prepared = client.post("/v1/list/extwallet", json=keys | {"listingPrice": 250}).json
    frozen = wallet(prepared["byteArray"], ALICE, script="freeze-anew.mjs")
    ours = str(lives.id_of(base64.b64decode(prepared["byteArray"])))
    assert TransactionId.parse(frozen["transactionId"]) != TransactionId.parse(ours)

    receipt = client.post("/sandbox/transactions", json={"transaction": frozen["signed"]}).json
    assert receipt["result"] == "SUCCESS"
    named = {"transactionId": frozen["transactionId"]} if is_named else {}
    assert client.post("/v1/comingsoon", json=keys | named).json == {"result": "OK"}
    assert client.post("/v1/comingsoon", json=keys | {"transactionId": ours}).json == {
        "result": "OK"
    }
    assert [listed["listingPrice"] for listed in client.get("/v1/orderbook").json] == [250]
