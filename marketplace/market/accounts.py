"""Finds the account that a request names by its EVM address."""

from marketplace.errors import AccountNotOnLedger
from marketplace.ids import is_evm_address
from marketplace.ledger import Deadline, mirror_node


def find_account_id(named: str, deadline: Deadline) -> str:
    """Return the account id. The ledger is asked each time what an EVM address stands for.

    Raises AccountNotOnLedger, and the ledger's errors.
    """
    if not is_evm_address(named):
        return named
    found = mirror_node().find_account(named, deadline)
    if found is None:
        raise AccountNotOnLedger(named)
    return found.id
