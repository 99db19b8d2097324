"""Schedules, and what signs and deletes them."""

from hiero_sandbox.messages import schedule
from sandbox.tests.bodies import HBAR, make, transfer
from sandbox.tests.people import ALICE, BOB, CHARLIE


def creation_of(scheduled, payer=CHARLIE, **fields):
    """A ScheduleCreate of the transaction in a body."""
    kind = scheduled.WhichOneof("data")
    content = {"memo": scheduled.memo, "transactionFee": scheduled.transactionFee}
    content[kind] = getattr(scheduled, kind)
    if "expires" in fields:
        fields["expiration_time"] = {"seconds": fields.pop("expires")}
    return make(payer, "scheduleCreate", scheduledTransactionBody=content, **fields)


def payment(amount=HBAR, payer=ALICE, receiver=BOB):
    return transfer(payer, {payer: -amount, receiver: amount})


def about(kind, schedule_id, payer=CHARLIE):
    return make(payer, kind, scheduleID=schedule(schedule_id))
