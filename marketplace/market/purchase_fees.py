"""The marketplace's costs of purchases: the cap of each, and the fee that it was charged.

The marketplace pays for each purchase, even if it fails at consensus. So each purchase reserves its maximum
cost, in the database transaction that checks the budget. The watcher replaces the reservation with the
ledger's fee, or with zero if the purchase was never submitted.
"""

from collections.abc import Iterable
from typing import NamedTuple, cast

from flask import current_app

from marketplace.errors import LedgerAnswerInvalid
from marketplace.hedera import times
from marketplace.hedera.ids import TransactionId
from marketplace.ledger import UNHURRIED_SECONDS, Deadline
from marketplace.ledger.objects import LedgerAccount, Transaction
from marketplace.services import mirror_node
from marketplace.store import prepared_transactions, properties
from marketplace.store.database import read, write
from marketplace.store.prepared_transactions import UNSETTLED

ASSOCIATION_CENTS = 5  # https://docs.hedera.com/networks/fees
# The largest difference between the clocks of two machines: LedgerBehind refuses purchases beyond it.
CLOCKS = 15 * times.SECOND
HOUR = times.HOUR + CLOCKS
PAID = ("CRYPTOTRANSFER", "SCHEDULECREATE", "SCHEDULEDELETE")


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
    balance = require_balance(account_id, account)
    return Payer(cast(LedgerAccount, account), balance)


def require_balance(account_id: str, account: LedgerAccount | None) -> int:
    if account is None or account.balance is None:
        raise LedgerAnswerInvalid(f"/accounts/{account_id}: it has no balance")
    return account.balance


def find_noted_balance() -> int | None:
    """The balance of the marketplace's account when the watcher last read it, in tinybars."""
    noted = properties.get_property(read(), properties.BALANCE)
    return int(bytes(noted["value"])) if noted else None


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
    held = prepared_transactions.get_held(read(), an_hour_before(now))
    return held["total"] - held["reserved"], held["reserved"]


def an_hour_before(now: int) -> str:
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
    """Whether the marketplace's account paid for a row that is a purchase, or creates or ends an offer.

    An offer's execution has the same id as its creation, and its bidder pays for it.
    """
    is_ours = row.payer == current_app.config["ACCOUNT_ID"] and not row.scheduled
    return is_ours and row.name in PAID


def note_never_submitted(seen_to: int) -> None:
    """Release the fees of purchases that expired by ``seen_to``: every transaction until then was seen."""
    before = times.to_iso(seen_to)
    if prepared_transactions.is_any_expired(read(), UNSETTLED, before):
        with write() as db:
            prepared_transactions.mark_never_submitted(db, before)
