"""Schedules: transactions that wait for signatures, or for their time. HIP-423.

A schedule exists until it expires.
"""

from typing import Any, NamedTuple

from hiero_sdk_python.hapi.services.basic_types_pb2 import KeyList, ScheduleID, TransactionID
from hiero_sdk_python.hapi.services.schedule_create_pb2 import ScheduleCreateTransactionBody
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody

from hiero_sandbox.ledger import keys, queries
from hiero_sandbox.ledger.envelopes import Refused, Signed, write_id
from hiero_sandbox.ledger.execution import entity
from hiero_sandbox.storage import Connection


class Schedule(NamedTuple):
    schedule_id: str
    creation: TransactionBody
    identity: bytes
    signatories: KeyList
    created_at: int
    expires_at: int
    state: str = "open"
    resolved_at: int | None = None

    @property
    def definition(self) -> ScheduleCreateTransactionBody:
        return self.creation.scheduleCreate

    @property
    def kind(self) -> str:
        return str(self.definition.scheduledTransactionBody.WhichOneof("data"))

    @property
    def payer(self) -> str:
        if self.definition.HasField("payerAccountID"):
            return write_id(self.definition.payerAccountID)
        return write_id(self.creation.transactionID.accountID)

    @property
    def transaction_id(self) -> TransactionID:
        """The id of the scheduled transaction."""
        scheduled = TransactionID(scheduled=True)
        scheduled.MergeFrom(self.creation.transactionID)
        return scheduled

    def body(self) -> TransactionBody:
        """The scheduled transaction."""
        scheduled = self.definition.scheduledTransactionBody
        return TransactionBody(
            transactionID=self.transaction_id,
            nodeAccountID=self.creation.nodeAccountID,
            transactionFee=scheduled.transactionFee,
            transactionValidDuration=self.creation.transactionValidDuration,
            memo=scheduled.memo,
            max_custom_fees=scheduled.max_custom_fees,
            **{self.kind: getattr(scheduled, self.kind)},
        )

    def signed(self) -> Signed:
        """The scheduled transaction, with the signatures that it has so far."""
        signatories = frozenset(map(keys.public_key, self.signatories.keys))
        return Signed(self.body(), b"", [], 0, b"", signatories)


def find(db: Connection, schedule_id: str) -> Schedule | None:
    row = queries.get(db, "schedule", schedule_id=schedule_id)
    return read(row) if row else None


def get(db: Connection, named: ScheduleID, now: int) -> Schedule:
    """Find a schedule that has not expired. Refuses any other."""
    found = find(db, entity(named, "INVALID_SCHEDULE_ID"))
    if found is None or found.expires_at <= now:
        raise Refused("INVALID_SCHEDULE_ID")
    return found


def read(row: queries.Row) -> Schedule:
    creation, signatories = (
        TransactionBody.FromString(row["creation"]),
        KeyList.FromString(row["signatories"]),
    )
    return Schedule(**dict(row) | {"creation": creation, "signatories": signatories})


def put(db: Connection, changed: Schedule, **changes: Any) -> None:
    columns = changed._replace(**changes)._asdict()
    messages = {name: columns[name].SerializeToString() for name in ("creation", "signatories")}
    queries.put(db, "schedule", **columns | messages)
