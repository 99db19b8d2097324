"""What every report has in common: what is known of what it is about, and what is still awaited."""

from dataclasses import dataclass
from typing import Any, ClassVar

from marketplace import times
from marketplace.errors import ListingEnded, NotPrepared, TransactionRefused
from marketplace.ids import TransactionId
from marketplace.ledger.answers import Transaction
from marketplace.market import reconciler, rule
from marketplace.market.prepared import Kind
from marketplace.market.reconciler import InLine

LONGEST_VALIDITY = 180 * times.SECOND  # of any transaction, on the network


@dataclass(frozen=True)
class Report:
    """A report, beside all that is known of what it is about. It asks nobody, and writes nothing."""

    kind: ClassVar[Kind]
    name: ClassVar[str]  # of its transaction, on the ledger

    account_id: str
    transaction_id: str | None
    named: Any  # what was prepared under this id, if anything was
    prepared: list  # what was prepared of this kind for this account and NFT, the newest first
    line: InLine
    overdue: int

    def is_fulfilled(self) -> bool:
        """Tell whether it is as the report wants it, whatever became of the transaction."""
        raise NotImplementedError

    def judge(self, signed: Transaction) -> bool:
        """Answer by a transaction that reached consensus: False while the NFT does not show it yet."""
        raise NotImplementedError

    @property
    def nft(self) -> Any:
        return self.line.nft

    @property
    def keys(self) -> tuple[str, int]:
        return self.nft["token"], self.nft["serial_no"]

    @property
    def listed_at(self) -> str:
        return self.nft["last_listed_at"] or ""

    @property
    def is_theirs(self) -> bool:
        """Whether the NFT belongs to the account that reports."""
        return self.nft["owner"] == self.account_id

    @property
    def stands(self) -> bool:
        """Whether the NFT is for sale, by the account that reports."""
        return bool(self.nft["is_for_sale"]) and self.is_theirs

    @property
    def is_unnamed(self) -> bool:
        """Whether it names a transaction that was not prepared here: a wallet gave it an id of its own."""
        return self.transaction_id is not None and not self.named

    def candidates(self) -> list[str]:
        """The transactions that may have been meant: without an id, those no report was told of."""
        if self.transaction_id is not None:
            return [self.transaction_id]
        untold = [row for row in self.prepared if row["result"] is None]
        return [row["transaction_id"] for row in untold or self.prepared]

    def expect(self) -> bool:
        """Answer where the ledger shows nothing of it: False while it may still come."""
        if (not self.prepared and not self.named) or (
            self.is_unnamed and not self._is_frozen_anew()
        ):
            raise self.not_prepared()
        self.require_possible()
        meant = [self.named] if self.named else self.prepared
        if not self.is_unnamed and not any(map(self._is_open, meant)):
            raise TransactionRefused(meant[0]["transaction_id"], self.kind, "TRANSACTION_EXPIRED")
        return False

    def require_possible(self) -> None:
        """Raise a Conflict where what is awaited can not come about any more."""

    def require_still_theirs(self) -> None:
        """Raise ListingEnded where a report without an id is about what belongs to somebody else by now."""
        if self.transaction_id is None and self.line.is_decided and not self.is_theirs:
            raise self.ended()

    def ended(self) -> ListingEnded:
        """Why the account that reports has it no more in the order book."""
        if self.nft["ledger_at"] == reconciler.GONE:
            reason = rule.GONE
        elif not self.is_theirs:
            reason = f"it belongs to {self.nft['owner']} now"
        else:
            reason = self.line.verdict.reason
        return ListingEnded(*self.keys, reason)

    def shows(self, signed: Transaction) -> bool:
        """Tell whether what is stored of the NFT is as new as a transaction."""
        return times.just_before(times.to_iso(signed.consensus_at)) <= self.nft["ledger_at"]

    def may_follow(self, signed: Transaction) -> bool:
        """Tell whether the mirror node may still come to show of the NFT what a transaction did."""
        is_recent = signed.consensus_at > self.overdue - LONGEST_VALIDITY
        is_open = not self.line.is_decided or self.nft["ledger_at"] == reconciler.NOTHING_DECIDED
        return is_recent or is_open

    def refused(self, signed: Transaction) -> TransactionRefused:
        return TransactionRefused(str(signed.transaction_id), self.kind, signed.result)

    def not_prepared(self) -> NotPrepared:
        return NotPrepared(self.account_id, *self.keys, self.transaction_id)

    def _is_frozen_anew(self) -> bool:
        """Whether a wallet may have given something that was prepared an id of its own, just now."""
        transaction_id = TransactionId.parse(self.transaction_id)
        start = transaction_id.seconds * times.SECOND + transaction_id.nanos
        is_open = abs(start - self.overdue) < LONGEST_VALIDITY
        return transaction_id.account_id == self.account_id and is_open

    def _is_open(self, row: Any) -> bool:
        return row["expires_at"] > times.to_iso(self.overdue)
