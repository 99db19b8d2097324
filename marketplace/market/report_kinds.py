"""Reports of signed transactions, by kind: whether a transaction had its effect, or may still have it."""

from dataclasses import dataclass
from typing import ClassVar

from flask import current_app

from marketplace.errors import (
    ListingEnded,
    NotPrepared,
    TransactionAltered,
    TransactionExpired,
    TransactionRefused,
    WithdrawalEnded,
)
from marketplace.hedera import times
from marketplace.hedera.ids import NftId, TransactionId
from marketplace.ledger.mirror_schemas import Transaction
from marketplace.market import listing_rule, reconciler
from marketplace.market.memos import is_withdrawal_memo, read_listing_memo
from marketplace.market.reconciler import Reconciliation
from marketplace.store.rows import Kind, NftRow, PreparedNftRow

LONGEST_VALIDITY = 180 * times.SECOND  # of any transaction, on the network


@dataclass(frozen=True)
class Report:
    """A report of one transaction, with its NFT's current state. It reads and writes nothing."""

    kind: ClassVar[Kind]
    name: ClassVar[str]  # of the transaction, on the ledger

    account_id: str
    transaction_id: str | None  # as the report names it
    row: PreparedNftRow | None  # None if nothing was prepared under this id
    nft: NftRow
    reconciled: Reconciliation
    overdue: int  # nanoseconds, see reports.py

    def is_fulfilled(self) -> bool:
        """Tell whether the NFT is as the report wants it, no matter which transaction did that."""
        raise NotImplementedError

    def judge(self, signed: Transaction) -> bool:
        """Judge a transaction that reached consensus: False while the NFT does not show its effect yet."""
        raise NotImplementedError

    def require_possible(self) -> None:
        """Raise ListingEnded if the report names no id, and the NFT belongs to somebody else now."""
        if self.transaction_id is None and self.reconciled.is_decided and not self.is_owner:
            raise self.ended()

    @property
    def nft_id(self) -> NftId:
        return NftId(self.nft["token"], self.nft["serial_no"])

    @property
    def listed_at(self) -> str:
        return self.nft["last_listed_at"] or ""

    @property
    def is_owner(self) -> bool:
        """Whether the NFT belongs to the reporting account."""
        return self.nft["owner"] == self.account_id

    @property
    def is_listed(self) -> bool:
        """Whether the NFT is for sale, and belongs to the reporting account."""
        return bool(self.nft["is_for_sale"]) and self.is_owner

    def is_wallet_id(self) -> bool:
        """Tell whether the wallet may have just given a prepared transaction this id in place of ours."""
        transaction_id = TransactionId.require(self.transaction_id or "")
        is_recent = abs(transaction_id.valid_start - self.overdue) < LONGEST_VALIDITY
        return transaction_id.account_id == self.account_id and is_recent

    def shows(self, signed: Transaction) -> bool:
        """Tell whether the stored NFT is as new as a transaction."""
        signed_at = times.just_before(times.to_iso(signed.consensus_at))
        return signed_at <= self.nft["ledger_at"] and not reconciler.is_undecided(self.nft)

    def may_follow(self, signed: Transaction) -> bool:
        """Tell whether the mirror node may still show a transaction's effect on the NFT later."""
        is_recent = signed.consensus_at > self.overdue - LONGEST_VALIDITY
        is_undecided = reconciler.is_undecided(self.nft) or not self.reconciled.is_decided
        return is_recent or is_undecided

    def require_ours(self, signed: Transaction, *, is_ours: bool) -> None:
        """Raise NotPrepared, TransactionRefused or TransactionAltered unless it is ours, and succeeded."""
        if self.row is None and not is_ours:
            raise self.not_prepared()
        if signed.result != "SUCCESS":
            raise self.refused(signed.result)
        if not is_ours or signed.name != self.name:
            raise self.altered(signed)

    def ended(self) -> ListingEnded:
        """The error that says why the reporting account's listing has ended."""
        if self.nft["ledger_at"] == reconciler.GONE:
            reason = listing_rule.GONE
        elif not self.is_owner:
            reason = f"it belongs to {self.nft['owner']} now"
        else:
            reason = self.reconciled.reason
        return ListingEnded(*self.nft_id, reason)

    def refused(self, result: str) -> TransactionRefused:
        return TransactionRefused(self.prepared_id, self.kind, result)

    def expired(self) -> TransactionExpired:
        return TransactionExpired(self.prepared_id, self.kind)

    @property
    def prepared_id(self) -> str:
        """The id of the prepared transaction, or of the reported one if nothing was prepared under it."""
        return str(self.row["transaction_id"] if self.row else self.transaction_id)

    def not_prepared(self) -> NotPrepared:
        return NotPrepared(self.account_id, *self.nft_id, self.transaction_id)

    def altered(self, signed: Transaction) -> TransactionAltered:
        return TransactionAltered(str(signed.transaction_id), self.kind, signed.name)


