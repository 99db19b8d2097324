"""How soon hiero-sandbox has a receipt, and in how much memory: each time a new process, with a new ledger.

    python -m stress.first_receipt --starts 10

The time is from the command, in an empty environment, to the receipt of a transfer over gRPC. The memory is
what the process has resident then (VmRSS), and what of that is its own (RssAnon): the rest are files.
"""

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

import grpc
from hiero_sdk_python.hapi.services.query_pb2 import Query
from hiero_sdk_python.hapi.services.response_code_pb2 import ResponseCodeEnum
from hiero_sdk_python.hapi.services.response_pb2 import Response
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction
from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction
from hiero_sdk_python.hapi.services.transaction_response_pb2 import TransactionResponse

from harness import wallets
from harness.serving import ROOT, reserved_port
from hiero_sandbox.ledger.genesis import known_accounts

SECONDS = 20  # for one start
STARTS = 10


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m stress.first_receipt")
    parser.add_argument("--starts", type=int, default=STARTS)
    starts = [start() for _ in range(parser.parse_args().starts)]
    names = ("First receipt, s", "Resident, MiB", "Of its own, MiB")
    for name, values in zip(names, zip(*starts, strict=True), strict=True):
        print(f"{name:16}  median {statistics.median(values):.2f}, at most {max(values):.2f}")


def start() -> tuple[float, float, float]:
    """Start it once. Returns the seconds to the first receipt, and its memory then."""
    with reserved_port() as port:
        ports = ("--rest-port", "0", "--node-port", str(port), "--mirror-port", "0")
        command = [sys.executable, "-m", "hiero_sandbox", *ports]
        began = time.monotonic()
        process = subprocess.Popen(command, cwd=ROOT, env={}, stdout=subprocess.DEVNULL)
        try:
            transfer(f"127.0.0.1:{port}", began + SECONDS)
            seconds = time.monotonic() - began
            return seconds, *(read_memory(process.pid, name) for name in ("VmRSS", "RssAnon"))
        finally:
            process.terminate()
            process.wait()


def transfer(node: str, until: float) -> None:
    """Pay a tinybar and wait for its receipt, as soon as the node answers."""
    _, payer, payee, *_ = known_accounts()
    body = wallets.new_body(payer.account_id, "")
    for account_id, amount in ((payer.account_id, -1), (payee.account_id, 1)):
        changes = body.cryptoTransfer.transfers.accountAmounts
        changes.add(accountID=wallets.account(account_id), amount=amount)
    content = body.SerializeToString()
    signed = SignedTransaction(bodyBytes=content)
    signature = payer.private_key.sign(content)
    signed.sigMap.sigPair.add(pubKeyPrefix=payer.public_key, ECDSA_secp256k1=signature)
    transaction = Transaction(signedTransactionBytes=signed.SerializeToString())
    asked = Query()
    asked.transactionGetReceipt.transactionID.CopyFrom(body.transactionID)
    while True:
        try:
            with grpc.insecure_channel(node) as channel:
                answer = ask(channel, "cryptoTransfer", transaction)
                assert TransactionResponse.FromString(answer).nodeTransactionPrecheckCode == 0
                answer = ask(channel, "getTransactionReceipts", asked)
            break
        except grpc.RpcError:
            assert time.monotonic() < until, "it did not start"
            time.sleep(0.005)
    receipt = Response.FromString(answer).transactionGetReceipt.receipt
    assert receipt.status == ResponseCodeEnum.SUCCESS


def ask(channel: grpc.Channel, method: str, message: Transaction | Query) -> bytes:
    call = channel.unary_unary(f"/proto.CryptoService/{method}")
    return bytes(call(message.SerializeToString(), timeout=SECONDS))


def read_memory(pid: int, name: str) -> float:
    """A process's memory of a kind, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


if __name__ == "__main__":
    main()
