"""The sandbox's consensus node: takes signed bytes, checks what a node checks, and records the result.

Result codes are HAPI's ResponseCodeEnum. A node refuses some transactions before consensus (a bad signature,
an expired or repeated id, a payer who can't pay): they leave no record and cost nothing, as on the network.
A transaction that fails at consensus is recorded as failed, and its payer pays the fee.
"""

import logging
import time
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from hiero_sandbox import times
from hiero_sandbox.ids import MAX_INT64
from hiero_sandbox.ledger import (
    account_transactions,
    accounts,
    airdrops,
    allowances,
    associations,
    batches,
    envelopes,
    files,
    keys,
    network_fees,
    prng,
    queries,
    records,
    schedule_transactions,
    supply,
    token_transactions,
    topic_messages,
    topic_transactions,
    transfers,
)
from hiero_sandbox.ledger.envelopes import Refused, Signed, refuse_if
from hiero_sandbox.ledger.execution import Effects, Execution, Handler, Node, entity, require_id
from hiero_sandbox.storage import Connection
from hiero_sandbox.versions import set_clock

# Payers of the network's governance may send more: HIP-1300, GovernanceTransactionsConfig.
MAX_BYTES, MAX_GOVERNANCE_BYTES = 6144, 133_120
GOVERNANCE = {2, *range(42, 800)}  # the numbers of these payers
# The networks' nodes have accounts among these. The sandbox is one node, and takes what was signed for any.
NODES = {f"0.0.{number}" for number in range(3, 100)}
# Of its valid duration, a transaction must have as much left when a node takes it.
SPARE_SECONDS = 10
# The most accounts that a transaction can create. Each reaches consensus a nanosecond before the next.
MAX_CREATED = 30
_log = logging.getLogger("hiero_sandbox")


class Ledger(Protocol):
    """Where the ledger is kept."""

    @property
    def connection(self) -> Connection:
        """The calling thread's connection, for reads."""

    def write(self) -> AbstractContextManager[Connection]:
        """A write transaction: all of it, or nothing."""


class Conditions(Protocol):
    """What a test may have changed: the clock, in nanoseconds, and the result of the next transaction."""

    clock_moved: int

    def take_code(self) -> str | None: ...


class Receipt(NamedTuple):
    """The result of a transaction: a code of HAPI's ResponseCodeEnum.

    If consensus was not reached, it is the node's precheck code: nothing was recorded or charged.
    """

    transaction_id: str
    result: str
    reached_consensus: bool = True


# Each has the handlers of some types of transactions.
MODULES = (
    account_transactions,
    airdrops,
    allowances,
    associations,
    batches,
    files,
    prng,
    schedule_transactions,
    supply,
    token_transactions,
    topic_messages,
    topic_transactions,
    transfers,
)
# By the field of the body.
HANDLERS: dict[str, Handler] = {
    kind: handler for module in MODULES for kind, handler in module.HANDLERS.items()
}


def submit(ledger: Ledger, conditions: Conditions, content: bytes, now: int) -> Receipt:
    """Submit signed bytes at a time in nanoseconds. A list for several nodes goes to the first node."""
    end_expired_schedules(ledger, now)
    began = time.monotonic_ns()
    signed = envelopes.open_transaction(envelopes.read_list(content)[0])
    receipt = _submit(ledger, conditions, signed, now, began)
    kind = envelopes.TYPES.get(str(signed.body.WhichOneof("data")))
    refused = "" if receipt.reached_consensus else ", refused"
    _log.debug("%s %s: %s%s", receipt.transaction_id, kind, receipt.result, refused)
    return receipt


def _submit(
    ledger: Ledger, conditions: Conditions, signed: Signed, now: int, began: int
) -> Receipt:
    try:
        _require_first(signed)
        with ledger.write() as db:
            # Another transaction may have been recorded while this one waited for the lock.
            now += time.monotonic_ns() - began
            is_duplicate = _require_acceptable(db, conditions, signed, now)
            result = _reach_consensus(db, conditions, signed, now, is_duplicate)
            return Receipt(str(signed.id), result)
    except Refused as refusal:
        return Receipt(str(signed.id), str(refusal), reached_consensus=False)


