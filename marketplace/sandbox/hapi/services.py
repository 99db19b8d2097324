"""Every method of HAPI that has an answer here, by its path: /proto.CryptoService/approveAllowances.

The services are those of the SDK's own descriptors. A node reads what a request holds, whatever method it
came by; so one handler answers all methods that take a transaction, and one all that take a query.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

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

__all__ = ["MAX_REQUEST_BYTES", "METHODS", "Malformed", "Method"]

# A transaction has 6,144 bytes at most, and so has the one that pays for a query. What is a little larger is
# answered with the network's own code; what is much larger is not read.
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
# By the name of the message that a method takes.
ANSWERS = {
    "proto.Transaction": submissions.answer,
    "proto.Query": queries.answer,
    "com.hedera.mirror.api.proto.AddressBookQuery": network.list_nodes,
}


class Method(NamedTuple):
    """One method: its path, and what answers it.

    ``answer(content, now)`` takes the bytes of a request and the moment in nanoseconds, and returns the
    messages of the answer: one, but for methods that stream. Raises Malformed.
    """

    path: str
    answer: Callable[[bytes, int], list[bytes]]


def _methods() -> Iterator[Method]:
    for module in SERVICES:
        for service in module.DESCRIPTOR.services_by_name.values():
            for method in service.methods:
                if answer := ANSWERS.get(method.input_type.full_name):
                    path = f"/{service.full_name}/{method.name}"
                    yield Method(path, answer)


METHODS = {method.path: method for method in _methods()}
