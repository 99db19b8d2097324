"""When the validity of a transaction begins: by our clock, and by the mirror node's."""

from marketplace.errors import ClockBehind, LedgerBehind
from marketplace.hedera import times
from marketplace.ledger import Deadline
from marketplace.market.prepare import START_BEFORE_NOW
from marketplace.services import mirror_node

CLOCK_SECONDS = 2  # to ask for the mirror node's last block
# Before the mirror node's last block, which is cached for some seconds. Nodes' clocks differ, too.
START_BEFORE_PRESENT = 2 * times.SECOND
# Further behind than this, our clock or the mirror node is not trusted.
CLOCK_BEHIND = 15 * times.SECOND
LEDGER_BEHIND = 120 * times.SECOND
# The largest difference between our clock and the end of the mirror node's last block, for what we pay for.
MOST_APART = 15 * times.SECOND


def find_start() -> int:
    """The start of a validity that begins now: a little earlier than the mirror node's last block.

    If our clock is ahead, the network would refuse a start by our clock (INVALID_TRANSACTION_START). If the
    ledger does not answer, our clock is used. Raises LedgerBehind.
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
