"""A client's turns at the mirror node."""

from contextlib import AbstractContextManager

from marketplace.ledger.rate import RequestDeadline
from marketplace.market import reconciler
from marketplace.market.prepare import Caller
from marketplace.services import mirror_node


def take(caller: Caller, nfts: int = 1) -> AbstractContextManager[RequestDeadline]:
    """Begin a request about some NFTs, whose deadline is returned.

    This and each of its questions may raise LedgerBusy.
    """
    who = f"{caller.token}\n{caller.end_user}"
    return mirror_node().request(who, reconciler.LEDGER_SECONDS, nfts)