class ListingReport(Report):
    kind = "listing"
    name = listing_rule.APPROVAL

    def is_fulfilled(self) -> bool:
        """Tell whether it is for sale as prepared, even if the wallet changed the transaction id.

        A report without an id asks only whether it is for sale, whatever was prepared since.
        """
        if self.transaction_id is None or self.row is None:
            return self.is_listed
        is_that_price = self.row["price"] == self.nft["listing_price"]
        return self.is_listed and is_that_price and self.row["prepared_at"] <= self.listed_at

    def judge(self, signed: Transaction) -> bool:
        price = read_listing_memo(signed.memo, *self.nft_id)
        is_listing = price is not None and signed.payer == self.account_id
        self.require_ours(signed, is_ours=is_listing)
        if self.is_listed and times.to_iso(signed.consensus_at) <= self.listed_at:
            return True  # by this transaction, or by a later one
        if self.reconciled.is_decided and self.shows(signed) and not self.is_listed:
            raise self.ended()
        if self.may_follow(signed):
            return False
        raise self.altered(signed)


class WithdrawalReport(Report):
    kind = "withdrawal"
    name = "CRYPTODELETEALLOWANCE"

    def is_fulfilled(self) -> bool:
        """Tell whether the account still owns it, and no longer sells it, whatever ended the listing."""
        return self.is_off and self.is_owner

    @property
    def is_off(self) -> bool:
        """Whether the account no longer sells it, whether it still owns it or not."""
        return self.reconciled.is_decided and not self.is_listed

    def judge(self, signed: Transaction) -> bool:
        is_ours = is_withdrawal_memo(signed.memo, *self.nft_id) and signed.payer == self.account_id
        self.require_ours(signed, is_ours=is_ours)
        if self.is_off:
            return True
        if self.is_listed and times.to_iso(signed.consensus_at) < self.listed_at:
            raise WithdrawalEnded(*self.nft_id, self.listed_at)
        if self.may_follow(signed):
            return False
        raise self.altered(signed)


class PurchaseReport(Report):
    kind = "purchase"
    name = "CRYPTOTRANSFER"

    def is_fulfilled(self) -> bool:
        """Return False: only its transaction can prove that the NFT was bought, and not a gift."""
        return False

    def require_possible(self) -> None:
        """Raise nothing: the NFT belongs to somebody else until it is bought."""

    def judge(self, signed: Transaction) -> bool:
        is_paid_here = signed.payer == current_app.config["ACCOUNT_ID"]
        is_moved = is_paid_here and signed.moves(self.nft_id, self.account_id)
        self.require_ours(signed, is_ours=is_moved)
        # The buyer received it, even if he has sold it since.
        return self.shows(signed) or not self.may_follow(signed)


REPORTS = {report.kind: report for report in (ListingReport, WithdrawalReport, PurchaseReport)}
# For a transaction that was not prepared here: by its name on the ledger.
REPORTS_BY_NAME = {report.name: report for report in REPORTS.values()}
