"""What the current application asks of its ledger, which knows neither Flask nor where it is kept."""

from hiero_sandbox.conditions import conditions
from hiero_sandbox.database import database
from hiero_sandbox.ledger import consensus, unsigned
from hiero_sandbox.ledger.consensus import Receipt
from hiero_sandbox.ledger.envelopes import Signed


def submit(content: bytes, now: int) -> Receipt:
    """Submit signed bytes at a time in nanoseconds. A list for several nodes goes to the first node."""
    return consensus.submit(database(), conditions(), content, now)


def check(signed: Signed, now: int) -> None:
    """Check what a node checks before consensus, and do no more. Raises Refused."""
    consensus.check(database(), conditions(), signed, now)


def end_expired_schedules(now: int) -> None:
    """End the schedules that have expired by now, and execute those that have waited for it."""
    consensus.end_expired_schedules(database(), now)


# What nobody signs


def add_reward(account_id: str, amount: int, now: int) -> int:
    """Let an account have earned a staking reward, in tinybars. Returns all that is not paid yet."""
    return unsigned.add_reward(database(), account_id, amount, now)


def give(account_id: str, amount: int, now: int) -> Receipt:
    """Move tinybars of the operator to another account."""
    return unsigned.give(database(), account_id, amount, now)
