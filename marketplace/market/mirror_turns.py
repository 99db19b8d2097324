"""A client's turns at the mirror node."""

from contextlib import AbstractContextManager

from marketplace.ledger.mirror_rate_limit import Turns
from marketplace.market import reconciler
from marketplace.market.prepare import Caller
from marketplace.services import mirror_node


def take(caller: Caller) -> AbstractContextManager[Turns]:
    """Begin a request, whose deadline is returned. Its questions, of any number, raise LedgerBusy."""
    who = f"{caller.token}\n{caller.end_user}"
    return mirror_node().take_turns(who, 0, reconciler.LEDGER_SECONDS)
