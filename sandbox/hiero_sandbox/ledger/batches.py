"""Batches: all transactions succeed, or none has any effect except its fee. HIP-551.

Source: AtomicBatchHandler of https://github.com/hiero-ledger/hiero-consensus-node.
"""

from hiero_sdk_python.hapi.services.transaction_pb2 import AtomicBatchTransactionBody, Transaction

from hiero_sandbox.ledger import accounts, envelopes, network_fees
from hiero_sandbox.ledger.envelopes import Refused, Signed, refuse_if
from hiero_sandbox.ledger.execution import Effects, Execution, Handler, require_id

NOT_ALLOWED = ("atomic_batch", "freeze", "scheduleCreate", "scheduleSign")
MAX_TRANSACTIONS = 50
NODE = "0.0.0"  # inner transactions name no node
NANOSECONDS = 31  # from one to the next: each may create 30 accounts


def check(content: AtomicBatchTransactionBody) -> None:
    """Check what a node checks before consensus."""
    inner = open_inner(content)
    refuse_if(not inner, "BATCH_LIST_EMPTY")
    refuse_if(len({signed.id for signed in inner}) < len(inner), "BATCH_LIST_CONTAINS_DUPLICATES")
    for signed in inner:
        require_id(signed.body)
        refuse_if(signed.body.WhichOneof("data") is None, "INVALID_TRANSACTION_BODY")
        refuse_if(not signed.body.HasField("batch_key"), "MISSING_BATCH_KEY")
        refuse_if(envelopes.write_id(signed.body.nodeAccountID) != NODE, "INVALID_NODE_ACCOUNT_ID")


def open_inner(content: AtomicBatchTransactionBody) -> list[Signed]:
    """The transactions of a batch."""
    try:
        return [
            envelopes.open_transaction(Transaction(signedTransactionBytes=signed))
            for signed in content.transactions
        ]
    except envelopes.Unreadable:
        raise Refused("INVALID_TRANSACTION") from None


def execute(execution: Execution, content: AtomicBatchTransactionBody) -> None:
    inner = open_inner(content)
    refuse_if(len(inner) > MAX_TRANSACTIONS, "BATCH_SIZE_LIMIT_EXCEEDED")
    for signed in inner:
        refuse_if(signed.body.WhichOneof("data") in NOT_ALLOWED, "BATCH_TRANSACTION_IN_BLACKLIST")
        execution.require_key(signed.body.batch_key)
    for number, signed in enumerate(inner, start=1):
        now = execution.now + number * NANOSECONDS
        fee = execution.node.fee_of(signed.body)
        price = network_fees.price_at_consensus(execution.db, fee, signed)
        child = Execution(execution.db, execution.node, signed, now, price)
        execution.inner.append(child)
        child.result = execution.node.run_inner(child)
        refuse_if(child.result != "SUCCESS", "INNER_TRANSACTION_FAILED")


def revert(execution: Execution) -> None:
    """Charge the executed transactions of a failed batch again: the rollback has undone their fees."""
    for child in execution.inner:
        if child.fee:
            child.fee = min(child.fee, accounts.balance(child.db, child.payer))
            child.charge(child.fee)
        child.effects = Effects()
        if child.result == "SUCCESS":
            child.result = "REVERTED_SUCCESS"


HANDLERS = {"atomic_batch": Handler(execute, check)}
