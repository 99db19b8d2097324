"""What purchases cost the marketplace, which pays for each of them, and the rules that guard that.

The marketplace pays for a purchase even if it fails at consensus. So each purchase reserves its maximum cost,
in the database transaction that checks the rules. The watcher replaces the reservation with the ledger's fee,
or with zero if the purchase was never submitted.

One purchase is in progress for a buyer's account, and for an NFT. An account with three failed purchases
within an hour waits. All that was charged within an hour, and all that is submitted and not yet known, stays
within SALE_FEE_BUDGET. Once half of that is used, buyers' associations are no longer paid.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, cast

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
from marketplace.hedera.ids import NftId, TransactionId
from marketplace.ledger import UNHURRIED_SECONDS, Deadline
from marketplace.ledger.objects import LedgerAccount, Transaction, TransactionType
from marketplace.market.prepared import MOST_APART
from marketplace.market.requests import MarketRequest
from marketplace.market.sale_checks import find_balance
from marketplace.market.throttled_log import warn_once_a_minute
from marketplace.metrics import count
from marketplace.services import mirror_node, read, write
from marketplace.store import prepared_transactions, properties
from marketplace.store.connection import Connection
from marketplace.store.nfts import NftRow
from marketplace.store.prepared_transactions import UNSETTLED
from marketplace.text import quote

ASSOCIATION_CENTS = 5  # https://docs.hedera.com/networks/fees
# Between the clocks of two machines, of which each is near enough to the mirror node's.
CLOCKS = 2 * MOST_APART
HOUR = times.HOUR + CLOCKS
MOST_FAILED = 3
PROGRESS_SECONDS = 5  # until a purchase in progress may have ended
AGAIN_SECONDS = 90  # until every submitted purchase's fee is known, unless the network is idle


def find_max_cost(nfts: int, tokens: int, deadline: Deadline) -> int:
    """The highest cost of a purchase, in tinybars: its fee cap, plus the prices of the buyer's associations.

    The network charges an association on top of the cap (HIP-904). A buyer who is associated now
    also counts, since a buyer can dissociate before the purchase is submitted.
    """
    return max_fee(nfts) + tokens * mirror_node().find_price(ASSOCIATION_CENTS, deadline)


def max_fee(nfts: int) -> int:
    """The fee cap of a purchase of N NFTs, in tinybars, without associations.

    The network asks for less than $0.01 for one NFT. Each further NFT costs at most a tenth of that: $0.0001
    for its seller, and as much for its token.
    """
    return int(current_app.config["MAX_TRANSACTION_FEE"]) // 100 * (9 + nfts)


class Payer(NamedTuple):
    """The marketplace's account."""

    account: LedgerAccount
    balance: int  # tinybars


def find_payer(deadline: Deadline) -> Payer:
    """Read the marketplace's account."""
    account_id = current_app.config["ACCOUNT_ID"]
    account = mirror_node().find_account(account_id, deadline)
    balance = find_balance(account_id, account)
    return Payer(cast(LedgerAccount, account), balance)


def find_noted_balance() -> int | None:
    """The balance of the marketplace's account when the watcher last read it, in tinybars."""
    noted = properties.get_property(read(), properties.BALANCE)
    return int(noted) if noted else None


def note_balance() -> None:
    """Store the marketplace account's balance, for the operator's metrics. Raises the ledger's errors."""
    account_id, deadline = current_app.config["ACCOUNT_ID"], Deadline(UNHURRIED_SECONDS)
    account = mirror_node().find_account(account_id, deadline)
    balance = account.balance if account else None
    if balance not in (None, find_noted_balance()):
        with write() as db:
            properties.mark_property(db, properties.BALANCE, str(balance).encode())


def find_fees(now: int) -> tuple[int, int]:
    """The fees of the last hour, in tinybars: the charged ones, and the reserved ones."""
    held = prepared_transactions.get_held(read(), _an_hour_before(now))
    return held["total"] - held["reserved"], held["reserved"]


def _an_hour_before(now: int) -> str:
    """The expiry date before which purchases no longer count, because their fees are over an hour old."""
    return times.to_iso(now - HOUR)


def look_up_unsettled() -> None:
    """Store the fees that are not known yet, by the ids of the purchases. Raises the ledger's errors."""
    for transaction_id in prepared_transactions.list_unsettled(read()):
        deadline = Deadline(UNHURRIED_SECONDS)
        rows = mirror_node().list_transactions(TransactionId.require(transaction_id), deadline)
        note_charged(transaction_id, rows)


