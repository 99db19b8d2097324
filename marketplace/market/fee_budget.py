"""Decides whether a purchase may be signed, by the rest of the hour's budget and of a caller's share.

A reservation is the most that an open purchase may cost. A caller *holds* his reservations, and the fees of
his failed purchases of the last hour. The fees of sales count for the budget alone.

The rule: a caller may hold at most half of what all others leave. It holds for an access token among all
tokens, and for an end user among those of his token. Each caller may hold one reservation while there is room
for it. n callers who want all of the budget leave 1/2^n of it.
"""

import math
from typing import Any

from flask import current_app

from marketplace import times
from marketplace.errors import BudgetTooSmall, FeesSpent, TooManyPurchases
from marketplace.hbar import to_hbar
from marketplace.market.prepare import Caller
from marketplace.market.purchase_fees import an_hour_before
from marketplace.store import prepared_transactions

AGAIN_SECONDS = 90  # by then a purchase that is open now is settled, or was never submitted


def require_room(db: Any, caller: Caller, fee: int, balance: float = math.inf) -> None:
    """Raise unless a caller may reserve a fee: BudgetTooSmall, FeesSpent, TooManyPurchases.

    ``fee``, ``balance``: in tinybars; the balance is that of the marketplace's account.
    """
    budget, since = current_app.config["SALE_FEE_BUDGET"], an_hour_before(times.now())
    if fee > budget:
        raise BudgetTooSmall(to_hbar(fee), to_hbar(budget))
    found = prepared_transactions.get_held(db, since, caller.token, caller.end_user)
    free = min(budget - int(found["total"]), balance - int(found["reserved"]))
    if fee > free:
        raise FeesSpent(AGAIN_SECONDS)
    of_token, of_user = int(found["of_token"]), int(found["of_user"])
    if not _is_within_share(of_token, free, fee):
        raise TooManyPurchases("this access token", AGAIN_SECONDS)
    # The rest of the token's share: it may hold half of free + of_token.
    if not _is_within_share(of_user, (free - of_token) / 2, fee):
        raise TooManyPurchases("you", AGAIN_SECONDS)


def _is_within_share(held: int, left: float, fee: int) -> bool:
    """Whether a caller holds no more than is left afterwards. Everybody may have one purchase."""
    return held < fee or held + fee <= left - fee
