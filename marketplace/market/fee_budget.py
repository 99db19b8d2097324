"""Decides whether a purchase may be signed: the hourly budget and the caller's share must have room for it.

A reservation is the highest cost of an open purchase. A caller *holds* his reservations, and the fees charged
for his purchases of the last hour, failed or not.

The rule: a caller may hold at most half of the budget that all others leave. It applies to an access token
among all tokens, and to an end user among the users of his token. Each caller may hold one reservation while
the budget has room for it. If n callers take all they may, 1/2^n of the budget is left.

A buyer's association costs 25 times as much as a sale. The marketplace pays for it while the fees charged to
the caller are below half of his share. So associations alone use up nobody's share.
"""

import math
from collections.abc import Sequence

from flask import current_app

from marketplace.errors import (
    AssociationNotPaid,
    BasketTooExpensive,
    BudgetTooSmall,
    FeesSpent,
    TooManyPurchases,
)
from marketplace.hedera import times
from marketplace.hedera.hbar import to_hbar
from marketplace.market.prepare import TransactionRequest
from marketplace.market.purchase_fees import an_hour_before
from marketplace.store import prepared_transactions
from marketplace.store.rows import Connection, HeldRow

# By then the fee of each purchase that is open now is known or released, unless the network is idle.
AGAIN_SECONDS = 90


def require_room(
    db: Connection, request: TransactionRequest, fee: int, balance: float = math.inf
) -> HeldRow:
    """Raise BudgetTooSmall, BasketTooExpensive, FeesSpent or TooManyPurchases unless a fee may be reserved.

    ``fee``, and ``balance`` of the marketplace's account: in tinybars. Returns what is held.
    """
    caller, nfts = request.caller, len(request.nft_ids)
    budget, since = current_app.config["SALE_FEE_BUDGET"], an_hour_before(times.now())
    if fee > budget and nfts > 1:
        raise BasketTooExpensive(nfts, to_hbar(fee), to_hbar(budget))
    if fee > budget:
        raise BudgetTooSmall(to_hbar(fee), to_hbar(budget))
    held = prepared_transactions.get_held(db, since, caller.token, caller.end_user)
    free = min(budget - held["total"], balance - held["reserved"])
    if fee > free:
        raise FeesSpent(AGAIN_SECONDS)
    of_token, of_user = held["of_token"], held["of_user"]
    if not _is_within_share(of_token, free, fee):
        raise TooManyPurchases("this access token", AGAIN_SECONDS)
    # The token may hold half of free + of_token; the rest of that share is left for the user.
    if not _is_within_share(of_user, (free - of_token) / 2, fee):
        raise TooManyPurchases("you", AGAIN_SECONDS)
    return held


def require_association_paid(
    request: TransactionRequest, tokens: Sequence[str], fee: int, held: HeldRow
) -> None:
    """Raise AssociationNotPaid unless the marketplace pays for the buyer's association with tokens.

    ``held``: what require_room() returned.
    """
    budget = current_app.config["SALE_FEE_BUDGET"]
    left_by_others = budget - held["total"] + held["of_token"]
    token, user = held["charged_to_token"], held["charged_to_user"]
    # Half of what the token may hold, and half of that for the end user. The first one is paid in any case.
    if not all(
        charged < fee or charged + fee <= left_by_others / part
        for charged, part in ((token, 4), (user, 8))
    ):
        raise AssociationNotPaid(request.account_id, ", ".join(tokens))


def _is_within_share(held: int, left: float, fee: int) -> bool:
    """Whether a caller then holds no more than is left. Everybody may hold one purchase."""
    return held < fee or held + fee <= left - fee
