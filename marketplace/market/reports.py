"""Answers a report of a signed transaction: the NFT is reconciled first, then compared.

A report names a transaction, or means the newest one that its caller prepared for the account and the NFT.
Anybody may prepare anything in anybody's name: so other callers' transactions count only where the caller
prepared none.
"""

from typing import Any

from marketplace import times
from marketplace.errors import NotPrepared
from marketplace.ids import TransactionId
from marketplace.ledger import Deadline, mirror_node
from marketplace.ledger.mirror_schemas import Transaction
from marketplace.market import reconciler
from marketplace.market.add_nft import find_account_id, require_nft
from marketplace.market.prepare import MIRROR_LAG, OPERATOR, Caller
from marketplace.market.report_kinds import REPORTS, REPORTS_BY_NAME, ListingReport, Report
from marketplace.store import prepared_transactions
from marketplace.store.database import read

Keys = tuple[str, int, str]  # token, serial number, account


def answer(
    account_id: str,
    token: str,
    serial_no: int,
    transaction_id: str | None = None,
    caller: Caller = OPERATOR,
) -> bool:
    """Tell whether a signed transaction had its effect: True, or False while it still may.

    Raises AccountNotOnLedger, NftNotStored, NotPrepared, TransactionRefused with the ledger's result code,
    TransactionAltered, ListingEnded, WithdrawalEnded, and the ledger's own errors.
    """
    deadline = Deadline(reconciler.LEDGER_SECONDS)
    account_id = find_account_id(account_id, deadline)
    require_nft(token, serial_no)
    keys = token, serial_no, account_id
    row = _find_named(keys, transaction_id) if transaction_id else _find_newest(keys, caller)
    # First of all: a transaction that the mirror node had not received by then is not shown afterwards.
    overdue = _find_overdue(row, deadline)
    line = reconciler.refresh(token, serial_no, deadline)
    report = REPORTS[row["kind"] if row else "listing"](
        account_id, transaction_id, row, line, overdue
    )
    if transaction_id and row is None:
        return _answer_unprepared(report, keys, deadline)
    if transaction_id is None and _is_listed_by_the_newest(report, keys):
        return True
    return _answer_prepared(report, deadline)


def _is_listed_by_the_newest(report: Report, keys: Keys) -> bool:
    """Tell whether the newest of all callers' transactions is a listing that stands.

    Only the account itself can sign: it may have come by another access token or address.
    """
    newest = prepared_transactions.get_newest_prepared(read(), *keys)
    if newest is None or newest["kind"] != "listing":
        return False
    found = vars(report) | {"transaction_id": newest["transaction_id"], "row": newest}
    return ListingReport(**found).is_fulfilled()


def _find_named(keys: Keys, transaction_id: str) -> Any:
    """Find the transaction that was prepared under an id; None where none was. Raises NotPrepared."""
    row = prepared_transactions.get_prepared_transaction(read(), transaction_id)
    token, serial_no, account_id = keys
    is_another = row and (row["token"], row["serial_no"], row["account_id"]) != keys
    if is_another or not TransactionId.require(transaction_id).is_possible:
        raise NotPrepared(account_id, token, serial_no, transaction_id)
    return row


def _find_newest(keys: Keys, caller: Caller) -> Any:
    """Find the caller's newest prepared transaction; anybody's, where the caller prepared none."""
    own = prepared_transactions.get_newest_prepared(read(), *keys, by=caller)
    return own or prepared_transactions.get_newest_prepared(read(), *keys)


def _find_overdue(row: Any, deadline: Deadline) -> int:
    """The moment up to which expired transactions have reached the mirror node, or never will."""
    overdue = times.now() - MIRROR_LAG
    if row and row["expires_at"] > times.to_iso(overdue):
        return overdue
    return min(overdue, mirror_node().find_present(deadline) - MIRROR_LAG)


def _answer_unprepared(report: Report, keys: Keys, deadline: Deadline) -> bool:
    """Answer about an id that a wallet made, of a transaction that was prepared under another id."""
    signed = _find_signed(report.transaction_id or "", deadline)
    if signed:
        make = REPORTS_BY_NAME.get(signed.name, ListingReport)
        return make(**vars(report)).judge(signed)
    if not report.is_frozen_anew() or not prepared_transactions.get_newest_prepared(read(), *keys):
        raise report.not_prepared()
    return False


def _answer_prepared(report: Report, deadline: Deadline) -> bool:
    """Answer by the NFT's state of now, or else by the transaction itself."""
    if report.is_fulfilled():
        return True
    if report.row is None:
        raise report.not_prepared()
    signed = _find_signed(report.row["transaction_id"], deadline)
    if signed:
        return report.judge(signed)
    report.require_possible()
    if report.row["expires_at"] > times.to_iso(report.overdue):
        return False  # it may still be submitted, or be shown by the mirror node
    raise report.refused("TRANSACTION_EXPIRED")


def _find_signed(transaction_id: str, deadline: Deadline) -> Transaction | None:
    """Find the transaction that was signed under an id: the success, if there is one."""
    rows = mirror_node().list_transactions(TransactionId.require(transaction_id), deadline)
    originals = [row for row in rows if row.is_original]
    return max(originals, key=lambda row: row.result == "SUCCESS", default=None)
