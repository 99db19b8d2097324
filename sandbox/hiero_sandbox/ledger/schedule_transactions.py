"""Transactions about schedules: creation, signatures, deletion; and the execution of what was scheduled.

Which keys a scheduled transaction requires is seen by executing it, and undoing that.
Source: ScheduleCreateHandler, ScheduleSignHandler, ScheduleDeleteHandler, AbstractScheduleHandler and
ScheduleFeeCharging of hiero-consensus-node.
"""

import logging
from dataclasses import dataclass, field
from decimal import Decimal

from hiero_sdk_python.hapi.services.basic_types_pb2 import Key, KeyList
from hiero_sdk_python.hapi.services.schedulable_transaction_body_pb2 import (
    SchedulableTransactionBody,
)
from hiero_sdk_python.hapi.services.schedule_create_pb2 import ScheduleCreateTransactionBody
from hiero_sdk_python.hapi.services.schedule_delete_pb2 import ScheduleDeleteTransactionBody
from hiero_sdk_python.hapi.services.schedule_sign_pb2 import ScheduleSignTransactionBody
from hiero_sdk_python.hapi.services.transaction_record_pb2 import TransactionRecord

from hiero_sandbox import times
from hiero_sandbox.ledger import accounts, keys, network_fees, queries, records, schedules
from hiero_sandbox.ledger.account_transactions import require_memo
from hiero_sandbox.ledger.envelopes import TYPES, Refused, refuse_if
from hiero_sandbox.ledger.execution import Execution, Handler, Node, entity
from hiero_sandbox.ledger.network_fees import Fee
from hiero_sandbox.ledger.schedules import Schedule
from hiero_sandbox.messages import schedule
from hiero_sandbox.storage import Connection
from hiero_sandbox.versions import set_clock

Named = ScheduleSignTransactionBody | ScheduleDeleteTransactionBody
LIFE_SECONDS = 1800  # unless it names another expiry
MAX_LIFE_SECONDS = 62 * 24 * 3600
# What may be scheduled: SchedulingConfig.
WHITELIST = {
    "consensusSubmitMessage", "contractCall", "contractCreateInstance", "contractDeleteInstance",
    "contractUpdateInstance", "cryptoApproveAllowance", "cryptoCreateAccount", "cryptoTransfer",
    "cryptoUpdateAccount", "fileUpdate", "freeze", "nodeCreate", "nodeDelete", "nodeUpdate",
    "registeredNodeCreate", "registeredNodeDelete", "registeredNodeUpdate", "systemDelete",
    "systemUndelete", "tokenBurn", "tokenCreation", "tokenMint", "tokenUpdate",
}  # fmt: skip
UNRESOLVABLE = "UNRESOLVABLE_REQUIRED_SIGNERS"
# Codes which say that nobody knows who must sign.
UNKNOWN = ("INVALID_ACCOUNT_ID", "INVALID_TOKEN_ID", "INVALID_TOPIC_ID", UNRESOLVABLE)
NANOSECONDS = (
    31  # from what executes a schedule to the scheduled transaction, which may create 30 accounts
)
NOBODYS = Key()  # the key of an account whose key is not known yet

_log = logging.getLogger("hiero_sandbox")


def check_create(content: ScheduleCreateTransactionBody) -> None:
    """Check what a node checks before consensus."""
    scheduled = content.scheduledTransactionBody
    refuse_if(not content.HasField("scheduledTransactionBody"), "INVALID_TRANSACTION")
    if content.wait_for_expiry and not content.HasField("expiration_time"):
        raise Refused("MISSING_EXPIRY_TIME")
    require_memo(content.memo)
    require_memo(scheduled.memo)


def create(execution: Execution, content: ScheduleCreateTransactionBody) -> None:
    db, now = execution.db, execution.now
    if content.HasField("payerAccountID"):
        code = "ACCOUNT_ID_DOES_NOT_EXIST"
        refuse_if(not accounts.exists(db, entity(content.payerAccountID, code)), code)
    _require_schedulable(content.scheduledTransactionBody, execution.node)
    is_valid = keys.is_valid(content.adminKey)
    if content.HasField("adminKey") and is_valid:
        execution.require_key(content.adminKey)
    expires_at = _expiry(content, now)
    refuse_if(content.HasField("adminKey") and not is_valid, "INVALID_ADMIN_KEY")
    made = Schedule("", execution.signed.body, _identity(content), KeyList(), now, expires_at)
    required = _list_required(execution, made)
    _require_new(db, made, now)
    made = made._replace(schedule_id=queries.new_id(db))
    execution.effects.record.receipt.scheduleID.CopyFrom(schedule(made.schedule_id))
    _sign(execution, made, required)


