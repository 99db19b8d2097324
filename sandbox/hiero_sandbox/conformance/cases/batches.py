"""Batches (HIP-551) and pseudorandom numbers (HIP-351)."""

from typing import Any

from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction, TransactionBody

from hiero_sandbox import messages
from hiero_sandbox.conformance.case import case, equal, holds, refused
from hiero_sandbox.conformance.entities import ISSUER, ISSUER_KEY, holder, payment
from hiero_sandbox.conformance.network import Network, code_of, envelope

NO_NODE = "0.0.0"
PRNG = "HIP-351; UtilPrngHandler of hiero-consensus-node"


def inner(network: Network, body: TransactionBody, *, has_key: bool = True) -> bytes:
    """The bytes of a transaction in a batch, which the operator pays for."""
    body.nodeAccountID.CopyFrom(messages.account(NO_NODE))
    if has_key:
        body.batch_key.CopyFrom(ISSUER_KEY)
    signed = Transaction.FromString(envelope(body, network.operator))
    return bytes(signed.signedTransactionBytes)


def pay(network: Network, receiver: str, amount: int) -> TransactionBody:
    return payment(network, (network.operator.id, -amount), (receiver, amount))


@case("HIP-551")
def a_batch(network: Network) -> None:
    """All transactions of a batch succeed, each with a receipt of its own."""
    receiver = network.account()
    bodies = [pay(network, receiver.id, amount) for amount in (1, 2)]
    contents = [inner(network, body) for body in bodies]
    network.done(network.body("atomic_batch", transactions=contents), ISSUER)
    receipts = [network.receipt(body.transactionID) for body in bodies]
    equal([receipt.status for receipt in receipts], [22, 22])
    path = f"/accounts/{receiver.id}?transactions=false"
    shown = network.shown(path, lambda body: body["balance"]["balance"] == 3)
    equal(shown["balance"]["balance"], 3)


@case("HIP-551")
def a_batch_of_which_one_fails(network: Network) -> None:
    """Where one fails, the batch is INNER_TRANSACTION_FAILED, and those before it are undone."""
    receiver = network.account()
    bodies = [pay(network, receiver.id, 1), pay(network, "0.0.4294967295", 1)]
    contents = [inner(network, body) for body in bodies]
    outcome = network.submit(network.body("atomic_batch", transactions=contents), ISSUER)
    equal(outcome.code, "INNER_TRANSACTION_FAILED")
    row = network.row(outcome)
    equal(row["result"], "INNER_TRANSACTION_FAILED")
    shown = network.get(f"/accounts/{receiver.id}?transactions=false").body
    equal(shown["balance"]["balance"], 0)


@refused("MISSING_BATCH_KEY", "HIP-551; AtomicBatchHandler of hiero-consensus-node")
def a_transaction_without_a_batch_key(network: Network) -> object:
    """Each transaction of a batch names the key that signs the batch."""
    content = inner(network, pay(network, network.node_account, 1), has_key=False)
    return network.body("atomic_batch", transactions=[content]), ISSUER


@refused("INVALID_SIGNATURE", "HIP-551; AtomicBatchHandler of hiero-consensus-node")
def a_batch_that_its_key_has_not_signed(network: Network) -> object:
    """The batch keys sign the batch."""
    content = inner(network, pay(network, network.node_account, 1))
    return network.body("atomic_batch", transactions=[content])


@refused("INVALID_SIGNATURE", "HIP-551; IngestChecker of hiero-consensus-node", by_node=True)
def a_transaction_that_its_payer_has_not_signed(network: Network) -> object:
    """A node refuses a batch with a transaction that it would refuse by itself."""
    payer = network.once(holder)
    body = payment(network, (payer.id, -1), (network.operator.id, 1), payer=payer.id)
    return network.body("atomic_batch", transactions=[inner(network, body)]), ISSUER


@refused("BATCH_LIST_EMPTY", "HIP-551; AtomicBatchHandler of hiero-consensus-node")
def an_empty_batch(network: Network) -> object:
    """A batch has a transaction."""
    return network.body("atomic_batch")


def record(network: Network, body: TransactionBody) -> Any:
    """The record of a transaction, by HAPI's query."""
    network.done(body)
    answer = network.ask("transactionGetRecord", transactionID=body.transactionID)
    equal(code_of(answer.header), "OK")
    return answer.transactionRecord


@case(PRNG)
def a_number_in_a_range(network: Network) -> None:
    """A record has a number below the range, or without a range 48 bytes."""
    number = record(network, network.body("util_prng", range=10)).prng_number
    holds(0 <= number < 10, f"the number is {number}")
    content = record(network, network.body("util_prng")).prng_bytes
    equal(len(content), 48)


@refused("INVALID_PRNG_RANGE", PRNG, by_node=True)
def a_negative_range(network: Network) -> object:
    """A range is no less than zero."""
    return network.body("util_prng", range=-1)
