"""What follows a signature: submits what is handed in, and tells whether a transaction had its effect.

A report names a transaction, or means the newest one that its caller prepared for the account and each NFT.
Anybody may prepare a transaction for any account, so other callers' transactions count only if the caller
prepared none. Its NFTs are reconciled, and then judged by the rule of a report; offers/report.py answers what
is about an offer.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from flask import current_app

from marketplace.errors import (
    FieldInvalid,
    LedgerAnswerInvalid,
    LedgerBusy,
    MarketplaceError,
    NotAsPrepared,
    NotPrepared,
    TransactionExpired,
    Unavailable,
)
from marketplace.hedera import times
from marketplace.hedera.ids import NftId, TransactionId
from marketplace.ledger import Deadline
from marketplace.ledger.objects import Transaction
from marketplace.market import nodes, reconciler
from marketplace.market.buying import fees, purchase
from marketplace.market.offers import report as offers
from marketplace.market.report_rule import (
    NAMES,
    ReconciledNft,
    Report,
    ReportAnswer,
    ReportOutcome,
    find_executed,
    find_latest_expiry,
    is_as_wanted,
    judge,
)
from marketplace.market.requests import (
    Caller,
    MarketRequest,
    begin,
    for_each,
    require_nfts,
)
from marketplace.services import mirror_node, read
from marketplace.store import prepared_transactions
from marketplace.store.nfts import NftRow
from marketplace.store.prepared_transactions import (
    Kind,
    PreparedNftRow,
    PreparedTransactionRow,
)

if TYPE_CHECKING:  # the SDK takes 70 MB
    from marketplace.hedera.signatures import SignedBody

FindRows = Callable[[str], list[Transaction]]  # of a transaction id
KINDS: dict[str, Kind] = {name: kind for kind, name in NAMES.items()}


class Judged(NamedTuple):
    """Whether a transaction had its effect on one NFT, or may still have it."""

    kind: Kind
    outcome: ReportOutcome
    nft: NftRow
    expires_at: str | None


def hand_in(
    request: MarketRequest, transaction: bytes, signature_map: bytes, offer_id: str | None
) -> ReportAnswer:
    """Submit a signed transaction, and tell whether the ledger shows its effect already.

    ``signature_map``: further signatures. Raises FieldInvalid, and the errors of a purchase and of a report.
    """
    from marketplace.hedera import signatures

    try:
        handed_in = signatures.read(transaction, signature_map)
    except signatures.Unreadable as error:
        message = f"must be a signed transaction: {error}"
        raise FieldInvalid({"json": {"signedTransaction": [message]}}) from None
    is_purchase = handed_in.transaction_id.account_id == current_app.config["ACCOUNT_ID"]
    if is_purchase and request.nft_ids:
        row, is_new = purchase.sign_and_submit(request, handed_in)
    else:
        row, is_new = _submit_unchanged(handed_in), True
    if is_new and not _is_on_ledger(handed_in.transaction_id, request.caller):
        return ReportAnswer(True, expires_at=row["expires_at"])
    return answer(request, str(handed_in.transaction_id), offer_id)


def _submit_unchanged(handed_in: "SignedBody") -> PreparedTransactionRow:
    """Submit a transaction that its signer pays for, if it was prepared here, byte for byte."""
    from marketplace.hedera import signatures
    from marketplace.hedera.transactions import list_forms

    id = str(handed_in.transaction_id)
    row = prepared_transactions.get_prepared_transaction(read(), id)
    kind = row["kind"].replace("_", " ") if row else "transaction"
    if (
        row is None
        or row["unsigned"] is None
        or handed_in.body not in list_forms(signatures.read(bytes(row["unsigned"])).body)
    ):
        raise NotAsPrepared(id, kind)
    if row["expires_at"] <= times.to_iso(times.now()):
        raise TransactionExpired(id, kind)
    transaction = signatures.write(handed_in.body, handed_in.pairs)
    nodes.submit(transaction, handed_in.node, id, kind)
    return row


def _is_on_ledger(transaction_id: TransactionId, caller: Caller) -> bool:
    """Look once: what was just submitted is shown some seconds later."""
    payer = MarketRequest(transaction_id.account_id, caller=caller)
    try:
        with begin(payer) as (_, deadline):
            return bool(mirror_node().list_transactions(transaction_id, deadline))
    except (LedgerBusy, LedgerAnswerInvalid, Unavailable):
        return False


def answer(
    request: MarketRequest, transaction_id: str | None = None, offer_id: str | None = None
) -> ReportAnswer:
    """Tell whether a signed transaction had its effect on all NFTs, or on its offer."""
    with begin(request) as (request, deadline):
        row = _find_of_offer(request, transaction_id, offer_id)
        if about := offer_id or (row and row["schedule_id"]):
            return offers.answer(request, about, row, transaction_id, deadline)
        if row:
            return offers.answer_new(row, transaction_id, deadline)
        judged = _judge_all(request, transaction_id, deadline)
    pending = [each for each in judged if each.outcome is ReportOutcome.PENDING]
    if pending:
        return ReportAnswer(True, expires_at=max(each.expires_at or "" for each in pending) or None)
    prices = {each.nft["listing_price"] if each.kind == "listing" else None for each in judged}
    return ReportAnswer(False, prices.pop() if len(prices) == 1 else None)


def _find_of_offer(
    request: MarketRequest, transaction_id: str | None, offer_id: str | None
) -> PreparedTransactionRow | None:
    """Find the transaction about an offer that a report means: by its id, or else the account's newest one.

    None: none was prepared, or something else is meant. A report of an NFT means the offer for it, unless its
    caller has prepared a listing or a purchase later.
    """
    account_id, nft_ids, caller = request
    if len(nft_ids) > 1:
        return None
    store, named = prepared_transactions, None
    if transaction_id:
        named = store.get_prepared_transaction(read(), transaction_id)
    is_own = named and named["account_id"] == account_id and named["kind"] in offers.WANTED
    if named and is_own and offer_id in (None, named["schedule_id"]):
        return named
    if offer_id:
        find = partial(store.get_newest_of_schedule, read(), offer_id, account_id)
        return find(by=caller) or find()
    # A wallet may have replaced an id by another one of its account.
    id = TransactionId.require(transaction_id) if transaction_id else None
    is_another = id and (id.account_id != account_id or not id.is_possible)
    if named or is_another or not nft_ids:
        return None
    newest = store.get_newest_prepared(read(), *nft_ids[0], account_id, caller, with_offers=True)
    return newest if newest and newest["kind"] == "offer" else None


def _judge_all(
    request: MarketRequest, transaction_id: str | None, deadline: Deadline
) -> list[Judged]:
    account_id, nft_ids, caller = request
    stored = require_nfts(nft_ids)

    def find_row(nft_id: NftId) -> PreparedNftRow | None:
        if transaction_id:
            return _find_named(nft_id, account_id, transaction_id)
        own = prepared_transactions.get_newest_prepared(read(), *nft_id, account_id, by=caller)
        return own or prepared_transactions.get_newest_prepared(read(), *nft_id, account_id)

    @cache
    def find_rows(transaction_id: str) -> list[Transaction]:
        return mirror_node().list_transactions(TransactionId.require(transaction_id), deadline)

    rows = dict(zip(nft_ids, for_each(nft_ids, find_row), strict=True))
    # Find this first: a transaction that expired before it is shown by the reads that follow, or never.
    overdue_before = _find_overdue(rows.values(), deadline)
    reconciled = reconciler.reconcile(nft_ids, deadline)
    market = current_app.config["ACCOUNT_ID"]

    def judge_one(nft_id: NftId) -> Judged:
        report = Report(account_id, market, transaction_id, rows[nft_id])
        nft = ReconciledNft(reconciled[nft_id].nft or stored[nft_id], reconciled[nft_id])
        return _judge_one(report, nft, overdue_before, find_rows)

    return for_each(nft_ids, judge_one)


def _judge_one(
    report: Report, nft: ReconciledNft, overdue_before: int, find_rows: FindRows
) -> Judged:
    """Find the transaction that a report means, and judge the report. Raises the outcome's error."""
    kind, row, executed = report.row["kind"] if report.row else "listing", report.row, None
    is_named = report.transaction_id is not None
    newest = None
    if not is_named or row is None:
        newest = prepared_transactions.get_newest_prepared(read(), *nft.nft_id, report.account_id)
    if report.transaction_id and row is None:
        # The wallet may have replaced the prepared id with its own.
        executed = find_executed(find_rows(report.transaction_id))
        kind = KINDS.get(executed.name, "listing") if executed else kind
        report = report._replace(newest=newest)
    elif not is_named and _is_in_force(newest, report, nft):
        kind = "listing"
        report = report._replace(row=newest)
    elif row and not is_as_wanted(kind, report, nft):
        found = find_rows(row["transaction_id"])
        executed = find_executed(found)
        if kind == "purchase":
            with suppress(Unavailable):  # then the watcher does it later
                fees.note_charged(row["transaction_id"], found)
    outcome = judge(kind, report, nft, executed, overdue_before)
    if isinstance(outcome, MarketplaceError):
        raise outcome
    return Judged(kind, outcome, nft.row, _find_expiry(report))


