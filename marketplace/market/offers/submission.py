"""Submits transactions that the marketplace signs and pays for, and looks for them at the mirror node.

The signed bytes are stored before they are submitted. A repeated request submits the same bytes, and the
network accepts a transaction id once. So a lost answer or a killed process causes no duplicates.
"""

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from flask import current_app

from marketplace.errors import (
    LedgerAnswerInvalid,
    LedgerBusy,
    NodesUnreachable,
    TransactionRefused,
    Unavailable,
)
from marketplace.hedera import times
from marketplace.hedera.ids import TransactionId
from marketplace.ledger import Deadline
from marketplace.ledger.consensus_node import (
    NodeSilent,
    NodeUnreachable,
    read_code,
    send,
)
from marketplace.market import account_key, mirror_turns
from marketplace.market.nodes import find_addresses, next_node
from marketplace.market.prepare import Caller
from marketplace.market.purchase_fees import Payer
from marketplace.market.signer import Signer
from marketplace.market.throttled_log import warn_once_a_minute
from marketplace.services import services
from marketplace.store import prepared_transactions
from marketplace.store.database import write
from marketplace.store.rows import PreparedTransactionRow

if TYPE_CHECKING:
    from marketplace.hedera.transactions import Envelope

IN_PROGRESS_SECONDS = 10  # for which another request may be signing it
SUBMIT_SECONDS = 6  # for all nodes that are tried
NODES_TRIED = 3
PAUSE_SECONDS = 0.5  # between looks at the mirror node
VALID_SECONDS = 120
TAKEN = {"OK", "DUPLICATE_TRANSACTION"}
# Another node may take it.
TRY_ANOTHER = {
    "BUSY",
    "PLATFORM_NOT_ACTIVE",
    "PLATFORM_TRANSACTION_NOT_CREATED",
    "INVALID_NODE_ACCOUNT",
}

Found = TypeVar("Found")


class Paid(NamedTuple):
    """A transaction that the marketplace's account pays for."""

    method: str
    row: PreparedTransactionRow
    build: Callable[[str], bytes]  # the body, for a node
    signer: Signer
    payer: Payer


def is_left(row: PreparedTransactionRow) -> bool:
    """Whether the process that was to sign a transaction has ended without signing it."""
    return row["prepared_at"] < times.to_iso(times.now() - IN_PROGRESS_SECONDS * times.SECOND)


def find_envelope(row: PreparedTransactionRow, node: str) -> "Envelope":
    """What a stored transaction has beside its content, for a node."""
    return {
        "transaction_id": TransactionId.require(row["transaction_id"]),
        "memo": row["memo"],
        "max_fee_tinybars": row["fee_tinybars"] or 0,
        "valid_seconds": VALID_SECONDS,
        "node_account_id": node,
    }


def hand_over(paid: Paid) -> None:
    """Sign a transaction, and submit it to one node after the other, until one accepts it.

    A transaction that may have been submitted before keeps its bytes. Also returns if a node may have the
    transaction but did not answer. Raises SignerFailed, NodesUnreachable and TransactionRefused: then nothing
    stays reserved, unless a node may have the transaction.
    """
    deadline, failures = Deadline(SUBMIT_SECONDS), list[str]()
    row, may_be_taken = paid.row, paid.row["signed"] is not None
    try:
        for signed in _list_signed(paid):
            try:
                code = _submit_signed(signed, deadline)
            except NodeUnreachable as error:
                failures.append(f"there is no connection to {error}")
                continue
            except NodeSilent as error:
                failures.append(f"no answer of {error}")
                may_be_taken = True
                continue
            if code in TAKEN:
                return
            failures.append(code)
            if code not in TRY_ANOTHER:
                break
        if may_be_taken:
            warn_once_a_minute("A node may have taken %s: %s", row["transaction_id"], failures)
            return
        if failures[-1].isupper() and failures[-1] not in TRY_ANOTHER:
            raise TransactionRefused(
                row["transaction_id"], row["kind"].replace("_", " "), failures[-1]
            )
        raise NodesUnreachable("; ".join(failures))
    except BaseException:
        if not may_be_taken:
            with write() as db:
                prepared_transactions.delete_purchase(db, row["transaction_id"])
        raise


def _list_signed(paid: Paid) -> Iterator[bytes]:
    """Yield the transaction signed for a few nodes in turn, beginning with any stored signed bytes."""
    from marketplace.hedera.transactions import read_node, write_signed

    nodes = set()
    if paid.row["signed"]:
        signed = bytes(paid.row["signed"])
        nodes.add(read_node(signed))
        yield signed
    for _ in range(NODES_TRIED):
        node = next_node()
        if node in nodes:
            continue
        nodes.add(node)
        body = paid.build(node)
        public_key, signature = paid.signer.sign(body)
        account_key.compare(public_key, paid.payer.account)
        signed = write_signed(body, public_key, signature)
        with write() as db:
            prepared_transactions.mark_signed(db, paid.row["transaction_id"], signed)
        current_app.logger.info(
            "Signed the %s %s for %s, fees of at most %s tinybars",
            paid.row["kind"].replace("_", " "),
            paid.row["transaction_id"],
            paid.row["account_id"],
            paid.row["fee_tinybars"],
        )
        yield signed


def _submit_signed(signed: bytes, deadline: Deadline) -> str:
    """Submit a transaction to the node that it names. Raises NodeUnreachable and NodeSilent."""
    from marketplace.hedera.transactions import read_first, read_node

    sandbox, transaction, node = services().sandbox, read_first(signed), read_node(signed)
    if sandbox:
        return read_code(sandbox.submit(transaction))
    try:
        addresses = find_addresses(deadline).get(node, [])
    except (Unavailable, LedgerAnswerInvalid) as error:
        raise NodeUnreachable(f"{node}: its address is not known ({error})") from None
    failure = f"{node}, which has no address"
    for address in addresses:
        try:
            return send(address, transaction, deadline)
        except NodeUnreachable:
            failure = address
    raise NodeUnreachable(failure)


def wait_for(caller: Caller, look: Callable[[Deadline], Found | None]) -> Found | None:
    """Poll the mirror node until ``look`` finds something, and return that.

    None: the mirror node shows nothing in time, or does not answer.
    """
    try:
        with mirror_turns.take(caller) as deadline:
            while (found := look(deadline)) is None and deadline.left > PAUSE_SECONDS:
                time.sleep(PAUSE_SECONDS)
            return found
    except (LedgerBusy, LedgerAnswerInvalid, Unavailable) as error:
        warn_once_a_minute("What the marketplace submitted was not looked up: %s", error)
        return None
