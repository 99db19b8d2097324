"""When the validity of a transaction begins: by our clock, and by the mirror node's."""

from marketplace.errors import ClockBehind, LedgerBehind
from marketplace.hedera import times
from marketplace.ledger import Deadline
from marketplace.market.prepare import START_BEFORE_NOW
from marketplace.services import mirror_node

CLOCK_SECONDS = 2  # for the question how far the mirror node is
# Before the mirror node's present, which is recalled for some seconds: nodes' clocks differ, too.
START_BEFORE_PRESENT = 2 * times.SECOND
# Our clock is not trusted if it is further behind, and the mirror node if it seems to be further behind.
CLOCK_BEHIND = 15 * times.SECOND
LEDGER_BEHIND = 120 * times.SECOND
# The largest difference between our clock and the end of the mirror node's last block, for what we pay for.
MOST_APART = 15 * times.SECOND


def find_start() -> int:
    """The start of a validity that begins now: a little earlier than the mirror node's last block.

    If our clock is ahead, the network would refuse a start by it (INVALID_TRANSACTION_START). If the ledger
    does not answer, our clock must do. Raises LedgerBehind.
    """
    now = times.now()
    ahead = mirror_node().recall_ahead(Deadline(CLOCK_SECONDS))
    if ahead is None:
        return now - START_BEFORE_NOW
    if ahead > LEDGER_BEHIND:
        raise LedgerBehind(ahead // times.SECOND)
    present = now - ahead
    start = min(now - START_BEFORE_NOW, present - START_BEFORE_PRESENT)
    return max(start, present - CLOCK_BEHIND)


def find_present(deadline: Deadline) -> int:
    """The end of the mirror node's last block. Raises LedgerBehind or ClockBehind if our clock is far off."""
    present = mirror_node().find_present(deadline)
    behind = times.now() - present
    if behind > MOST_APART:
        raise LedgerBehind(behind // times.SECOND)
    if -behind > MOST_APART:
        raise ClockBehind(-behind // times.SECOND)
    return present
