"""Reports of signed transactions, by kind: whether one had its effect, or may still have it."""

from dataclasses import dataclass
from typing import Any, ClassVar

from flask import current_app

from marketplace import times
from marketplace.errors import (
    ListingEnded,
    NotPrepared,
    TransactionAltered,
    TransactionRefused,
    WithdrawalEnded,
)
from marketplace.ids import NftId, TransactionId
from marketplace.ledger.mirror_schemas import Transaction
from marketplace.market import listing_rule, reconciler
from marketplace.market.memos import is_withdrawal_memo, read_listing_memo
from marketplace.market.reconciler import Reconciliation
from marketplace.store.rows import Kind

LONGEST_VALIDITY = 180 * times.SECOND  # of any transaction, on the network


@dataclass(frozen=True)
class Report:
    """A report of one transaction, beside its NFT's state of now. It asks nobody, and writes nothing."""

    kind: ClassVar[Kind]
    name: ClassVar[str]  # of its transaction, on the ledger

    account_id: str
    transaction_id: str | None  # as the report names it
    row: Any  # the prepared transaction; None where nothing was prepared under this id
    line: Reconciliation
    overdue: int

    def is_fulfilled(self) -> bool:
        """Tell whether the NFT is as the report wants it, whatever became of the transaction."""
        raise NotImplementedError

    def judge(self, signed: Transaction) -> bool:
        """Answer by a transaction that reached consensus: False while the NFT does not show it yet."""
        raise NotImplementedError

    def require_possible(self) -> None:
        """Raise ListingEnded for a report without an id, of an NFT that belongs to somebody else now."""
        if self.transaction_id is None and self.line.is_decided and not self.is_theirs:
            raise self.ended()

    @property
    def nft(self) -> Any:
        return self.line.nft

    @property
    def nft_id(self) -> NftId:
        return NftId(self.nft["token"], self.nft["serial_no"])

    @property
    def listed_at(self) -> str:
        return str(self.nft["last_listed_at"] or "")

    @property
    def is_theirs(self) -> bool:
        """Whether the NFT belongs to the account that reports."""
        return bool(self.nft["owner"] == self.account_id)

    @property
    def stands(self) -> bool:
        """Whether the NFT is for sale, by the account that reports."""
        return bool(self.nft["is_for_sale"]) and self.is_theirs

    def is_frozen_anew(self) -> bool:
        """Tell whether a wallet may have given a prepared transaction this id of its own, just now."""
        transaction_id = TransactionId.require(self.transaction_id or "")
        is_recent = abs(transaction_id.valid_start - self.overdue) < LONGEST_VALIDITY
        return transaction_id.account_id == self.account_id and is_recent

    def shows(self, signed: Transaction) -> bool:
        """Tell whether the stored NFT is as new as a transaction."""
        return bool(times.just_before(times.to_iso(signed.consensus_at)) <= self.nft["ledger_at"])

    def may_follow(self, signed: Transaction) -> bool:
        """Tell whether the mirror node may still come to show a transaction's effect on the NFT."""
        is_recent = signed.consensus_at > self.overdue - LONGEST_VALIDITY
        is_undecided = self.nft["ledger_at"] == reconciler.NOTHING_DECIDED
        return is_recent or is_undecided or not self.line.is_decided

    def require_ours(self, signed: Transaction, *, is_ours: bool) -> None:
        """Raise NotPrepared, TransactionRefused or TransactionAltered for anything but our own success."""
        if self.row is None and not is_ours:
            raise self.not_prepared()
        if signed.result != "SUCCESS":
            raise self.refused(signed.result)
        if not is_ours or signed.name != self.name:
            raise self.altered(signed)

    def ended(self) -> ListingEnded:
        """The reason why the account that reports has it no more in the order book."""
        if self.nft["ledger_at"] == reconciler.GONE:
            reason = listing_rule.GONE
        elif not self.is_theirs:
            reason = f"it belongs to {self.nft['owner']} now"
        else:
            reason = self.line.reason
        return ListingEnded(*self.nft_id, reason)

    def refused(self, result: str) -> TransactionRefused:
        transaction_id = str(self.row["transaction_id"] if self.row else self.transaction_id)
        return TransactionRefused(transaction_id, self.kind, result)

    def not_prepared(self) -> NotPrepared:
        return NotPrepared(self.account_id, *self.nft_id, self.transaction_id)

    def altered(self, signed: Transaction) -> TransactionAltered:
        return TransactionAltered(str(signed.transaction_id), self.kind, signed.name)


class ListingReport(Report):
    kind = "listing"
    name = listing_rule.APPROVAL

    def is_fulfilled(self) -> bool:
        """Tell whether it is for sale as the report wants it, under any id of the wallet's.

        A report without an id asks whether it is for sale at all, whatever was prepared since.
        """
        if self.transaction_id is None:
            return self.stands
        is_that_price = self.row["price"] == self.nft["listing_price"]
        return self.stands and is_that_price and self.row["prepared_at"] <= self.listed_at

    def judge(self, signed: Transaction) -> bool:
        price = read_listing_memo(signed.memo, *self.nft_id)
        is_listing = price is not None and signed.payer == self.account_id
        self.require_ours(signed, is_ours=is_listing)
        if self.stands and times.to_iso(signed.consensus_at) <= self.listed_at:
            return True  # by this one, or by one that came after it
        if self.line.is_decided and self.shows(signed) and not self.stands:
            raise self.ended()
        if self.may_follow(signed):
            return False
        raise self.altered(signed)


class WithdrawalReport(Report):
    kind = "withdrawal"
    name = "CRYPTODELETEALLOWANCE"

    def is_fulfilled(self) -> bool:
        """Tell whether its owner still has it, and no longer sells it, whatever ended the listing."""
        return self.is_off and self.is_theirs

    @property
    def is_off(self) -> bool:
        """Whether the account no longer sells it, as its owner or not."""
        return self.line.is_decided and not self.stands

    def judge(self, signed: Transaction) -> bool:
        is_ours = is_withdrawal_memo(signed.memo, *self.nft_id) and signed.payer == self.account_id
        self.require_ours(signed, is_ours=is_ours)
        if self.is_off:
            return True
        if self.stands and times.to_iso(signed.consensus_at) < self.listed_at:
            raise WithdrawalEnded(*self.nft_id, self.listed_at)
        if self.may_follow(signed):
            return False
        raise self.altered(signed)


class PurchaseReport(Report):
    kind = "purchase"
    name = "CRYPTOTRANSFER"

    def is_fulfilled(self) -> bool:
        """Return False: only its own transaction tells a purchase from a gift."""
        return False

    def require_possible(self) -> None:
        """Raise nothing: the NFT belongs to somebody else until it is bought."""

    def judge(self, signed: Transaction) -> bool:
        is_paid_here = signed.payer == current_app.config["ACCOUNT_ID"]
        is_moved = is_paid_here and signed.moves(self.nft_id, self.account_id)
        self.require_ours(signed, is_ours=is_moved)
        # The buyer had it then, even if it was sold on since.
        return self.shows(signed) or not self.may_follow(signed)


REPORTS = {report.kind: report for report in (ListingReport, WithdrawalReport, PurchaseReport)}
# Of a transaction that was not prepared here, by its name on the ledger.
REPORTS_BY_NAME = {report.name: report for report in REPORTS.values()}
