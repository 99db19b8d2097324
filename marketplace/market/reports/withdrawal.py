"""Whether a withdrawal that was reported has come about."""

from marketplace import times
from marketplace.errors import TransactionAltered, WithdrawalEnded
from marketplace.ledger.mirror_schemas import Transaction
from marketplace.market.memos import is_withdrawal_memo
from marketplace.market.prepare import Kind
from marketplace.market.reports.report import Report


class WithdrawalReport(Report):
    kind = Kind.WITHDRAWAL
    name = "CRYPTODELETEALLOWANCE"

    def is_fulfilled(self) -> bool:
        """Tell whether its owner has it, and sells it no more, whatever took it off: but a sale did not."""
        return self.is_off and self.is_theirs

    @property
    def is_off(self) -> bool:
        """Whether that account sells it no more, be it its owner still or not."""
        return self.line.is_decided and not self.stands

    def judge(self, signed: Transaction) -> bool:
        is_ours = is_withdrawal_memo(signed.memo, *self.keys) and signed.payer == self.account_id
        self.require_success(signed, is_ours=is_ours)
        if is_ours and signed.name == self.name:
            if self.is_off:
                return True
            if self.stands and times.to_iso(signed.consensus_at) < self.listed_at:
                raise WithdrawalEnded(*self.keys, self.listed_at)
            if self.may_follow(signed):
                return False
        raise TransactionAltered(str(signed.transaction_id), self.kind, signed.name)
