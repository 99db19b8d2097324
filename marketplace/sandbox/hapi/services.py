"""The table of HAPI's methods, by path: /proto.CryptoService/approveAllowances; and transactions.

The services are those of the SDK's own descriptors. A node goes by the content of a request, not by its
method. So one function answers all methods that take a transaction, and one all that take a query.
"""

from collections.abc import Callable
from importlib import import_module

from hiero_sdk_python.hapi.services.transaction_response_pb2 import TransactionResponse

from marketplace.sandbox.hapi import network, queries
from marketplace.sandbox.hapi.codes import code, of_faults
from marketplace.sandbox.ledger import consensus, network_fees
from marketplace.sandbox.ledger.envelopes import Unreadable, open_transaction, read_list

# A transaction has 6,144 bytes at most, and so has the payment of a query. Slightly larger requests get the
# network's result code, much larger ones are not read.
MAX_REQUEST_BYTES = 16 * 1024

SERVICES = ("consensus", "crypto", "file", "network", "schedule", "smart_contract", "token", "util")
MODULES = [import_module(f"hiero_sdk_python.hapi.services.{name}_service_pb2") for name in SERVICES]
MODULES.append(import_module("hiero_sdk_python.hapi.mirror.mirror_network_service_pb2"))
# ``answer(content, now)`` takes the bytes of a request and the time in nanoseconds. It returns the answer's
# messages: one, but for methods that stream. Raises DecodeError.
Answer = Callable[[bytes, int], list[bytes]]


def submit(content: bytes, now: int) -> list[bytes]:
    """Submit the bytes of a HAPI Transaction, and answer the node's precheck code; receipts have the result.

    OK means that it reached consensus, successful or not.
    """
    result = of_faults(lambda: _submit(content, now))
    response = TransactionResponse(nodeTransactionPrecheckCode=code(result))
    if result == "INSUFFICIENT_TX_FEE":
        response.cost = network_fees.price(open_transaction(read_list(content)[0]))
    return [response.SerializeToString()]


def _submit(content: bytes, now: int) -> str:
    try:
        receipt = consensus.submit(content, now)
    except Unreadable:
        return "INVALID_TRANSACTION"
    return "OK" if receipt.reached_consensus else receipt.result


# By the message that a method takes.
ANSWERS: dict[str, Answer] = {
    "proto.Transaction": submit,
    "proto.Query": queries.answer,
    "com.hedera.mirror.api.proto.AddressBookQuery": network.list_nodes,
}
METHODS = {
    f"/{service.full_name}/{method.name}": ANSWERS[method.input_type.full_name]
    for module in MODULES
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
    if method.input_type.full_name in ANSWERS
}
