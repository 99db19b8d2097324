"""Schedules: what is scheduled is executed at once, where all that must sign it have signed.

Only approvals, and no schedule stays open: the network would wait for signatures.
"""

from marketplace.sandbox.ledger import allowances, network_fees
from marketplace.sandbox.ledger.accounts import Refused
from marketplace.sandbox.ledger.execution import Execution


def create(execution: Execution, schedule) -> None:
    scheduled = schedule.scheduledTransactionBody
    if scheduled.WhichOneof("data") != "cryptoApproveAllowance":
        raise Refused("SCHEDULED_TRANSACTION_NOT_IN_WHITELIST")
    if schedule.HasField("payerAccountID") or schedule.wait_for_expiry:
        raise Refused("NOT_SUPPORTED")
    price = network_fees.price_scheduled(scheduled)
    child = Execution(execution.db, execution.signed, execution.now + 1, price)
    child.charge()
    allowances.approve(child, scheduled.cryptoApproveAllowance)
    execution.effects.child = child
