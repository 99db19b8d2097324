"""The sandbox's own API: decode and submit transactions, earn rewards."""

from typing import Any

from flask import Blueprint

from hiero_sandbox import decoding, node
from hiero_sandbox.conditions import now
from hiero_sandbox.database import read
from hiero_sandbox.fields import TRANSACTION, read_account, read_body, whole_number
from hiero_sandbox.ledger.accounts import FIRST_BALANCE
from hiero_sandbox.ledger.consensus import Receipt
from hiero_sandbox.results import explain

blp = Blueprint("api", __name__)


@blp.post("/decode")
def decode_transaction() -> dict[str, Any]:
    """Decode a transaction, signed or not."""
    [transaction] = read_body(transaction=TRANSACTION)
    return decoding.decode(transaction)


@blp.post("/transactions")
def submit_transaction() -> dict[str, str]:
    """Submit the signed bytes of any SDK."""
    [transaction] = read_body(transaction=TRANSACTION)
    return show_result(node.submit(transaction, now()))


@blp.post("/rewards")
def add_reward() -> dict[str, int]:
    """Let an account earn a staking reward, in tinybars."""
    account_id, amount = read_account(amount=whole_number(FIRST_BALANCE))
    return {"pendingReward": node.add_reward(account_id, amount, now())}


def show_result(receipt: Receipt) -> dict[str, str]:
    shown = {"transactionId": receipt.transaction_id, "result": receipt.result}
    message = explain(receipt.result, read().world.hints)
    return shown | {"message": message} if message else shown
