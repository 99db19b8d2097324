"""The programs of examples/sdk, and what they need."""

import json
import os
import re
import shutil
import sys

import pytest

from harness.serving import ROOT, run_program

FOLDER = ROOT / "examples/sdk"
JAVASCRIPT, JAVA = FOLDER / "javascript", FOLDER / "java"
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
    "Bought: OK",
    "It belongs to the buyer now",
    # Of 10,000 HBAR: the price of 199 comes or goes, and fees go, those of queries among them.
    r"Seller has 10197\.49[0-9]* ℏ",
    r"Buyer has 980[01]\.[0-9]* ℏ",
]
needs_javascript = pytest.mark.skipif(
    not shutil.which("node") or not (JAVASCRIPT / "node_modules").exists(),
    reason="needs the JavaScript SDKs (make tools, with npm)",
)


def assert_printed(lines, forms):
    assert len(lines) == len(forms), lines
    for line, form in zip(lines, forms, strict=True):
        assert re.fullmatch(form, line), line


def assert_sold(lines):
    """The last two lines are in any order."""
    assert_printed(lines[:-2] + sorted(lines[-2:], reverse=True), STEPS)


# Each signs what the service has prepared. Without NODE, it prints the signed bytes. Otherwise, it has the
# node execute them, and prints as JSON: when it began, the status, the fee in tinybars, and who paid and got
# what.
EXECUTE_JAVASCRIPT = """
const [name, account, key, byteArray] = process.argv.slice(1);
const { Client, PrivateKey, Transaction } = await import(name);
const signer = PrivateKey.fromStringDer(key);
const signed = await Transaction.fromBytes(Buffer.from(byteArray, "base64")).sign(signer);
if (!process.env.NODE) {
  console.log(Buffer.from(signed.toBytes()).toString("base64"));
  process.exit();
}
const client = Client.forNetwork({ [process.env.NODE]: "0.0.3" }).setOperator(account, signer);
const began = Date.now() / 1000;
const response = await signed.execute(client);
const { receipt, transactionFee, transfers } = await response.getRecord(client);
const moved = transfers.map(({ accountId, amount }) => [`${accountId}`, Number(amount.toTinybars())]);
const [status, fee] = [`${receipt.status}`, Number(transactionFee.toTinybars())];
console.log(JSON.stringify({ began, status, fee, moved: Object.fromEntries(moved) }));
client.close();
"""
EXECUTE_PYTHON = """
import base64, json, os, sys, time

from hiero_sdk_python import *

account, key, byte_array = sys.argv[1:]
signer = PrivateKey.from_string_der(key)
signed = Transaction.from_bytes(base64.b64decode(byte_array)).sign(signer)
if not os.environ["NODE"]:
    print(base64.b64encode(signed.to_bytes()).decode())
    sys.exit()
client = Client.for_network({os.environ["NODE"]: AccountId.from_string("0.0.3")})
client.set_operator(AccountId.from_string(account), signer)
began = time.time()
receipt = signed.execute(client)
record = TransactionRecordQuery(receipt.transaction_id).execute(client)
moved = {str(account): amount for account, amount in record.transfers.items()}
status = ResponseCode(receipt.status).name
print(json.dumps({"began": began, "status": status, "fee": record.transaction_fee, "moved": moved}))
client.close()
"""
JAVASCRIPT_PROGRAM = ("node", "--input-type=module", "-e", EXECUTE_JAVASCRIPT)
PYTHON_PROGRAM = (sys.executable, "-c", EXECUTE_PYTHON)

by_each_sdk = pytest.mark.parametrize(
    "program",
    [
        pytest.param((*JAVASCRIPT_PROGRAM, "@hashgraph/sdk"), marks=needs_javascript),
        pytest.param((*JAVASCRIPT_PROGRAM, "@hiero-ledger/sdk"), marks=needs_javascript),
        PYTHON_PROGRAM,
    ],
    ids=["hashgraph", "hiero", "python"],
)


def execute(program, node, account_id, key, byte_array):
    """Sign what was prepared by an SDK's program, and have a node execute it; returns what it printed."""
    executed = json.loads(_run(program, node, account_id, key, byte_array))
    assert executed["status"] == "SUCCESS"
    return executed


def sign(program, account_id, key, byte_array):
    """Sign what was prepared by an SDK's program; returns the signed bytes in base64."""
    return _run(program, "", account_id, key, byte_array).strip()


def _run(program, node, *arguments):
    options = {"check": True, "cwd": JAVASCRIPT, "timeout": SECONDS}
    return run_program(*program, *arguments, env=os.environ | {"NODE": node}, **options).stdout
