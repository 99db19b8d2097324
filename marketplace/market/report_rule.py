"""The rule of a report: whether a signed transaction has had its effect on an NFT, or still may.

Pure, like the listing rule: no I/O, no clock. The first matching line decides:

| The report                                         | listing        | withdrawal       | purchase       |
|----------------------------------------------------|----------------|------------------|----------------|
| The NFT is as wanted, whatever made it so          | OK             | OK               | -              |
| Without id; none was prepared; it is undecided     | PENDING        | -                | -              |
| No transaction; none was prepared, nor by a wallet | NotPrepared    | NotPrepared      | NotPrepared    |
| No transaction; without id; another one owns it    | ReportOutdated | ReportOutdated   | -              |
| No transaction; it may still come                  | PENDING        | PENDING          | PENDING        |
| No transaction; it never will                      | Expired        | Expired          | Expired        |
| Neither prepared nor ours                          | NotPrepared    | NotPrepared      | NotPrepared    |
| The ledger refused it                              | Refused        | Refused          | Refused        |
| It is another one, under our id                    | Altered        | Altered          | Altered        |
| The NFT shows its effect                           | OK             | OK               | OK             |
| It is over three minutes old; nothing is undecided | -              | -                | OK             |
| The NFT shows a later change                       | ReportOutdated | ReportOutdated   | -              |
| The NFT may show its effect later                  | PENDING        | PENDING          | PENDING        |
| It had another effect                              | Altered        | Altered          | -              |
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from marketplace.errors import (
    MarketplaceError,
    NotPrepared,
    ReportOutdated,
    TransactionAltered,
    TransactionExpired,
    TransactionRefused,
)
from marketplace.hedera import times
from marketplace.hedera.ids import NftId, TransactionId
from marketplace.ledger.objects import Transaction, TransactionType
from marketplace.market import listing_rule
from marketplace.market.memos import is_withdrawal_memo, read_listing_memo
from marketplace.market.reconciler import Reconciliation
from marketplace.store.nfts import NftRow, id_of, is_gone, is_undecided, shows
from marketplace.store.prepared_transactions import Kind, PreparedNftRow

LONGEST_VALIDITY = 180 * times.SECOND  # of any transaction, on the network
# Their names on the ledger.
NAMES: dict[Kind, str] = {
    "listing": TransactionType.APPROVAL,
    "withdrawal": TransactionType.WITHDRAWAL,
    "purchase": TransactionType.TRANSFER,
}


class ReportOutcome(Enum):
    OK = auto()
    PENDING = auto()  # the transaction, or its effect, may still come


@dataclass(frozen=True)
class ReportAnswer:
    """Whether a transaction had its effect on all its NFTs or its offer, or may still have it."""

    is_pending: bool
    listing_price: int | None = None  # HBAR, of all NFTs if they are listed now
    offer_id: str | None = None  # of an offer that was made
    # While it is pending: a transaction that was not submitted by then never will be.
    expires_at: str | None = None


class Report(NamedTuple):
    """What a report says was signed."""

    account_id: str  # the owner, or the buyer
    market: str  # the marketplace's account
    transaction_id: str | None = None  # as the report names it
    row: PreparedNftRow | None = None  # None if nothing was prepared under this id
    newest: PreparedNftRow | None = None  # without a row: whose id a wallet may have replaced


class ReconciledNft(NamedTuple):
    """The NFT, as it was reconciled for the report."""

    row: NftRow
    reconciled: Reconciliation

    @property
    def nft_id(self) -> NftId:
        return id_of(self.row)

    @property
    def listed_at(self) -> str:
        return self.row["last_listed_at"] or ""

    @property
    def is_settled(self) -> bool:
        """Whether nothing about it is open: neither in these facts, nor as it is stored."""
        return self.reconciled.is_decided and not is_undecided(self.row)

    def is_for_sale_by(self, account_id: str) -> bool:
        return bool(self.row["is_for_sale"]) and self.row["owner"] == account_id

    def is_as_new_as(self, executed: Transaction) -> bool:
        return shows(self.row, executed.consensus_at)


def find_latest_expiry(transaction_id: str) -> str:
    """The latest submission date of any transaction with this id, in the database's form."""
    return times.to_iso(TransactionId.require(transaction_id).valid_start + LONGEST_VALIDITY)


def find_executed(rows: Iterable[Transaction]) -> Transaction | None:
    """Of an id's rows, the transaction that reached consensus: the successful one, if there is one."""
    originals = [row for row in rows if row.is_original]
    return max(originals, key=lambda row: row.result == "SUCCESS", default=None)


def judge(
    kind: Kind,
    report: Report,
    nft: ReconciledNft,
    executed: Transaction | None,
    overdue_before: int,
) -> ReportOutcome | MarketplaceError:
    """Judge a report by the table above.

    ``executed``: the transaction that reached consensus; None if there is none, or if the NFT is as wanted.
    ``overdue_before``: the mirror node will show no further transaction that expired before this moment.
    """
    if is_as_wanted(kind, report, nft):
        return ReportOutcome.OK
    if executed is None:
        return _judge_unseen(kind, report, nft, overdue_before)
    is_ours = _is_ours(kind, report, nft.nft_id, executed)
    if report.row is None and not is_ours:
        return _not_prepared(report, nft)
    if executed.result != "SUCCESS":
        return _refused(kind, report, nft, executed.result)
    if not is_ours or executed.name != NAMES[kind]:
        return TransactionAltered(str(executed.transaction_id), kind, executed.name)
    is_recent = executed.consensus_at > overdue_before - LONGEST_VALIDITY
    may_follow = is_recent or not nft.is_settled
    if _shows_effect(kind, report, nft, executed) or (kind == "purchase" and not may_follow):
        return ReportOutcome.OK
    if ended := _find_end(kind, report, nft, executed):
        return ended
    if may_follow:
        return ReportOutcome.PENDING
    return TransactionAltered(str(executed.transaction_id), kind, executed.name)


