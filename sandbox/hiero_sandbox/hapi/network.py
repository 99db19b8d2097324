"""HAPI's queries about the network: the address book, the version, the exchange rate."""

from ipaddress import IPv4Address

import hiero_sdk_python.hapi.services.basic_types_pb2 as hapi
from flask import current_app
from grpc import StatusCode
from hiero_sdk_python.hapi.mirror.mirror_network_service_pb2 import AddressBookQuery
from hiero_sdk_python.hapi.services.network_get_version_info_pb2 import (
    NetworkGetVersionInfoQuery,
    NetworkGetVersionInfoResponse,
)

from hiero_sandbox import __version__
from hiero_sandbox.hapi.address import find_host, find_port
from hiero_sandbox.hapi.errors import Failed
from hiero_sandbox.ledger.envelopes import write_id
from hiero_sandbox.messages import account

ADDRESS_BOOKS = ("0.0.101", "0.0.102")
NODE = "0.0.3"  # its own account; it also takes transactions for other nodes
# Roughly the version of the SDK's descriptors, which do not state it.
HAPI_VERSION = hapi.SemanticVersion(major=0, minor=70, patch=0)


def _address() -> hapi.NodeAddress:
    """The node's entry in the address book. It has no endpoint while the node's process does not run."""
    port = find_port(current_app)
    address, name = find_host()
    packed = IPv4Address(address).packed if address else b""
    endpoint = hapi.ServiceEndpoint(ipAddressV4=packed, domain_name=name, port=port or 0)
    return hapi.NodeAddress(
        nodeAccountId=account(NODE),
        memo=NODE.encode(),
        description="The sandbox",
        serviceEndpoint=[endpoint] if port else [],
    )


def list_nodes(content: bytes, now: int) -> list[bytes]:
    """The mirror node's address book, for SDKs that are given only a mirror node. Raises Failed."""
    query = AddressBookQuery.FromString(content)
    file = query.file_id
    if not query.HasField("file_id"):
        raise Failed(StatusCode.INVALID_ARGUMENT, "getNodes.filter.fileId: must not be null")
    if query.limit < 0:
        raise Failed(StatusCode.INVALID_ARGUMENT, "getNodes.filter.limit: must be >= 0")
    if write_id(file) not in ADDRESS_BOOKS:
        raise Failed(StatusCode.INVALID_ARGUMENT, "Not a valid address book file")
    return [_address().SerializeToString()]


def address_book(moment: int) -> hapi.NodeAddressBook:
    return hapi.NodeAddressBook(nodeAddress=[_address()])


def find_version(
    query: NetworkGetVersionInfoQuery, response: NetworkGetVersionInfoResponse, now: int
) -> None:
    """Answer with HAPI's version, and with this service's version as that of the node's software."""
    response.hapiProtoVersion.CopyFrom(HAPI_VERSION)
    major, minor, patch = (int(number) for number in __version__.split("."))
    response.hederaServicesVersion.CopyFrom(
        hapi.SemanticVersion(major=major, minor=minor, patch=patch, pre="sandbox")
    )
