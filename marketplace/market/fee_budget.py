"""Decides whether a purchase may be signed: what is left of the hour's budget, and of a caller's share.

A reservation is the most that an open purchase may cost. A caller *holds* his reservations, and what was
charged within the hour for purchases of his that failed. What sales cost counts for the budget alone.

The rule: a caller may hold at most half of what all others leave. It holds for an access token among all
tokens, and for an end user among those of his token. Each caller may hold one reservation while there is room
for it. So n callers who want all of the budget leave 1/2^n of it, whatever they ask.
"""

import math
from typing import Any

from flask import current_app

from marketplace import times
from marketplace.errors import BudgetTooSmall, FeesSpent, TooManyPurchases
from marketplace.market.prepare import MIRROR_LAG, Caller
from marketplace.market.purchase_fees import HOUR, an_hour_before
from marketplace.store import prepared_transactions

LOOKED_AT = 1000  # fees, to tell when there is room again


def require_room(db: Any, caller: Caller, fee: int, balance: float = math.inf) -> None:
    """Raise unless a caller may reserve a fee: BudgetTooSmall, FeesSpent, TooManyPurchases.

    ``fee``, ``balance``: in tinybars; the balance is that of the marketplace's account.
    """
    now, budget = times.now(), current_app.config["SALE_FEE_BUDGET"]
    if fee > budget:
        raise BudgetTooSmall(fee, budget)
    found = prepared_transactions.get_held(db, an_hour_before(now), caller.token, caller.end_user)
    free = min(budget - int(found["total"]), balance - int(found["reserved"]))
    if fee > free:
        raise FeesSpent(_seconds_until_room(db, fee - free, now))
    of_token, of_user = int(found["of_token"]), int(found["of_user"])
    if not _is_within_share(of_token, free, fee):
        ends = _seconds_until_end(found["first_of_token"], now)
        raise TooManyPurchases("this access token", ends)
    # The rest of the token's share: it may hold half of free + of_token.
    if not _is_within_share(of_user, (free - of_token) / 2, fee):
        raise TooManyPurchases("you", _seconds_until_end(found["first_of_user"], now))


def _is_within_share(held: int, left: float, fee: int) -> bool:
    """Whether a caller holds no more than is left afterwards. The first purchase is for everybody."""
    return held < fee or held + fee <= left - fee


def _seconds_until_end(first_end: str | None, now: int) -> int:
    """When the first of a caller's purchases is settled; an hour, where all of them have failed."""
    return _seconds_until(first_end, now - MIRROR_LAG) if first_end else HOUR // times.SECOND


def _seconds_until(iso: str, now: int) -> int:
    return max(1, math.ceil(times.from_iso(iso) - now / times.SECOND))


def _seconds_until_room(db: Any, missing: float, now: int) -> int:
    """When so many tinybars may be free: of what never came soon, of what was charged after an hour."""
    ends = []
    for row in prepared_transactions.list_fees(db, an_hour_before(now), LOOKED_AT):
        lasts = HOUR if row["is_settled"] else MIRROR_LAG
        ends.append((_seconds_until(row["expires_at"], now - lasts), row["fee_tinybars"]))
    for seconds, fee in sorted(ends):
        missing -= fee
        if missing <= 0:
            return seconds
    return HOUR // times.SECOND
