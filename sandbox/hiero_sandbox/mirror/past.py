"""The mirror node's answers about the past: the parameter ``timestamp`` of balances, accounts and tokens.

The mirror node looks for the last snapshot of balances in a range of time. Here, each moment has one.
"""

from flask import request

from hiero_sandbox import database
from hiero_sandbox.conditions import mirror_now
from hiero_sandbox.mirror import parameters

NAME = "timestamp"


def moment() -> int | None:
    """The last moment that the request's timestamp admits, in nanoseconds, up to now; None: it admits none.

    To equal a time means to be the last one up to it.
    """
    asked = parameters.number_filter(NAME)
    last = min(asked.high, mirror_now())
    return last if asked.named or asked.low <= last else None


def look_back() -> bool:
    """Let the request read the ledger as it was at that moment. False: there is none."""
    found = moment()
    if found is not None and NAME in request.args:
        database.look_back(found)
    return found is not None
