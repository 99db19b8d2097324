"""The sandbox's consensus nodes check what real ones check, with HAPI's own result codes."""

import base64
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest
from hiero_sdk_python.crypto.private_key import PrivateKey
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction
from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction

from hiero_sandbox import times
from hiero_sandbox.database import KEY
from sandbox.tests.answers import assert_error
from sandbox.tests.bodies import NFT, approval, id_of, make, seal, sign
from sandbox.tests.people import ALICE, CHARLIE, MARKET, TOKEN
from sandbox.tests.sdk import approval_of_sdk, of_sdk


def test_a_deleted_approval_clears_the_spender(ledger, nft, get):
    ledger.approve(nft, ALICE, MARKET)
    ledger.withdraw(nft, ALICE)
    assert get(f"/tokens/{TOKEN}/nfts/7")["spender"] is None


def test_a_transaction_for_several_nodes_is_one(ledger, nft):
    content = of_sdk(approval_of_sdk(7), nodes=("0.0.3", "0.0.4", "0.0.5"))
    assert ledger.submit(content).result == "SUCCESS"


def test_an_ecdsa_key_signs(submit, nft, get):
    key = PrivateKey.generate_ecdsa()
    assert submit(approval(ALICE), key).result == "SUCCESS"
    assert get(f"/accounts/{ALICE}")["key"] == {
        "_type": "ECDSA_SECP256K1",
        "key": key.public_key().to_bytes_raw().hex(),
    }
    assert submit(approval(ALICE), PrivateKey.generate_ecdsa()).result == "INVALID_SIGNATURE"


def test_the_first_key_that_signs_becomes_the_accounts_key(submit, nft):
    assert submit(approval(ALICE), ALICE).result == "SUCCESS"
    assert submit(approval(ALICE), CHARLIE).result == "INVALID_SIGNATURE"
    assert submit(approval(ALICE), CHARLIE, ALICE).result == "SUCCESS"


def test_a_signature_of_other_bytes_is_refused(ledger, nft):
    other = sign(approval(ALICE), ALICE).replace(b"\x22\x01\x07", b"\x22\x01\x08")
    assert ledger.submit(other).result == "INVALID_SIGNATURE"


@pytest.mark.parametrize(
    ("seconds_ago", "result"),
    [(-60, "INVALID_TRANSACTION_START"), (109, "SUCCESS"), (111, "TRANSACTION_EXPIRED")],
)
def test_its_validity_is_checked(ledger, nft, seconds_ago, result):
    body = approval(ALICE)
    body.transactionID.transactionValidStart.seconds = times.now() // times.SECOND - seconds_ago
    assert ledger.submit(sign(body, ALICE)).result == result


def test_other_kinds_are_not_supported(submit, caplog):
    assert submit(make(ALICE, "contractCall"), ALICE).result == "NOT_SUPPORTED"
    assert "CONTRACTCALL: its README lists what it executes" in caplog.text


def test_an_approval_leaves_an_approve_for_all_in_place(nft, ledger, get):
    assert ledger.submit(of_sdk(approval_of_sdk())).result == "SUCCESS"
    approvals = f"/accounts/{ALICE}/allowances/nfts"
    assert len(get(approvals)["allowances"]) == 1

    ledger.approve(NFT, ALICE, MARKET)
    assert len(get(approvals)["allowances"]) == 1
    # The Python SDK's own helper revokes it: the trap for an application that approves one serial number.
    assert ledger.submit(of_sdk(approval_of_sdk(7))).result == "SUCCESS"
    assert get(approvals)["allowances"] == []


@pytest.mark.parametrize(
    "value", ["", "!!", "AAAA", "CgA=", base64.b64encode(b"x" * 99).decode(), 5]
)
def test_it_refuses_what_is_no_transaction(client, value):
    r = client.post("/transactions", json={"transaction": value})
    assert_error(r, 422, "transaction must be base64 of a transaction's bytes")


def test_a_refusal_is_explained(client, nft):
    unsigned = base64.b64encode(seal(approval(ALICE))).decode()
    r = client.post("/transactions", json={"transaction": unsigned})
    assert r.json["result"] == "INVALID_SIGNATURE"
    assert r.json["message"].startswith("A signature is missing")
    assert r.json["message"].endswith("on this ledger.")


def test_what_nobody_has_signed_is_refused_as_nodes_refuse_it(client, nft):
    signed = SignedTransaction(bodyBytes=approval(ALICE).SerializeToString())
    content = Transaction(signedTransactionBytes=signed.SerializeToString()).SerializeToString()
    r = client.post("/transactions", json={"transaction": base64.b64encode(content).decode()})
    assert r.json["result"] == "INVALID_TRANSACTION_BODY"
    assert r.json["message"].startswith("It is not signed at all")


@contextmanager
def locked(ledger):
    """Keep the ledger locked meanwhile, as another process does that writes."""
    path = ledger.sandbox.extensions[KEY].path
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("COMMIT")


@pytest.mark.parametrize("app", ["file"], indirect=True)
def test_a_transaction_that_waited_for_the_ledger_gets_a_later_timestamp(nft, ledger, get):
    """No consensus timestamp is earlier than a block that the mirror node has already closed."""
    with ThreadPoolExecutor() as pool:
        with locked(ledger):
            submitted = pool.submit(ledger.submit, sign(approval(ALICE), ALICE))
            time.sleep(0.5)
            present = get("/blocks")["blocks"][0]["timestamp"]["to"]
        assert submitted.result().result == "SUCCESS"
    row = get(f"/tokens/{TOKEN}/nfts/7")
    assert row["modified_timestamp"] > present


@pytest.mark.parametrize("app", ["file"], indirect=True)
def test_what_expires_while_it_waits_is_not_handled(nft, ledger, get):
    body = approval(ALICE)
    expires_at = id_of(seal(body)).valid_start + 110 * times.SECOND  # ten seconds early
    with ThreadPoolExecutor() as pool:
        with locked(ledger):
            now = expires_at - times.SECOND // 10
            submitted = pool.submit(ledger.submit, sign(body, ALICE), now)
            time.sleep(0.5)
        assert submitted.result().result == "TRANSACTION_EXPIRED"
    assert get(f"/tokens/{TOKEN}/nfts/7")["spender"] is None