def is_as_wanted(kind: Kind, report: Report, nft: ReconciledNft) -> bool:
    """Tell whether an NFT is as a report wants it, no matter which transaction did that.

    Listing without an id: the NFT is for sale. Listing with an id: it is for sale as prepared, even if the
    wallet changed the id. Withdrawal: the account owns the NFT and does not sell it. Purchase: never, since
    only the transaction can prove that the NFT was bought, and not a gift.
    """
    row, is_listed = report.row, nft.is_for_sale_by(report.account_id)
    if kind == "purchase" or (report.transaction_id and row is None):
        return False
    if kind == "withdrawal":
        is_owner = nft.row["owner"] == report.account_id
        return nft.reconciled.is_decided and is_owner and not is_listed
    if report.transaction_id is None or row is None:
        return is_listed
    is_that_price = row["price"] == nft.row["listing_price"]
    return is_listed and is_that_price and row["prepared_at"] <= nft.listed_at


def _judge_unseen(
    kind: Kind, report: Report, nft: ReconciledNft, overdue_before: int
) -> ReportOutcome | MarketplaceError:
    row = report.row
    if row is None and report.transaction_id is None:
        # A listing that another program prepared may be on the ledger.
        return _not_prepared(report, nft) if nft.is_settled else ReportOutcome.PENDING
    if row is None:
        may_come = report.newest is not None and _is_recent_id(report, overdue_before)
        return ReportOutcome.PENDING if may_come else _not_prepared(report, nft)
    is_anothers = nft.reconciled.is_decided and nft.row["owner"] != report.account_id
    if kind != "purchase" and report.transaction_id is None and is_anothers:
        return _listing_ended(report, nft)
    if row["expires_at"] > times.to_iso(overdue_before):
        return ReportOutcome.PENDING  # it may still be submitted, or be shown by the mirror node
    return TransactionExpired(row["transaction_id"], kind)


def _is_recent_id(report: Report, overdue_before: int) -> bool:
    """Tell whether a wallet may have just replaced a prepared transaction's id with this one."""
    transaction_id = TransactionId.require(report.transaction_id or "")
    is_recent = abs(transaction_id.valid_start - overdue_before) < LONGEST_VALIDITY
    return transaction_id.account_id == report.account_id and is_recent


def _is_ours(kind: Kind, report: Report, nft_id: NftId, executed: Transaction) -> bool:
    """Tell whether a transaction lists, withdraws or sells the NFT, for the account."""
    if kind == "purchase":
        return executed.payer == report.market and executed.moves(nft_id, report.account_id)
    if kind == "withdrawal":
        is_about_it = is_withdrawal_memo(executed.memo, *nft_id)
    else:
        is_about_it = read_listing_memo(executed.memo, *nft_id) is not None
    return is_about_it and executed.payer == report.account_id


def _shows_effect(kind: Kind, report: Report, nft: ReconciledNft, executed: Transaction) -> bool:
    if kind == "purchase":
        return nft.is_as_new_as(executed)  # the buyer received it, and may have sold it since
    is_listed = nft.is_for_sale_by(report.account_id)
    if kind == "withdrawal":
        return nft.reconciled.is_decided and not is_listed
    # By this transaction, or by a later one.
    return is_listed and times.to_iso(executed.consensus_at) <= nft.listed_at


def _find_end(
    kind: Kind, report: Report, nft: ReconciledNft, executed: Transaction
) -> MarketplaceError | None:
    """The error that says why the transaction's effect is over; None if it may still come."""
    is_listed = nft.is_for_sale_by(report.account_id)
    if kind == "withdrawal" and is_listed and times.to_iso(executed.consensus_at) < nft.listed_at:
        return ReportOutdated(
            *nft.nft_id, f"was withdrawn, and then listed again at {nft.listed_at}"
        )
    is_newer = nft.reconciled.is_decided and nft.is_as_new_as(executed)
    if kind == "listing" and is_newer and not is_listed:
        return _listing_ended(report, nft)
    return None


def _listing_ended(report: Report, nft: ReconciledNft) -> ReportOutdated:
    if is_gone(nft.row):
        reason = listing_rule.GONE
    elif nft.row["owner"] != report.account_id:
        reason = f"it belongs to {nft.row['owner']} now"
    else:
        reason = listing_rule.explain_end(nft.reconciled.reason)
    return ReportOutdated(*nft.nft_id, f"is no longer listed: {reason}")


def _refused(kind: Kind, report: Report, nft: ReconciledNft, result: str) -> TransactionRefused:
    row, owner = report.row, nft.row["owner"]
    transaction_id = str(row["transaction_id"] if row else report.transaction_id)
    seller = row["seller"] if row else None
    if kind == "purchase" and seller and owner not in (seller, report.account_id):
        return TransactionRefused(transaction_id, kind, result, sold=nft.nft_id)
    return TransactionRefused(transaction_id, kind, result)


def _not_prepared(report: Report, nft: ReconciledNft) -> NotPrepared:
    return NotPrepared(report.account_id, *nft.nft_id, report.transaction_id)