def _require_schedulable(scheduled: SchedulableTransactionBody, node: Node) -> None:
    kind = scheduled.WhichOneof("data")
    refuse_if(kind not in WHITELIST, "SCHEDULED_TRANSACTION_NOT_IN_WHITELIST")
    if kind not in node.handlers:
        _log.warning("The sandbox does not execute a scheduled %s", TYPES[kind])
        raise Refused("NOT_SUPPORTED")
    node.handlers[kind].check(getattr(scheduled, kind))


def _expiry(content: ScheduleCreateTransactionBody, now: int) -> int:
    """When a schedule expires, in nanoseconds."""
    second = now // times.SECOND
    expires = second + LIFE_SECONDS
    if content.HasField("expiration_time"):
        expires = content.expiration_time.seconds
    if expires <= second:
        raise Refused("SCHEDULE_EXPIRATION_TIME_MUST_BE_HIGHER_THAN_CONSENSUS_TIME")
    refuse_if(expires > second + MAX_LIFE_SECONDS, "SCHEDULE_EXPIRATION_TIME_TOO_FAR_IN_FUTURE")
    return expires * times.SECOND


def _identity(content: ScheduleCreateTransactionBody) -> bytes:
    identity = ScheduleCreateTransactionBody.FromString(content.SerializeToString())
    identity.ClearField("payerAccountID")
    identity.expiration_time.nanos = 0
    return bytes(identity.SerializeToString(deterministic=True))


def _require_new(db: Connection, made: Schedule, now: int) -> None:
    """Refuse a schedule of which there is an identical one. The receipt has that one's id."""
    for row in queries.select(db, "schedule", identity=made.identity):
        there = schedules.read(row)
        if there.expires_at > now:
            receipt = {
                "scheduleID": schedule(there.schedule_id),
                "scheduledTransactionID": there.transaction_id,
            }
            record = TransactionRecord(receipt=receipt)
            raise Refused("IDENTICAL_SCHEDULE_ALREADY_CREATED", record)


def check_named(content: Named) -> None:
    """Check what a node checks before consensus."""
    refuse_if(not content.HasField("scheduleID"), "INVALID_SCHEDULE_ID")


def sign(execution: Execution, content: ScheduleSignTransactionBody) -> None:
    signed = _get_open(execution, content)
    _sign(execution, signed, _list_required(execution, signed))


def delete(execution: Execution, content: ScheduleDeleteTransactionBody) -> None:
    deleted = _get_open(execution, content)
    refuse_if(not deleted.definition.HasField("adminKey"), "SCHEDULE_IS_IMMUTABLE")
    execution.require_key(deleted.definition.adminKey)
    schedules.put(execution.db, deleted, state="deleted", resolved_at=execution.now)
    execution.effects.record.receipt.scheduleID.CopyFrom(content.scheduleID)


def _get_open(execution: Execution, content: Named) -> Schedule:
    found = schedules.get(execution.db, content.scheduleID, execution.now)
    # It was seen to have expired by a clock that is ahead of this one.
    refuse_if(found.state == "expired", "INVALID_SCHEDULE_ID")
    refuse_if(found.state != "open", f"SCHEDULE_ALREADY_{found.state.upper()}")
    return found


# Signatures, and execution


@dataclass
class Rehearsal(Execution):
    """An execution that takes note of the keys that it requires, and does not refuse."""

    # The payer of the transaction that signs: its key does not count for another account.
    signer: str = ""
    required: list[Key] = field(default_factory=list)
    adopted: dict[str, Key] = field(default_factory=dict)  # by account: keys that were not known

    def require_signature(self, account_id: str) -> None:
        known = accounts.key(self.db, account_id)
        if known is None:
            # Only a transaction of its own completes a hollow account.
            refuse_if(bool(queries.list_aliases(self.db, account_id)), UNRESOLVABLE)
            try:
                super().require_signature(account_id)
                known = accounts.key(self.db, account_id) or NOBODYS
            except Refused:
                known = NOBODYS
            signers = accounts.key(self.db, self.signer)  # one key, or several
            is_signers = signers is not None and known in keys.simple_keys(signers)
            if account_id != self.signer and is_signers:
                known = NOBODYS
            elif known != NOBODYS:
                self.adopted[account_id] = known
        self.require_key(known)

    def require_key(self, key: Key) -> None:
        self.required.append(key)


