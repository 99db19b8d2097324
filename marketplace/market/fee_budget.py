"""Decides whether a purchase may be signed: the hourly budget and the caller's share must have room for it.

A reservation is an open purchase's maximum cost. A caller *holds* its reservations, and the fees charged for
its purchases of the last hour, failed or not. The unused part of a reservation returns to the budget.

The rule: an access token may hold at most half of the budget that other tokens do not hold. An end user may
hold at most a quarter of the token's share that its other end users do not hold. Settings change both parts.

Others' reservations alone block nobody: a caller without an open purchase may open one while the budget has
room, if the caller's charged fees are within the share that others' charged fees leave. A basket must leave
half of the room.

A buyer's association costs 25 times as much as a sale. The marketplace pays for it while the fees charged to
the caller stay below half of its share. So associations alone cannot use up a share.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

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
from marketplace.market.purchase_fees import an_hour_before, max_fee
from marketplace.store import prepared_transactions
from marketplace.store.rows import Connection, HeldRow

# By then, every open purchase's fee is known or released, unless the network is idle.
AGAIN_SECONDS = 90
BASKET = 1 / 2  # of the room, at most, for a basket of a caller that has nothing else open


def require_room(
    db: Connection, request: TransactionRequest, fee: int, balance: float = math.inf
) -> HeldRow:
    """Raise BudgetTooSmall, BasketTooExpensive, FeesSpent or TooManyPurchases unless a fee may be reserved.

    ``fee``, and ``balance`` of the marketplace's account: in tinybars. Returns what is held.
    """
    caller, nfts = request.caller, len(request.nft_ids)
    budget, since = current_app.config["SALE_FEE_BUDGET"], an_hour_before(times.now())
    if nfts > 1 and fee > (most := _find_most_of_a_basket(budget)):
        raise BasketTooExpensive(nfts, to_hbar(fee), to_hbar(most))
    if fee > budget:
        raise BudgetTooSmall(to_hbar(fee), to_hbar(budget))
    held = prepared_transactions.get_held(db, since, caller.token, caller.end_user)
    free = min(budget - held["total"], balance - held["reserved"])
    if fee > free:
        raise FeesSpent(AGAIN_SECONDS)
    for who, share in _find_shares(held, free, fee).items():
        if not share.has_room(fee, nfts):
            raise TooManyPurchases(who, AGAIN_SECONDS)
    return held


def require_association_paid(
    request: TransactionRequest, tokens: Sequence[str], fee: int, held: HeldRow
) -> None:
    """Raise AssociationNotPaid unless the marketplace pays for the buyer's association with tokens.

    ``held``: what require_room() returned. The first association is paid in any case.
    """
    free = current_app.config["SALE_FEE_BUDGET"] - held["total"]
    for share in _find_shares(held, free, fee).values():
        if share.charged >= fee and share.charged + fee > share.most_charged / 2:
            raise AssociationNotPaid(request.account_id, ", ".join(tokens))


class Share(NamedTuple):
    """What a caller holds of a budget, and may hold, in tinybars."""

    percent: int  # of the budget that others do not hold
    held: int
    charged: int
    room: float  # what nobody holds
    uncharged: float  # the same, if nothing were reserved

    @property
    def most(self) -> float:
        """The most that it may hold."""
        return (self.room + self.held) * self.percent / 100

    @property
    def most_charged(self) -> float:
        """The same, if nothing were reserved."""
        return (self.uncharged + self.charged) * self.percent / 100

    def has_room(self, fee: int, nfts: int) -> bool:
        """Whether the budget has room for a purchase of N NFTs."""
        if self.held + fee <= self.most:
            return True
        has_none_open = self.held == self.charged
        has_cost_little = self.charged <= max_fee(1) or self.charged + fee <= self.most_charged
        room = self.room if nfts == 1 else self.room * BASKET
        return has_none_open and has_cost_little and fee <= room


def _find_shares(held: HeldRow, free: float, fee: int) -> dict[str, Share]:
    """The shares of an access token and of its end user, by the names of the two in errors.

    If the token has room only because it has no open purchase, the end user gets that room, too.
    """
    settings = current_app.config
    token = Share(
        settings["SALE_FEE_TOKEN_SHARE"],
        held["of_token"],
        held["charged_to_token"],
        free,
        free + held["reserved"],
    )
    user = Share(
        settings["SALE_FEE_USER_SHARE"],
        held["of_user"],
        held["charged_to_user"],
        max(token.most - token.held, fee),
        max(token.most_charged - token.charged, 0),
    )
    return {"this access token": token, "you": user}


def _find_most_of_a_basket(budget: int) -> int:
    """The most that a basket may reserve while nothing else is reserved or charged."""
    settings = current_app.config
    user = max(settings["SALE_FEE_USER_SHARE"] / 100, BASKET)
    return int(budget * settings["SALE_FEE_TOKEN_SHARE"] / 100 * user)