def _is_in_force(newest: PreparedNftRow | None, report: Report, nft: ReconciledNft) -> bool:
    """Tell whether the newest of all callers' transactions is a listing in force.

    Only the account itself can have signed it, though it may have used another access token or address.
    """
    if newest is None or newest["kind"] != "listing":
        return False
    named = report._replace(transaction_id=newest["transaction_id"], row=newest)
    return is_as_wanted("listing", named, nft)


def _find_expiry(report: Report) -> str | None:
    """The latest submission date. A wallet's own transaction gets the longest possible validity."""
    if report.row:
        return report.row["expires_at"]
    if report.transaction_id is None:
        return None
    return find_latest_expiry(report.transaction_id)


def _find_named(nft_id: NftId, account_id: str, transaction_id: str) -> PreparedNftRow | None:
    """Find the transaction that was prepared under an id, or None.

    Raises NotPrepared if it is of other NFTs or another account, or if the id is impossible.
    """
    prepared = prepared_transactions.get_prepared_transaction(read(), transaction_id)
    row = prepared_transactions.get_prepared_nft(read(), transaction_id, *nft_id)
    is_another = prepared and (row is None or row["account_id"] != account_id)
    if is_another or not TransactionId.require(transaction_id).is_possible:
        raise NotPrepared(account_id, *nft_id, transaction_id)
    return row


def _find_overdue(rows: Iterable[PreparedNftRow | None], deadline: Deadline) -> int:
    """The mirror node will show no further transaction that expired before this moment."""
    overdue = times.now() - times.ALLOWED_LAG
    if all(row and row["expires_at"] > times.to_iso(overdue) for row in rows):
        return overdue
    return min(overdue, mirror_node().find_present(deadline) - times.ALLOWED_LAG)
