"""Answers a report of a signed transaction: reconciles its NFTs, then compares each with the transaction.

A report names a transaction, or means the newest one that its caller prepared for the account and each NFT.
Anybody may prepare a transaction for any account, so other callers' transactions count only if the caller
prepared none.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple

from marketplace.errors import NotPrepared
from marketplace.hedera import times
from marketplace.hedera.ids import NftId, TransactionId
from marketplace.ledger import ALLOWED_LAG, Deadline
from marketplace.ledger.mirror_schemas import Transaction
from marketplace.market import mirror_turns, reconciler
from marketplace.market.add_nft import find_account_id, require_nfts
from marketplace.market.prepare import OPERATOR, Caller
from marketplace.market.report_kinds import REPORTS, REPORTS_BY_NAME, ListingReport, Report
from marketplace.market.several import for_each
from marketplace.services import mirror_node
from marketplace.store import prepared_transactions
from marketplace.store.database import read
from marketplace.store.rows import NftRow, PreparedNftRow

FindSigned = Callable[[str], Transaction | None]  # by its transaction id


class Subject(NamedTuple):
    """What a report is about."""

    token: str
    serial_no: int
    account_id: str


def answer(
    account_id: str,
    nft_ids: Sequence[NftId],
    transaction_id: str | None = None,
    caller: Caller = OPERATOR,
) -> bool:
    """Tell whether a signed transaction had its effect on all NFTs; False while it may still come.

    Raises AccountNotOnLedger, NftNotStored, NotPrepared, TransactionRefused with the ledger's result code,
    TransactionExpired, TransactionAltered, ListingEnded, WithdrawalEnded, LedgerBusy, and the ledger's own
    errors.
    """
    stored = require_nfts(nft_ids)
    questions = mirror_turns.count_report(account_id, stored.values())
    with mirror_turns.take(caller, questions) as deadline:
        account_id = find_account_id(account_id, deadline)
        return _answer(account_id, stored, transaction_id, caller, deadline)


def _answer(
    account_id: str,
    stored: Mapping[NftId, NftRow],
    transaction_id: str | None,
    caller: Caller,
    deadline: Deadline,
) -> bool:
    nft_ids = [*stored]
    subjects = {nft_id: Subject(*nft_id, account_id) for nft_id in nft_ids}

    def find_row(nft_id: NftId) -> PreparedNftRow | None:
        subject = subjects[nft_id]
        return (
            _find_named(subject, transaction_id)
            if transaction_id
            else _find_newest(subject, caller)
        )

    rows = dict(zip(nft_ids, for_each(nft_ids, find_row), strict=True))
    # Read first: a transaction that expired before this moment and is not shown afterwards never will be.
    overdue = _find_overdue(rows.values(), deadline)
    reconciled = reconciler.refresh_all(nft_ids, deadline)
    find_signed = cache(partial(_find_signed, deadline=deadline))

    def answer_one(nft_id: NftId) -> bool:
        row = rows[nft_id]
        report = REPORTS[row["kind"] if row else "listing"](
            account_id,
            transaction_id,
            row,
            reconciled[nft_id].nft or stored[nft_id],
            reconciled[nft_id],
            overdue,
        )
        if transaction_id and row is None:
            return _answer_unprepared(report, transaction_id, subjects[nft_id], find_signed)
        if transaction_id is None and _is_listed_by_the_newest(report, subjects[nft_id]):
            return True
        return _answer_prepared(report, find_signed)

    return all(for_each(nft_ids, answer_one))


def _is_listed_by_the_newest(report: Report, subject: Subject) -> bool:
    """Tell whether the newest of all callers' transactions is a listing in force.

    Only the account itself can have signed it, though it may have used another access token or address.
    """
    newest = prepared_transactions.get_newest_prepared(read(), *subject)
    if newest is None or newest["kind"] != "listing":
        return False
    return ListingReport(
        report.account_id,
        newest["transaction_id"],
        newest,
        report.nft,
        report.reconciled,
        report.overdue,
    ).is_fulfilled()


def _find_named(subject: Subject, transaction_id: str) -> PreparedNftRow | None:
    """Find the transaction that was prepared under an id, or None.

    Raises NotPrepared if it is of other NFTs or another account, or if the id is impossible.
    """
    prepared = prepared_transactions.get_prepared_transaction(read(), transaction_id)
    row = prepared_transactions.get_prepared_nft(
        read(), transaction_id, subject.token, subject.serial_no
    )
    is_another = prepared and (row is None or row["account_id"] != subject.account_id)
    if is_another or not TransactionId.require(transaction_id).is_possible:
        raise NotPrepared(subject.account_id, subject.token, subject.serial_no, transaction_id)
    return row


def _find_newest(subject: Subject, caller: Caller) -> PreparedNftRow | None:
    """Find the caller's newest prepared transaction, or anybody's if the caller prepared none."""
    own = prepared_transactions.get_newest_prepared(read(), *subject, by=caller)
    return own or prepared_transactions.get_newest_prepared(read(), *subject)


def _find_overdue(rows: Iterable[PreparedNftRow | None], deadline: Deadline) -> int:
    """The moment before which expired transactions are on the mirror node, or never will be."""
    overdue = times.now() - ALLOWED_LAG
    if all(row and row["expires_at"] > times.to_iso(overdue) for row in rows):
        return overdue
    return min(overdue, mirror_node().find_present(deadline) - ALLOWED_LAG)


def _answer_unprepared(
    report: Report, transaction_id: str, subject: Subject, find_signed: FindSigned
) -> bool:
    """Answer for an id that was not prepared: the wallet may have replaced the prepared id by its own."""
    signed = find_signed(transaction_id)
    if signed:
        make = REPORTS_BY_NAME.get(signed.name, ListingReport)
        return make(
            report.account_id,
            transaction_id,
            None,
            report.nft,
            report.reconciled,
            report.overdue,
        ).judge(signed)
    if not report.is_wallet_id() or not prepared_transactions.get_newest_prepared(read(), *subject):
        raise report.not_prepared()
    return False


def _answer_prepared(report: Report, find_signed: FindSigned) -> bool:
    """Answer by the NFT's current state, or else by the transaction itself."""
    if report.is_fulfilled():
        return True
    if report.row is None:
        raise report.not_prepared()
    signed = find_signed(report.row["transaction_id"])
    if signed:
        return report.judge(signed)
    report.require_possible()
    if report.row["expires_at"] > times.to_iso(report.overdue):
        return False  # it may still be submitted, or be shown by the mirror node
    raise report.expired()


def _find_signed(transaction_id: str, deadline: Deadline) -> Transaction | None:
    """Find the transaction that was signed under an id: the successful one, if there is one."""
    rows = mirror_node().list_transactions(TransactionId.require(transaction_id), deadline)
    originals = [row for row in rows if row.is_original]
    return max(originals, key=lambda row: row.result == "SUCCESS", default=None)
