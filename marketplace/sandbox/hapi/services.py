"""The table of HAPI's methods, by path: /proto.CryptoService/approveAllowances.

The services are those of the SDK's own descriptors. A node goes by the content of a request, not by its
method. So one function answers all methods that take a transaction, and one all that take a query.
"""

from collections.abc import Callable
from importlib import import_module

from marketplace.sandbox.hapi import network, queries, submissions
from marketplace.sandbox.hapi.queries import Malformed

__all__ = ["MAX_REQUEST_BYTES", "METHODS", "Answer", "Malformed"]

# A transaction has 6,144 bytes at most, and so has the payment of a query. Slightly larger requests get the
# network's result code, much larger ones are not read.
MAX_REQUEST_BYTES = 16 * 1024

SERVICES = ("consensus", "crypto", "file", "network", "schedule", "smart_contract", "token", "util")
MODULES = [import_module(f"hiero_sdk_python.hapi.services.{name}_service_pb2") for name in SERVICES]
MODULES.append(import_module("hiero_sdk_python.hapi.mirror.mirror_network_service_pb2"))
# ``answer(content, now)`` takes the bytes of a request and the time in nanoseconds. It returns the answer's
# messages: one, but for methods that stream. Raises Malformed.
Answer = Callable[[bytes, int], list[bytes]]
# By the message that a method takes.
ANSWERS: dict[str, Answer] = {
    "proto.Transaction": submissions.answer,
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
