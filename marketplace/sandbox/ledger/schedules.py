"""Schedules. A scheduled transaction is executed at once, and must have all signatures by then.

Only approvals can be scheduled. The network would keep a schedule open, and wait for signatures.
"""

from google.protobuf.message import Message
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody

from marketplace.sandbox.ledger import allowances, network_fees
from marketplace.sandbox.ledger.envelopes import Refused, refuse_if
from marketplace.sandbox.ledger.execution import Execution


def create(execution: Execution, schedule: Message) -> None:
    scheduled = schedule.scheduledTransactionBody
    if scheduled.WhichOneof("data") != "cryptoApproveAllowance":
        raise Refused("SCHEDULED_TRANSACTION_NOT_IN_WHITELIST")
    refuse_if(schedule.HasField("payerAccountID") or schedule.wait_for_expiry, "NOT_SUPPORTED")
    price = network_fees.price_scheduled(scheduled)
    body = TransactionBody(
        transactionID=execution.signed.body.transactionID,
        nodeAccountID=execution.signed.body.nodeAccountID,
        transactionValidDuration=execution.signed.body.transactionValidDuration,
        memo=scheduled.memo,
        cryptoApproveAllowance=scheduled.cryptoApproveAllowance,
    )
    body.transactionID.scheduled = True
    signed = execution.signed._replace(body=body, hash=b"")
    child = Execution(execution.db, signed, execution.now + 1, price)
    child.charge()
    allowances.approve(child, scheduled.cryptoApproveAllowance)
    execution.inner.append((child, "SUCCESS"))
