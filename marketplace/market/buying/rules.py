"""What a purchase is, and the rules that guard the fees which the marketplace pays for purchases.

One purchase is in progress for a buyer's account, and for an NFT. An account with three failed purchases
within an hour waits. All that was charged within an hour, and all that is submitted and not yet known, stays
within SALE_FEE_BUDGET. Once half of that is used, buyers' associations are no longer paid.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from flask import current_app

from marketplace.errors import (
    BudgetTooSmall,
    BuyerNotAssociated,
    BuyingPaused,
    FeesSpent,
    MarketplaceError,
    PurchaseInProgress,
    TooManyFailed,
)
from marketplace.hedera import times
from marketplace.hedera.hbar import to_hbar
from marketplace.hedera.ids import NftId
from marketplace.ledger import ALLOWED_LAG
from marketplace.ledger.objects import LedgerAccount
from marketplace.market.prepare import TransactionRequest
from marketplace.market.purchase_fees import HOUR, Payer, an_hour_before
from marketplace.market.throttled_log import warn_once_a_minute
from marketplace.metrics import count
from marketplace.store import prepared_transactions
from marketplace.store.connection import Connection
from marketplace.store.nfts import NftRow
from marketplace.text import shown

MOST_FAILED = 3
# By then, every submitted purchase's fee is known, unless the network is idle.
AGAIN_SECONDS = 90


class Purchase(NamedTuple):
    """NFTs that an account can buy now, as the ledger shows them, and what that can cost the marketplace."""

    buyer: LedgerAccount
    nfts: Sequence[NftRow]
    fee: int  # tinybars, at most
    payer: Payer
    associated: Sequence[str]  # the tokens with which the purchase associates the buyer
    present: int  # of the mirror node, before it was asked for prices


def require(db: Connection, purchase: Purchase, transaction_id: str | None = None) -> None:
    """Raise PurchaseInProgress, TooManyFailed, BudgetTooSmall, FeesSpent or BuyerNotAssociated.

    ``transaction_id``: of this purchase, which does not hinder itself.
    """
    buyer, now = purchase.buyer.id, times.now()
    nfts = {NftId(nft["token"], nft["serial_no"]) for nft in purchase.nfts}
    for row in prepared_transactions.list_in_progress(db, times.to_iso(now - ALLOWED_LAG)):
        nft_id = NftId(row["token"], row["serial_no"])
        if row["transaction_id"] == transaction_id:
            continue
        if row["account_id"] == buyer:
            raise PurchaseInProgress("by", buyer)
        if nft_id in nfts:
            raise PurchaseInProgress("of", nft_id)
    since = an_hour_before(now)
    failed = prepared_transactions.list_failed(db, buyer, since)
    if len(failed) >= MOST_FAILED:
        over_at = times.to_nanoseconds(failed[-MOST_FAILED]) + HOUR
        raise TooManyFailed(MOST_FAILED, buyer, (over_at - now) // times.SECOND + 1)
    budget, held = current_app.config["SALE_FEE_BUDGET"], prepared_transactions.get_held(db, since)
    if purchase.fee > budget:
        raise BudgetTooSmall(to_hbar(purchase.fee), to_hbar(budget))
    free = min(budget - held["total"], purchase.payer.balance - held["reserved"])
    if purchase.fee > free:
        raise FeesSpent(AGAIN_SECONDS)
    if purchase.associated and 2 * held["total"] >= budget:
        tokens = ", ".join(purchase.associated)
        reason = (
            f"{buyer} is not associated with {tokens}, and the marketplace has paid for enough"
            " associations within the hour: associate it first"
        )
        raise BuyerNotAssociated(reason, "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT")


@contextmanager
def refusals_counted(request: TransactionRequest) -> Iterator[None]:
    """Count a refusal by its name. Log those that only the operator can end."""
    try:
        yield
    except MarketplaceError as error:
        count("purchases", outcome=type(error).__name__)
        if isinstance(error, FeesSpent | BuyingPaused):
            warn_once_a_minute(
                "Refused a purchase by %s (access token %s, end user %s): %s",
                request.account_id,
                *map(shown, request.caller),
                error,
            )
        raise
