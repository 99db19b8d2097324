"""Whether a purchase that was reported has come about."""

from flask import current_app

from marketplace.errors import TransactionAltered
from marketplace.ledger.answers import Transaction
from marketplace.market.prepared import Kind
from marketplace.market.reports.report import Report


class PurchaseReport(Report):
    kind = Kind.PURCHASE
    name = "CRYPTOTRANSFER"

    def is_fulfilled(self) -> bool:
        """Tell whether the buyer has it; a purchase that is named is looked up, as it may be sold on."""
        is_had = self.line.is_decided and self.is_theirs
        return self.transaction_id is None and is_had and bool(self.prepared)

    def judge(self, signed: Transaction) -> bool:
        is_paid_here = signed.payer == current_app.config["ACCOUNT_ID"]
        is_moved = is_paid_here and signed.moves(*self.keys, self.account_id)
        if self.is_unnamed and not is_moved:
            raise self.not_prepared()
        if signed.result != "SUCCESS":
            raise self.refused(signed)
        if not is_moved:
            raise TransactionAltered(str(signed.transaction_id), self.kind, signed.name)
        # The buyer had it then, whoever has it now.
        return self.shows(signed) or not self.may_follow(signed)