def check(ledger: Ledger, conditions: Conditions, signed: Signed, now: int) -> None:
    """Check what a node checks before consensus, and do no more. Raises Refused."""
    _require_first(signed)
    _require_acceptable(ledger.connection, conditions, signed, now)


def end_expired_schedules(ledger: Ledger, now: int) -> None:
    """End the schedules that have expired by now, and execute those that have waited for it."""
    if queries.get_due_schedule(ledger.connection, now):
        with ledger.write() as db:
            schedule_transactions.end_expired(db, NODE, now)


# Checks before consensus, in the network's order: TransactionChecker, IngestChecker


def _require_first(signed: Signed) -> None:
    """Refuse what can be refused by looking at a transaction alone. One in a batch has another node."""
    refuse_if(not signed.has_signature_map, "INVALID_TRANSACTION_BODY")
    _require_readable(signed)
    node = entity(signed.body.nodeAccountID, "INVALID_NODE_ACCOUNT")
    refuse_if(node not in NODES, "INVALID_NODE_ACCOUNT")
    refuse_if(signed.body.HasField("batch_key"), "BATCH_KEY_SET_ON_NON_INNER_TRANSACTION")


def _require_readable(signed: Signed) -> None:
    body = signed.body
    is_governance = body.transactionID.accountID.accountNum in GOVERNANCE
    limit = MAX_GOVERNANCE_BYTES if is_governance else MAX_BYTES
    refuse_if(signed.size > limit, "TRANSACTION_OVERSIZE")
    refuse_if(signed.has_unknown_fields, "TRANSACTION_HAS_UNKNOWN_FIELDS")
    kind = body.WhichOneof("data")
    refuse_if(kind is None, "INVALID_TRANSACTION_BODY")
    keys.require_distinct(signed)
    require_id(body)
    account_transactions.require_memo(body.memo)
    topic_messages.check_limits(body)
    refuse_if(body.transactionFee > MAX_INT64, "INSUFFICIENT_TX_FEE")  # it is negative in 64 bits
    if kind not in HANDLERS:
        _log.warning(
            "The sandbox does not execute %s: its README lists what it executes",
            envelopes.TYPES[kind],
        )
        raise Refused("NOT_SUPPORTED")


def _require_acceptable(db: Connection, conditions: Conditions, signed: Signed, now: int) -> bool:
    """Refuse a transaction that its node would refuse. Returns whether another node has had it."""
    _require_valid(signed, now - conditions.clock_moved, SPARE_SECONDS)
    recorded = queries.list_transactions(db, signed.id.dashed)
    # Only this node knows the duplicate before consensus. Another node would accept it.
    nodes = [records.read(row).body.nodeAccountID for row in recorded[:1]]
    refuse_if(signed.body.nodeAccountID in nodes, "DUPLICATE_TRANSACTION")
    _require_paid(db, signed, now)
    _require_inner(db, conditions, signed, now)
    return bool(recorded)


def _require_inner(db: Connection, conditions: Conditions, signed: Signed, now: int) -> None:
    """Refuse a batch with a transaction that its node would refuse by itself."""
    for inner in batches.open_inner(signed.body.atomic_batch):
        _require_readable(inner)
        _require_valid(inner, now - conditions.clock_moved, SPARE_SECONDS)
        _require_paid(db, inner, now)
        _require_inner(db, conditions, inner, now)


