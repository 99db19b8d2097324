"""The base of reports: the facts about a transaction, and whether it may still come."""

from dataclasses import dataclass
from typing import Any, ClassVar

from marketplace import times
from marketplace.errors import ListingEnded, NotPrepared, TransactionRefused
from marketplace.ids import TransactionId
from marketplace.ledger.mirror_schemas import Transaction
from marketplace.market import listing_rule, reconciler
from marketplace.market.prepare import Kind
from marketplace.market.reconciler import Reconciliation

LONGEST_VALIDITY = 180 * times.SECOND  # of any transaction, on the network


@dataclass(frozen=True)
class Report:
    """A report of one transaction, beside what its NFT is now. It asks nobody, and writes nothing."""

    kind: ClassVar[Kind]
    name: ClassVar[str]  # of its transaction, on the ledger

    account_id: str
    transaction_id: str | None  # as the report names it
    row: Any  # what was prepared; None where nothing was, or a wallet gave it an id of its own
    line: Reconciliation
    overdue: int

    def is_fulfilled(self) -> bool:
        """Tell whether the NFT is as the report wants it, whatever became of the transaction."""
        raise NotImplementedError

    def judge(self, signed: Transaction) -> bool:
        """Answer by a transaction that reached consensus: False while the NFT does not show it yet."""
        raise NotImplementedError

    def require_possible(self) -> None:
        """Raise ListingEnded where a report without an id is about what belongs to somebody else by now."""
        if self.transaction_id is None and self.line.is_decided and not self.is_theirs:
            raise self.ended()

    @property
    def nft(self) -> Any:
        return self.line.nft

    @property
    def keys(self) -> tuple[str, int]:
        return self.nft["token"], self.nft["serial_no"]

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

    @property
    def is_open(self) -> bool:
        """Whether what was prepared may still be submitted, or be shown by the mirror node."""
        return bool(self.row["expires_at"] > times.to_iso(self.overdue))

    def is_frozen_anew(self) -> bool:
        """Tell whether a wallet may have given something that was prepared an id of its own, just now."""
        transaction_id = TransactionId.require(self.transaction_id or "")
        start = transaction_id.seconds * times.SECOND + transaction_id.nanos
        is_recent = abs(start - self.overdue) < LONGEST_VALIDITY
        return transaction_id.account_id == self.account_id and is_recent

    def shows(self, signed: Transaction) -> bool:
        """Tell whether what is stored of the NFT is as new as a transaction."""
        return bool(times.just_before(times.to_iso(signed.consensus_at)) <= self.nft["ledger_at"])

    def may_follow(self, signed: Transaction) -> bool:
        """Tell whether the mirror node may still come to show of the NFT what a transaction did."""
        is_recent = signed.consensus_at > self.overdue - LONGEST_VALIDITY
        is_undecided = self.nft["ledger_at"] == reconciler.NOTHING_DECIDED
        return is_recent or is_undecided or not self.line.is_decided

    def require_success(self, signed: Transaction, *, is_ours: bool) -> None:
        """Raise TransactionRefused; NotPrepared where it is neither by its id nor by what it says ours."""
        if self.row is None and not is_ours:
            raise self.not_prepared()
        if signed.result != "SUCCESS":
            raise self.refused(signed.result)

    def ended(self) -> ListingEnded:
        """Why the account that reports has it no more in the order book."""
        if self.nft["ledger_at"] == reconciler.GONE:
            reason = listing_rule.GONE
        elif not self.is_theirs:
            reason = f"it belongs to {self.nft['owner']} now"
        else:
            reason = self.line.reason
        return ListingEnded(*self.keys, reason)

    def refused(self, result: str) -> TransactionRefused:
        transaction_id = str(self.row["transaction_id"] if self.row else self.transaction_id)
        return TransactionRefused(transaction_id, self.kind, result)

    def not_prepared(self) -> NotPrepared:
        return NotPrepared(self.account_id, *self.keys, self.transaction_id)
