"""Whether a purchase that was reported has come about."""

from flask import current_app

from marketplace.errors import TransactionAltered
from marketplace.ledger.mirror_schemas import Transaction
from marketplace.market.prepare import Kind
from marketplace.market.reports.report import Report


class PurchaseReport(Report):
    kind = Kind.PURCHASE
    name = "CRYPTOTRANSFER"

    def is_fulfilled(self) -> bool:
        """Tell nothing: its own transaction says whether it was bought. An owner may have it as a gift."""
        return False

    def require_possible(self) -> None:
        """Raise nothing: the NFT belongs to somebody else until it is bought."""

    def judge(self, signed: Transaction) -> bool:
        is_paid_here = signed.payer == current_app.config["ACCOUNT_ID"]
        is_moved = is_paid_here and signed.moves(*self.keys, self.account_id)
        self.require_success(signed, is_ours=is_moved)
        if not is_moved:
            raise TransactionAltered(str(signed.transaction_id), self.kind, signed.name)
        # The buyer had it then, whoever has it now.
        return self.shows(signed) or not self.may_follow(signed)