def _require_paid(db: Connection, signed: Signed, now: int) -> None:
    """Refuse a wrong content, and a payer who does not exist, has not signed, or does not pay enough."""
    body, payer = signed.body, signed.id.account_id
    kind = str(body.WhichOneof("data"))
    HANDLERS[kind].check(getattr(body, kind))
    found = accounts.get(db, payer, missing="PAYER_ACCOUNT_NOT_FOUND")
    refuse_if(found.is_deleted, "PAYER_ACCOUNT_DELETED")
    accounts.require_signature(db, signed, payer, now)
    if network_fees.is_superuser(signed):
        return
    refuse_if(
        body.transactionFee < network_fees.price(db, HANDLERS[kind].fee, signed),
        "INSUFFICIENT_TX_FEE",
    )
    # What the transaction itself takes from its payer
    spent = max(0, -transfers.given_of(body.cryptoTransfer)[payer, None])
    spent += body.cryptoCreateAccount.initialBalance
    price = network_fees.price_at_consensus(db, HANDLERS[kind].fee, signed)
    if accounts.balance(db, payer) < price + spent:
        raise Refused("INSUFFICIENT_PAYER_BALANCE")


def _require_valid(signed: Signed, now: int, spare_seconds: int = 0) -> None:
    """Refuse a transaction before its valid start, and after it has expired, or will have in some seconds.

    Its SDK has this machine's time, and so has ``now``, however far the ledger's clock is moved.
    """
    seconds = signed.body.transactionValidDuration.seconds
    refuse_if(not 15 <= seconds <= 180, "INVALID_TRANSACTION_DURATION")
    ends_at = signed.id.valid_start + (seconds - spare_seconds) * times.SECOND
    refuse_if(ends_at < now, "TRANSACTION_EXPIRED")
    refuse_if(signed.id.valid_start > now, "INVALID_TRANSACTION_START")


def _reach_consensus(
    db: Connection, conditions: Conditions, signed: Signed, now: int, is_duplicate: bool
) -> str:
    """Charge a transaction, execute it and record it; returns the result code."""
    consensus_at = max(now, queries.get_last_consensus(db) + 1 + MAX_CREATED)
    price = network_fees.price_at_consensus(db, NODE.fee_of(signed.body), signed)
    refusal = ""
    if is_duplicate or price > signed.body.transactionFee:
        refusal = "DUPLICATE_TRANSACTION" if is_duplicate else "INSUFFICIENT_TX_FEE"
        price = network_fees.price_unexecuted(db, signed)
    set_clock(db, consensus_at)
    node = NODE._replace(clock_moved=conditions.clock_moved)
    execution = Execution(db, node, signed, consensus_at, price)
    execution.charge(price)
    execution.result = refusal or conditions.take_code() or _execute(execution)
    if execution.result != "SUCCESS":
        batches.revert(execution)
    execution.pay_rewards()
    records.write(execution)
    return execution.result


def _execute(execution: Execution) -> str:
    """Execute all of a transaction or nothing; returns the result code."""
    db, body = execution.db, execution.signed.body
    kind = body.WhichOneof("data")
    db.execute("SAVEPOINT effects")
    try:
        HANDLERS[kind].execute(execution, getattr(body, kind))
        return "SUCCESS"
    except Refused as refusal:
        db.execute("ROLLBACK TO effects")
        execution.effects = Effects(record=refusal.record)
        return str(refusal)
    finally:
        db.execute("RELEASE effects")


def _run_inner(execution: Execution) -> str:
    """Check, charge and execute one transaction of a batch; returns the result code."""
    db, signed, fee = execution.db, execution.signed, execution.fee
    execution.fee = 0
    try:
        _require_readable(signed)
        _require_valid(signed, execution.now - execution.node.clock_moved)
        refuse_if(queries.list_transactions(db, signed.id.dashed), "DUPLICATE_TRANSACTION")
        _require_paid(db, signed, execution.now)
    except Refused as refusal:
        return str(refusal)
    if fee > signed.body.transactionFee:
        return "INSUFFICIENT_TX_FEE"
    execution.fee = fee
    execution.charge(fee)
    return _execute(execution)


NODE = Node(HANDLERS, _execute, _run_inner)
