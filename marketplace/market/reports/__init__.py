"""What a report of something signed is answered: the NFT is brought in line first, then compared."""

from contextlib import suppress
from typing import Any

from marketplace import times
from marketplace.errors import Conflict, LedgerAnswerInvalid, LedgerUnreachable, NotPrepared
from marketplace.ids import TransactionId
from marketplace.ledger import Deadline, mirror_node
from marketplace.ledger.answers import Transaction
from marketplace.market import fees, reconciler, rule
from marketplace.market.nfts import require_nft
from marketplace.market.prepared import MIRROR_LAG, Kind
from marketplace.market.reports.listing import ListingReport
from marketplace.market.reports.purchase import PurchaseReport
from marketplace.market.reports.report import Report
from marketplace.market.reports.withdrawal import WithdrawalReport
from marketplace.store import preparations
from marketplace.store.database import read, write

READ_FOR_EACH_NFT = 10  # of what was prepared for an account, the newest
REPORTS = {report.kind: report for report in (ListingReport, WithdrawalReport, PurchaseReport)}
# What a transaction that was not prepared here may be, by its name on the ledger.
KINDS = {report.name: report.kind for report in REPORTS.values()}


def answer(account_id: str, token: str, serial_no: int, transaction_id: str | None = None) -> bool:
    """Tell whether what was signed has come about: True, or False while it still may.

    Without a transaction id, it is about what was prepared last and not answered with a refusal yet.
    Raises NftNotStored, NotPrepared, TransactionRefused with the ledger's result code, TransactionAltered,
    ListingEnded, WithdrawalEnded, and the ledger's own errors.
    """
    require_nft(token, serial_no)
    keys = token, serial_no, account_id
    prepared = preparations.list_prepared_transactions(read(), *keys, READ_FOR_EACH_NFT)
    named = transaction_id and preparations.get_prepared_transaction(read(), transaction_id)
    if named and (named["token"], named["serial_no"], named["account_id"]) != keys:
        raise NotPrepared(account_id, token, serial_no, transaction_id)
    deadline = Deadline(reconciler.LEDGER_SECONDS)
    # First of all: what the mirror node had not received by then, it does not show afterwards, either.
    overdue = _find_overdue([*prepared, *([named] if named else [])], deadline)
    line = reconciler.refresh(token, serial_no, deadline)

    def report_of(kind: str) -> Report:
        of_kind = [row for row in prepared if row["kind"] == kind]
        return REPORTS[kind](account_id, transaction_id, named, of_kind, line, overdue)

    if transaction_id and not named:
        signed = _find_signed(transaction_id, deadline)
        kind = KINDS.get(signed.name) if signed else None
        report = report_of(kind or _expected_kind(prepared))
        return report.judge(signed) if signed else report.expect()
    report = report_of(named["kind"] if named else _expected_kind(prepared))
    if report.is_fulfilled():
        _learn_fee(report, deadline)
        return True
    return _look_up(report, deadline)


def _expected_kind(prepared: list) -> str:
    """What a report without an id is about, or one with an id that a wallet made."""
    untold = [row for row in prepared if row["result"] is None]
    return next((row["kind"] for row in untold or prepared), Kind.LISTING)


def _find_overdue(prepared: list, deadline: Deadline) -> int:
    """The moment until which all that was valid has reached the mirror node, or never will."""
    overdue = times.now() - MIRROR_LAG
    if any(row["expires_at"] <= times.to_iso(overdue) for row in prepared):
        overdue = min(overdue, mirror_node().find_present(deadline) - MIRROR_LAG)
    return overdue


def _look_up(report: Report, deadline: Deadline) -> bool:
    """Ask the ledger what became of the transactions that may have been meant, one by one."""
    for transaction_id in report.candidates():
        signed = _find_signed(transaction_id, deadline)
        if signed is None:
            continue
        try:
            return report.judge(signed)
        except Conflict:
            with write() as db:  # the next report without an id is about another one
                preparations.mark_result(db, transaction_id, signed.result)
            raise
    return report.expect()


def _learn_fee(report: Report, deadline: Deadline) -> None:
    """Of a purchase that has come about, learn what it cost, so that it is open and reserved no more.

    Where the ledger can not be asked now, the watcher learns it later.
    """
    with suppress(LedgerUnreachable, LedgerAnswerInvalid):
        for row in report.prepared:
            if row["is_settled"] == 0 and _find_signed(row["transaction_id"], deadline):
                return


def _find_signed(transaction_id: str, deadline: Deadline) -> Transaction | None:
    """What was signed under an id, if the ledger shows it; of a purchase, its fee is known then, too."""
    rows: Any = mirror_node().list_transactions(TransactionId.parse(transaction_id), deadline)
    fees.note_charged(transaction_id, rows)
    return rule.find_signed(tuple(rows))
