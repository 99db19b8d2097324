"""Submits signed transactions to the consensus nodes that they name."""

from marketplace.errors import (
    LedgerAnswerInvalid,
    NodesUnreachable,
    TransactionRefused,
    Unavailable,
)
from marketplace.ledger import Deadline
from marketplace.ledger.consensus_node import NodeSilent, NodeUnreachable, read_code, send
from marketplace.market import nodes
from marketplace.market.throttled_log import warn_once_a_minute
from marketplace.services import services

SUBMIT_SECONDS = 6
TAKEN = {"OK", "DUPLICATE_TRANSACTION"}
# Another node may take it.
TRY_ANOTHER = {
    "BUSY",
    "PLATFORM_NOT_ACTIVE",
    "PLATFORM_TRANSACTION_NOT_CREATED",
    "INVALID_NODE_ACCOUNT",
}


def submit(transactions: bytes, node: str, transaction_id: str, kind: str) -> None:
    """Submit a TransactionList of one. Also returns if the node may have taken it, but did not answer.

    Raises NodesUnreachable or TransactionRefused: then the node has not taken it.
    """
    try:
        code = _send(transactions, node)
    except NodeUnreachable as error:
        nodes.note_unreachable(node)
        raise NodesUnreachable(f"there is no connection to {error}") from None
    except NodeSilent as error:
        nodes.note_unreachable(node)
        warn_once_a_minute("A node may have taken %s: no answer of %s", transaction_id, error)
        return
    if code in TRY_ANOTHER:
        nodes.note_unreachable(node)
        raise NodesUnreachable(f"{node}: {code}")
    if code not in TAKEN:
        raise TransactionRefused(transaction_id, kind, code)


def _send(transactions: bytes, node: str) -> str:
    """Return the node's precheck code. Raises NodeUnreachable and NodeSilent."""
    from marketplace.hedera.transactions import read_first

    transaction, sandbox = read_first(transactions), services().sandbox
    if sandbox:
        return read_code(sandbox.submit(transaction))
    deadline = Deadline(SUBMIT_SECONDS)
    try:
        addresses = nodes.find_addresses(deadline).get(node, [])
    except (Unavailable, LedgerAnswerInvalid) as error:
        raise NodeUnreachable(f"{node}: its address is not known ({error})") from None
    failure = f"{node}, which has no address"
    for address in addresses:
        try:
            return send(address, transaction, deadline)
        except NodeUnreachable:
            failure = address
    raise NodeUnreachable(failure)
