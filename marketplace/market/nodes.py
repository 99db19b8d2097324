"""The consensus nodes: which one a transaction names, and how it is submitted to that node.

Submits over gRPC: HAPI, as Hedera SDKs speak it. The first call imports gRPC and hiero-sdk-python, so that
only processes that submit load them, and only after their fork. Each call opens its own connection: a lasting
one would not survive a fork.

Like SDKs' connections, it is not encrypted. The transaction is signed, and soon public. A node's answer
proves nothing, so only the mirror node's answer decides a transaction's outcome.
"""

import itertools
import json
import time
from collections.abc import Iterable

from flask import current_app

from marketplace.errors import (
    LedgerAnswerInvalid,
    NodesUnreachable,
    TransactionRefused,
    Unavailable,
)
from marketplace.ledger import Deadline
from marketplace.ledger.objects import ConsensusNode
from marketplace.market.throttled_log import warn_once_a_minute
from marketplace.services import mirror_node, read, services
from marketplace.store import properties

# An SDK submits only to nodes of its built-in list, which may be outdated. The nodes with the lowest numbers
# are on every list: newer nodes have higher numbers.
MOST = 6
# Every network has these. They are used until the network's nodes have been read.
ALWAYS_THERE = ("0.0.3", "0.0.4", "0.0.7", "0.0.8", "0.0.9")

AVOIDED_SECONDS = 60
SUBMIT_SECONDS = 6
TAKEN = {"OK", "DUPLICATE_TRANSACTION"}
# Another node may take it.
TRY_ANOTHER = {
    "BUSY",
    "PLATFORM_NOT_ACTIVE",
    "PLATFORM_TRANSACTION_NOT_CREATED",
    "INVALID_NODE_ACCOUNT",
}

CONNECT_SECONDS = 1.5
ANSWER_SECONDS = 3.0
TLS_PORT = 50212  # of every node; other ports take unencrypted connections

# The services and methods of HAPI that take each kind of transaction.
METHODS = {
    "cryptoTransfer": "CryptoService/cryptoTransfer",
    "cryptoApproveAllowance": "CryptoService/approveAllowances",
    "cryptoDeleteAllowance": "CryptoService/deleteAllowances",
    "scheduleCreate": "ScheduleService/createSchedule",
    "scheduleSign": "ScheduleService/signSchedule",
    "scheduleDelete": "ScheduleService/deleteSchedule",
}

_turns = itertools.count()
_avoided_until: dict[str, float] = {}  # of nodes that did not take a transaction of this process


class NodeUnreachable(Exception):
    """No connection to the node: it did not receive the transaction."""


class NodeSilent(Exception):
    """The node did not answer: it may have received the transaction."""


def next_node() -> str:
    """The node for the next transaction. Nodes take turns; one that failed lately is left out."""
    nodes, now = list_nodes(), time.monotonic()
    left = [node for node in nodes if _avoided_until.get(node, 0) <= now] or nodes
    return left[next(_turns) % len(left)]


def _note_unreachable(node: str) -> None:
    _avoided_until[node] = time.monotonic() + AVOIDED_SECONDS


def list_nodes() -> tuple[str, ...]:
    configured: tuple[str, ...] = current_app.config["NODE_ACCOUNT_IDS"]
    return configured or _list_network_nodes()[:MOST] or ALWAYS_THERE


def list_gone_nodes() -> list[str]:
    """The nodes of NODE_ACCOUNT_IDS that the network no longer had when the watcher last read its nodes."""
    there = _list_network_nodes()
    return [node for node in current_app.config["NODE_ACCOUNT_IDS"] if there and node not in there]


def find_addresses(deadline: Deadline) -> dict[str, list[str]]:
    """The addresses at which nodes take transactions, by the nodes' accounts.

    Uses the watcher's last reading, or asks the mirror node if there is none. Raises the ledger's errors.
    """
    stored = properties.get_property(read(), properties.NODE_ADDRESSES)
    if stored is None:
        return list_addresses(mirror_node().list_nodes(deadline))
    addresses: dict[str, list[str]] = json.loads(stored)
    return addresses


def list_addresses(nodes: Iterable[ConsensusNode]) -> dict[str, list[str]]:
    return {
        node.account: [str(each) for each in node.endpoints or () if each.port != TLS_PORT]
        for node in nodes
    }


def _list_network_nodes() -> tuple[str, ...]:
    stored = properties.get_property(read(), properties.NODES)
    return tuple(json.loads(stored)) if stored else ()


def submit(transactions: bytes, node: str, transaction_id: str, kind: str) -> None:
    """Submit a TransactionList of one. Also returns if the node may have taken it, but did not answer.

    Raises NodesUnreachable or TransactionRefused: then the node has not taken it.
    """
    try:
        code = _send_to_node(transactions, node)
    except NodeUnreachable as error:
        _note_unreachable(node)
        raise NodesUnreachable(f"there is no connection to {error}") from None
    except NodeSilent as error:
        _note_unreachable(node)
        warn_once_a_minute("A node may have taken %s: no answer of %s", transaction_id, error)
        return
    if code in TRY_ANOTHER:
        _note_unreachable(node)
        raise NodesUnreachable(f"{node}: {code}")
    if code not in TAKEN:
        raise TransactionRefused(transaction_id, kind, code)


def _send_to_node(transactions: bytes, node: str) -> str:
    """Return the node's precheck code. Raises NodeUnreachable and NodeSilent."""
    from marketplace.hedera.transactions import read_first

    transaction, sandbox = read_first(transactions), services().sandbox
    if sandbox:
        return read_code(sandbox.submit(transaction))
    deadline = Deadline(SUBMIT_SECONDS)
    try:
        addresses = find_addresses(deadline).get(node, [])
    except (Unavailable, LedgerAnswerInvalid) as error:
        raise NodeUnreachable(f"{node}: its address is not known ({error})") from None
    failure = f"{node}, which has no address"
    for address in addresses:
        try:
            return send_to_address(address, transaction, deadline)
        except NodeUnreachable:
            failure = address
    raise NodeUnreachable(failure)


def send_to_address(address: str, transaction: bytes, deadline: Deadline) -> str:
    """Submit the bytes of a HAPI Transaction, and return the node's precheck code: OK, BUSY, ...

    Raises NodeUnreachable or NodeSilent.
    """
    import grpc

    from marketplace.hedera import signatures

    method = METHODS[signatures.find_kind(signatures.read(transaction).body)]
    options = [("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(address, options) as channel:
        try:
            connect_seconds = min(CONNECT_SECONDS, deadline.left)
            grpc.channel_ready_future(channel).result(connect_seconds)
        except grpc.FutureTimeoutError:
            raise NodeUnreachable(address) from None
        call = channel.unary_unary(f"/proto.{method}")
        try:
            answer = call(transaction, timeout=min(ANSWER_SECONDS, deadline.left))
        except grpc.RpcError as error:
            raise NodeSilent(f"{address}: {error.code().name}") from None
    return read_code(answer)


def read_code(response: bytes) -> str:
    """Read the precheck code of a HAPI TransactionResponse. Returns the number of an unknown code."""
    from hiero_sdk_python.hapi.services.response_code_pb2 import ResponseCodeEnum
    from hiero_sdk_python.hapi.services.transaction_response_pb2 import TransactionResponse

    code = TransactionResponse.FromString(response).nodeTransactionPrecheckCode
    known = ResponseCodeEnum.DESCRIPTOR.values_by_number.get(code)
    return str(known.name if known else code)
