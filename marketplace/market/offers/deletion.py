"""Deletes an offer for the caller who asked for it: a wallet may not sign a ScheduleDelete."""

from functools import partial

from flask import current_app

from marketplace.errors import NotYourOffer, TransactionRefused
from marketplace.hedera import times
from marketplace.hedera.ids import NftId, TransactionId
from marketplace.ledger import Deadline
from marketplace.market import (
    fee_budget,
    mirror_turns,
    purchase_fees,
)
from marketplace.market.memos import offer_withdrawal_memo
from marketplace.market.offers import checks, submission
from marketplace.market.offers.answers import require_unended
from marketplace.market.offers.submission import VALID_SECONDS, Paid
from marketplace.market.prepare import (
    START_BEFORE_NOW,
    Caller,
    Draft,
    PreparedNft,
    TransactionRequest,
    insert,
)
from marketplace.market.purchase_fees import Payer
from marketplace.market.valid_start import find_present
from marketplace.services import mirror_node
from marketplace.store import prepared_transactions
from marketplace.store.database import read, write
from marketplace.store.rows import OfferRow, PreparedTransactionRow

DELETION = "SCHEDULEDELETE"
CENTS = 1  # the network asks for $0.001


def delete(offer_id: str, caller: Caller) -> bool:
    """Delete the schedule of an offer that this caller asked for. Returns whether the ledger shows that.

    False: the mirror node did not show that in time. A repeated request finds it, and submits nothing new.

    Raises OffersOff, OfferUnknown, NotYourOffer, OfferEnded; TooManyPurchases, FeesSpent, OperatorNeeded;
    SignerFailed, NodesUnreachable, TransactionRefused; LedgerBusy, LedgerBehind and the ledger's errors.
    """
    signer = checks.require_signer()
    with mirror_turns.take(caller) as deadline:
        offer = checks.find_offer(offer_id, deadline)
        made = prepared_transactions.get_prepared_transaction(read(), offer["transaction_id"])
        if made is None or (made["caller"], made["end_user"]) != caller:
            raise NotYourOffer(offer_id)
        if offer["state"] == "withdrawn":
            return True
        require_unended(offer)
        present = find_present(deadline)
        payer = purchase_fees.find_payer(deadline)
        fee = mirror_node().find_price(CENTS, deadline)
    request = TransactionRequest(
        current_app.config["ACCOUNT_ID"],
        [NftId(offer["token"], offer["serial_no"])],
        made["wallet"],
        caller,
    )
    row, is_new = _reserve(request, offer, payer, present, fee)
    if row["signed"] or is_new or submission.is_left(row):
        build = partial(_build, row=row, offer_id=offer_id)
        submission.hand_over(Paid("deleteSchedule", row, build, signer, payer))
    look = partial(_find_deleted, row, offer_id)
    return bool(submission.wait_for(caller, look))


def _reserve(
    request: TransactionRequest, offer: OfferRow, payer: Payer, present: int, fee: int
) -> tuple[PreparedTransactionRow, bool]:
    """Return an equal request's row, or insert one that reserves the fee; and whether the row is new."""
    now, market = times.now(), request.account_id
    start = min(present, now - START_BEFORE_NOW)
    nft_id, by = request.nft_ids[0], (request.caller.token, request.caller.end_user)
    memo = offer_withdrawal_memo(*nft_id, offer["price"], current_app.config["NAME"])
    draft = Draft(
        "offer_deletion",
        market,
        memo,
        now,
        start,
        VALID_SECONDS,
        fee,
        schedule_id=offer["schedule_id"],
    )
    nft = PreparedNft(*nft_id, offer["price"], offer["seller"])
    with write() as db:
        prepared_transactions.lock_purchases(db, payer.balance)
        known = prepared_transactions.get_newest_of_schedule(db, offer["schedule_id"], market, by)
        if known and not known["is_settled"] and known["expires_at"] > times.to_iso(now):
            return known, False
        fee_budget.require_room(db, request, fee, payer.balance)
        return insert(db, request, [nft], draft), True


def _build(node: str, *, row: PreparedTransactionRow, offer_id: str) -> bytes:
    from marketplace.hedera.transactions import build_offer_deletion

    return build_offer_deletion(schedule_id=offer_id, **submission.find_envelope(row, node))


def _find_deleted(row: PreparedTransactionRow, offer_id: str, deadline: Deadline) -> bool | None:
    """Whether the ledger shows the deletion. Raises TransactionRefused or OfferEnded."""
    transaction_id = TransactionId.require(row["transaction_id"])
    rows = mirror_node().list_transactions(transaction_id, deadline)
    deleted = [each for each in rows if each.name == DELETION and each.is_original]
    if not deleted:
        return None
    purchase_fees.note_charged(row["transaction_id"], rows)
    offer = checks.find_offer(offer_id, deadline)
    if offer["state"] == "withdrawn":
        return True
    require_unended(offer)
    if all(each.result != "SUCCESS" for each in deleted):
        raise TransactionRefused(row["transaction_id"], "deletion of the offer", deleted[0].result)
    return None
