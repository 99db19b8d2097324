"""What a report of a signed listing is answered: the NFT is brought in line first, then compared."""

from typing import Any, NamedTuple

from marketplace import times
from marketplace.errors import (
    Conflict,
    ListingAltered,
    ListingEnded,
    ListingNotPrepared,
    ListingRefused,
)
from marketplace.ids import TransactionId
from marketplace.ledger import Deadline, mirror_node
from marketplace.ledger.answers import Transaction
from marketplace.market import reconciler, rule
from marketplace.market.reconciler import InLine
from marketplace.market.sales import KEPT_FOR_EACH_NFT, require_nft
from marketplace.market.transactions import read_listing_memo
from marketplace.store import queries
from marketplace.store.database import read, write

# Past the end of its validity, before a transaction counts as expired.
MIRROR_LAG = 15 * times.SECOND
LONGEST_VALIDITY = 180 * times.SECOND  # of any transaction, on the network


def answer(account_id: str, token: str, serial_no: int, transaction_id: str | None = None) -> bool:
    """Tell whether what was signed is listed: True, or False while it still may be.

    Without a transaction id, the question is whether the NFT is listed. Raises NftNotStored,
    ListingNotPrepared, ListingRefused with the ledger's result code, ListingAltered, ListingEnded, and the
    ledger's own errors.
    """
    require_nft(token, serial_no)
    keys = token, serial_no, account_id
    prepared = queries.list_prepared_listings(read(), *keys, KEPT_FOR_EACH_NFT)
    named = transaction_id and queries.get_prepared_listing(read(), transaction_id)
    if named and (named["token"], named["serial_no"], named["account_id"]) != keys:
        raise ListingNotPrepared(account_id, token, serial_no, transaction_id)
    deadline = Deadline(reconciler.LEDGER_SECONDS)
    # First of all: what the mirror node had not received by then, it does not show afterwards, either.
    overdue = _find_overdue(prepared, deadline)
    line = reconciler.refresh(token, serial_no, deadline)
    report = Report(account_id, transaction_id, named, prepared, line, overdue)
    return report.is_fulfilled() or _look_up(report, deadline)


def _find_overdue(prepared: list, deadline: Deadline) -> int:
    """The moment until which all that was valid has reached the mirror node, or never will."""
    overdue = times.now() - MIRROR_LAG
    if any(row["expires_at"] <= times.to_iso(overdue) for row in prepared):
        overdue = min(overdue, mirror_node().find_present(deadline) - MIRROR_LAG)
    return overdue


def _look_up(report: "Report", deadline: Deadline) -> bool:
    """Ask the ledger what became of the transactions that may have been meant, one by one."""
    for transaction_id in report.candidates():
        rows = mirror_node().list_transactions(TransactionId.parse(transaction_id), deadline)
        signed = rule.find_signed(tuple(rows))
        if signed is None:
            continue
        try:
            return report.judge(signed)
        except Conflict:
            with write() as db:  # the next report without an id is about another one
                queries.mark_result(db, transaction_id, signed.result)
            raise
    return report.expect()


class Report(NamedTuple):
    """A report, beside all that is known of what it is about. It asks nobody, and writes nothing."""

    account_id: str
    transaction_id: str | None
    named: Any  # what was prepared under this id, if anything was
    prepared: list  # what was prepared for this account and NFT, the newest first
    line: InLine
    overdue: int

    @property
    def nft(self) -> Any:
        return self.line.nft

    @property
    def listed_at(self) -> str:
        return self.nft["last_listed_at"] or ""

    @property
    def stands(self) -> bool:
        """Whether the NFT is for sale, by the account that reports."""
        return bool(self.nft["is_for_sale"]) and self.nft["owner"] == self.account_id

    def is_fulfilled(self) -> bool:
        """Tell whether it is as the report wants it, under whichever id the wallet submitted it."""
        if self.transaction_id is None:
            return self.stands
        is_that_price = self.named and self.named["listing_price"] == self.nft["listing_price"]
        return self.stands and bool(is_that_price) and self.named["prepared_at"] <= self.listed_at

    def candidates(self) -> list[str]:
        """The transactions that may have been meant: without an id, those no report was told of."""
        if self.transaction_id is not None:
            return [self.transaction_id]
        untold = [row for row in self.prepared if row["result"] is None]
        return [row["transaction_id"] for row in untold or self.prepared]

    def judge(self, signed: Transaction) -> bool:
        """Answer by a transaction that reached consensus: False while the NFT does not show it yet."""
        consensus_at = times.to_iso(signed.consensus_at)
        price = read_listing_memo(signed.memo, self.nft["token"], self.nft["serial_no"])
        is_listing = price is not None and signed.payer == self.account_id
        if self.transaction_id and not self.named and not is_listing:
            raise self._not_prepared()
        if signed.result != "SUCCESS":
            raise ListingRefused(str(signed.transaction_id), signed.result)
        is_listing = is_listing and signed.name == rule.APPROVAL
        if self.stands and is_listing and consensus_at <= self.listed_at:
            return True  # by this one, or by one that came after it
        is_applied = times.just_before(consensus_at) <= self.nft["ledger_at"]
        if is_listing and self.line.is_decided and is_applied and not self.stands:
            raise self._ended()
        is_recent = signed.consensus_at > self.overdue - LONGEST_VALIDITY
        is_open = not self.line.is_decided or self.nft["ledger_at"] == reconciler.NOTHING_DECIDED
        if is_listing and (is_recent or is_open):
            return False
        raise ListingAltered(str(signed.transaction_id), signed.name)

    def expect(self) -> bool:
        """Answer where the ledger shows nothing of it: False while it may still come."""
        is_unnamed = self.transaction_id is not None and not self.named
        if (not self.prepared and not self.named) or (is_unnamed and not self._is_frozen_anew()):
            raise self._not_prepared()
        is_sold = self.line.is_decided and self.nft["owner"] != self.account_id
        if is_sold and self.transaction_id is None:
            raise self._ended()
        meant = [self.named] if self.named else self.prepared
        if not is_unnamed and not any(map(self._is_open, meant)):
            raise ListingRefused(meant[0]["transaction_id"], "TRANSACTION_EXPIRED")
        return False

    def _is_frozen_anew(self) -> bool:
        """Whether a wallet may have given something that was prepared an id of its own, just now."""
        transaction_id = TransactionId.parse(self.transaction_id)
        start = transaction_id.seconds * times.SECOND + transaction_id.nanos
        is_open = abs(start - self.overdue) < LONGEST_VALIDITY
        return transaction_id.account_id == self.account_id and is_open

    def _is_open(self, row: Any) -> bool:
        return row["expires_at"] > times.to_iso(self.overdue)

    def _not_prepared(self) -> ListingNotPrepared:
        keys = self.nft["token"], self.nft["serial_no"]
        return ListingNotPrepared(self.account_id, *keys, self.transaction_id)

    def _ended(self) -> ListingEnded:
        if self.nft["ledger_at"] == reconciler.GONE:
            reason = rule.GONE
        elif self.nft["owner"] != self.account_id:
            reason = f"it belongs to {self.nft['owner']} now"
        else:
            reason = self.line.verdict.reason
        return ListingEnded(self.nft["token"], self.nft["serial_no"], reason)