def note_charged(transaction_id: str, rows: Iterable[Transaction]) -> None:
    """Add the fees of a transaction id's ledger rows to its purchase's fee. Each row counts once.

    A purchase that was submitted several times has several rows, and the marketplace pays for each. The first
    row replaces the reservation, or the zero of a purchase that seemed never submitted.
    """
    charged = [row for row in rows if _is_charged(row)]
    if not charged:
        return
    purchase = prepared_transactions.get_prepared_transaction(read(), transaction_id)
    if purchase is None or purchase["is_settled"] is None:
        return
    charged_to = purchase["charged_to"] or ""
    new = [row for row in charged if times.to_iso(row.consensus_at) > charged_to]
    if new:
        fee = sum(row.fee_tinybars for row in new)
        is_sold = any(row.is_original and row.result == "SUCCESS" for row in new)
        newest_at = times.to_iso(max(row.consensus_at for row in new))
        with write() as db:
            prepared_transactions.mark_charged(db, purchase, fee, is_sold, newest_at)


def _is_charged(row: Transaction) -> bool:
    """Whether the marketplace's account paid for a row that is a purchase."""
    is_ours = row.payer == current_app.config["ACCOUNT_ID"] and not row.scheduled
    return is_ours and row.name == TransactionType.TRANSFER


def note_never_submitted(seen_to: int) -> None:
    """Release the fees of purchases that expired by ``seen_to``: every transaction until then was seen."""
    before = times.to_iso(seen_to)
    if prepared_transactions.is_any_expired(read(), UNSETTLED, before):
        with write() as db:
            prepared_transactions.mark_never_submitted(db, before)


class Purchase(NamedTuple):
    """NFTs that an account can buy now, as the ledger shows them, and what that can cost the marketplace."""

    buyer_id: str
    nfts: Sequence[NftRow]
    fee: int  # tinybars, at most
    payer: Payer
    to_associate: Sequence[str]  # the tokens with which the purchase associates the buyer
    present: int  # of the mirror node, before it was asked for prices


def require_within_limits(
    db: Connection, purchase: Purchase, transaction_id: str | None = None
) -> None:
    """Raise PurchaseInProgress, TooManyFailed, BudgetTooSmall, FeesSpent or BuyerNotAssociated.

    ``transaction_id``: of this purchase, which does not hinder itself.
    """
    buyer_id, now = purchase.buyer_id, times.now()
    nfts = {NftId(nft["token"], nft["serial_no"]) for nft in purchase.nfts}
    for row in prepared_transactions.list_in_progress(db, times.to_iso(now - times.ALLOWED_LAG)):
        nft_id = NftId(row["token"], row["serial_no"])
        if row["transaction_id"] == transaction_id:
            continue
        if row["account_id"] == buyer_id:
            raise PurchaseInProgress("by", buyer_id, PROGRESS_SECONDS)
        if nft_id in nfts:
            raise PurchaseInProgress("of", nft_id, PROGRESS_SECONDS)
    since = _an_hour_before(now)
    failed = prepared_transactions.list_failed(db, buyer_id, since)
    if len(failed) >= MOST_FAILED:
        over_at = times.to_nanoseconds(failed[-MOST_FAILED]) + HOUR
        raise TooManyFailed(MOST_FAILED, buyer_id, (over_at - now) // times.SECOND + 1)
    budget, held = current_app.config["SALE_FEE_BUDGET"], prepared_transactions.get_held(db, since)
    if purchase.fee > budget:
        raise BudgetTooSmall(to_hbar(purchase.fee), to_hbar(budget))
    free = min(budget - held["total"], purchase.payer.balance - held["reserved"])
    if purchase.fee > free:
        raise FeesSpent(AGAIN_SECONDS)
    if purchase.to_associate and 2 * held["total"] >= budget:
        tokens = ", ".join(purchase.to_associate)
        reason = (
            f"{buyer_id} is not associated with {tokens}, and the marketplace has paid for enough"
            " associations within the hour: associate it first"
        )
        raise BuyerNotAssociated(reason, "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT")


@contextmanager
def refusals_counted(request: MarketRequest) -> Iterator[None]:
    """Count a refusal by its name. Log those that only the operator can end."""
    try:
        yield
    except MarketplaceError as error:
        count("purchases", outcome=type(error).__name__)
        if isinstance(error, BuyingPaused):
            warn_once_a_minute(
                "Refused a purchase by %s (access token %s, end user %s): %s",
                request.account_id,
                *map(quote, request.caller),
                error,
            )
        raise
