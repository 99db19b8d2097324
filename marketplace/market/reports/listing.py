"""Whether a listing that was reported stands."""

from marketplace import times
from marketplace.errors import TransactionAltered
from marketplace.ledger.mirror_schemas import Transaction
from marketplace.market import listing_rule
from marketplace.market.memos import read_listing_memo
from marketplace.market.prepare import Kind
from marketplace.market.reports.report import Report


class ListingReport(Report):
    kind = Kind.LISTING
    name = listing_rule.APPROVAL

    def is_fulfilled(self) -> bool:
        """Tell whether it is for sale as the report wants it, under whichever id the wallet submitted it.

        Without an id the question is whether it is for sale at all, whatever was prepared since.
        """
        if self.transaction_id is None:
            return self.stands
        is_that_price = self.row["price"] == self.nft["listing_price"]
        return self.stands and is_that_price and self.row["prepared_at"] <= self.listed_at

    def judge(self, signed: Transaction) -> bool:
        price = read_listing_memo(signed.memo, *self.keys)
        is_listing = price is not None and signed.payer == self.account_id
        self.require_success(signed, is_ours=is_listing)
        is_listing = is_listing and signed.name == self.name
        if self.stands and is_listing and times.to_iso(signed.consensus_at) <= self.listed_at:
            return True  # by this one, or by one that came after it
        if is_listing and self.line.is_decided and self.shows(signed) and not self.stands:
            raise self.ended()
        if is_listing and self.may_follow(signed):
            return False
        raise TransactionAltered(str(signed.transaction_id), self.kind, signed.name)
