"""The table of HAPI's methods, by path: /proto.CryptoService/approveAllowances.

The services are those of the SDK's own descriptors. A node goes by the content of a request, not by its
method. So one function answers all methods that take a transaction, and one all that take a query.
"""

from collections.abc import Callable

from hiero_sdk_python.hapi.mirror import mirror_network_service_pb2
from hiero_sdk_python.hapi.services import (
    consensus_service_pb2,
    crypto_service_pb2,
    file_service_pb2,
    network_service_pb2,
    schedule_service_pb2,
    smart_contract_service_pb2,
    token_service_pb2,
    util_service_pb2,
)

from marketplace.sandbox.hapi import network, queries, submissions
from marketplace.sandbox.hapi.queries import Malformed

__all__ = ["MAX_REQUEST_BYTES", "METHODS", "Answer", "Malformed"]

# A transaction has 6,144 bytes at most, and so has the payment of a query. Slightly larger requests get the
# network's result code, much larger ones are not read.
MAX_REQUEST_BYTES = 16 * 1024

SERVICES = (
    consensus_service_pb2,
    crypto_service_pb2,
    file_service_pb2,
    network_service_pb2,
    schedule_service_pb2,
    smart_contract_service_pb2,
    token_service_pb2,
    util_service_pb2,
    mirror_network_service_pb2,
)
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
    for module in SERVICES
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
    if method.input_type.full_name in ANSWERS
}