def _list_required(execution: Execution, made: Schedule) -> list[Key]:
    """The keys that a scheduled transaction requires, as far as it can be executed now."""
    db, signed = execution.db, execution.signed._replace(body=made.body())
    signer = execution.signed.id.account_id
    rehearsal = Rehearsal(
        db, execution.node, signed, execution.now, fee=0, paid_by=made.payer, signer=signer
    )
    db.execute("SAVEPOINT rehearsal")
    try:
        rehearsal.require_signature(made.payer)
        execution.node.handlers[made.kind].execute(rehearsal, getattr(signed.body, made.kind))
    except Refused as refusal:
        if str(refusal) in UNKNOWN:
            raise Refused(UNRESOLVABLE) from None
        if str(refusal) == "INVALID_SIGNATURE":
            rehearsal.required.append(NOBODYS)
    finally:
        db.execute("ROLLBACK TO rehearsal")
        db.execute("RELEASE rehearsal")
    for account_id, key in rehearsal.adopted.items():
        accounts.change(db, account_id, execution.now, key=key.SerializeToString().hex())
    return rehearsal.required


def _sign(execution: Execution, made: Schedule, required: list[Key]) -> None:
    """Store a schedule with the signatures of a transaction, and execute it if nobody else must sign."""
    db, signed = execution.db, execution.signed
    execution.effects.record.receipt.scheduledTransactionID.CopyFrom(made.transaction_id)
    before = {keys.public_key(key): key for key in made.signatories.keys}
    new = {
        keys.public_key(key): key
        for each in required
        for key in keys.simple_keys(each)
        if keys.has_signed(key, signed)
    }
    signatories = KeyList(keys=[key for _, key in sorted((before | new).items())])
    made = made._replace(signatories=signatories)
    for pair in signed.pairs:
        columns = {"schedule_id": made.schedule_id, "consensus_at": execution.now}
        queries.put(db, "schedule_signature", **columns, pair=pair.SerializeToString())
    is_complete = all(keys.has_signed(key, made.signed()) for key in required)
    if is_complete and not made.definition.wait_for_expiry:
        child = _execute(db, execution.node, made, execution.now + NANOSECONDS)
        execution.effects.children.append(child)
        return schedules.put(db, made, state="executed", resolved_at=child.now)
    is_signing = execution.signed.body.HasField("scheduleSign")
    refuse_if(is_signing and not new.keys() - before.keys(), "NO_NEW_VALID_SIGNATURES")
    schedules.put(db, made)


def _execute(db: Connection, node: Node, made: Schedule, now: int) -> Execution:
    """Execute a scheduled transaction. Its payer, who may be deleted, pays for it within its own maximum."""
    scheduled = made.definition.scheduledTransactionBody
    fee, content = node.handlers[made.kind].fee, getattr(scheduled, made.kind)
    price = network_fees.price_scheduled(db, fee, content, made.payer)
    execution = Execution(db, node, made.signed(), now, price, paid_by=made.payer)
    try:
        refuse_if(scheduled.transactionFee < price, "INSUFFICIENT_TX_FEE")
        refuse_if(accounts.balance(db, made.payer) < price, "INSUFFICIENT_PAYER_BALANCE")
        if price:
            execution.charge(price)
    except Refused as refusal:
        execution.fee, execution.result = 0, str(refusal)
    else:
        execution.result = node.run(execution)
        execution.pay_rewards()
    execution.effects.record.scheduleRef.CopyFrom(schedule(made.schedule_id))
    return execution


def end_expired(db: Connection, node: Node, now: int) -> None:
    """End the schedules that have expired. Execute those that have waited for it, and have all signatures."""
    while row := queries.get_due_schedule(db, now):
        ended = schedules.read(row)
        moment = max(ended.expires_at, queries.get_last_consensus(db) + 1 + NANOSECONDS)
        set_clock(db, moment)
        waiting = Execution(db, node, ended.signed(), moment, fee=0)
        changes: dict[str, object] = {"state": "expired"}
        if ended.definition.wait_for_expiry and _is_complete(waiting, ended):
            records.write(_execute(db, node, ended, moment))
            changes = {"state": "executed", "resolved_at": moment}
        schedules.put(db, ended, **changes)


def _is_complete(waiting: Execution, ended: Schedule) -> bool:
    try:
        required = _list_required(waiting, ended)
    except Refused:
        return False
    return all(keys.has_signed(key, waiting.signed) for key in required)


HANDLERS = {
    "scheduleCreate": Handler(
        create,
        check_create,
        Fee(Decimal("0.01"), included_keys=1, has_high_volume=True),
        creates="scheduleID",
    ),
    "scheduleDelete": Handler(delete, check_named, about="scheduleID"),
    "scheduleSign": Handler(sign, check_named, about="scheduleID"),
}
