"""Schedules. A scheduled transaction is executed at once, and must have all signatures by then.

Only approvals can be scheduled. The network would keep a schedule open, and wait for signatures.
"""

from google.protobuf.message import Message

from marketplace.sandbox.ledger import allowances, network_fees
from marketplace.sandbox.ledger.envelopes import Refused, refuse_if
from marketplace.sandbox.ledger.execution import Execution


def create(execution: Execution, schedule: Message) -> None:
    scheduled = schedule.scheduledTransactionBody
    if scheduled.WhichOneof("data") != "cryptoApproveAllowance":
        raise Refused("SCHEDULED_TRANSACTION_NOT_IN_WHITELIST")
    refuse_if(schedule.HasField("payerAccountID") or schedule.wait_for_expiry, "NOT_SUPPORTED")
    child = execution.child(
        execution.now + 1,
        network_fees.price_scheduled(scheduled),
        memo=scheduled.memo,
        cryptoApproveAllowance=scheduled.cryptoApproveAllowance,
    )
    child.signed.body.transactionID.scheduled = True
    child.charge(child.fee)
    allowances.approve(child, scheduled.cryptoApproveAllowance)
