"""Prepares what ends an offer: the bidder withdraws it; the owner declines it or takes an acceptance back."""

from functools import partial
from typing import TYPE_CHECKING

from flask import current_app

from marketplace.errors import NeitherBidderNorOwner, OfferEnded, OfferNotDeletable, OfferUnknown
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.ledger import Deadline
from marketplace.ledger.objects import LedgerKey
from marketplace.market.listing.memos import offer_withdrawal_memo
from marketplace.market.listing.prepare import prepare_for_offer
from marketplace.market.listing.prepared import (
    Caller,
    PreparedTransaction,
    TransactionRequest,
    take_turn,
)
from marketplace.market.nfts import find_account_id
from marketplace.market.offers.checks import find_key
from marketplace.market.offers.reconcile import reconcile_offers
from marketplace.services import mirror_node
from marketplace.store.offers import OfferRow

if TYPE_CHECKING:
    from hiero_sdk_python.hapi.services.basic_types_pb2 import Key

# Why nobody can sign an offer any more, as the end of a sentence.
ENDS = {
    "executed": "was accepted already",
    "failed": "was accepted, and the ledger refused the sale",
    "withdrawn": "was withdrawn",
    "expired": "has expired",
}


def withdraw(account_id: str, wallet: str, offer_id: str, caller: Caller) -> PreparedTransaction:
    """Prepare the transaction by which a bidder or an owner deletes an offer's schedule.

    Works for hidden NFTs and blocked accounts, too.
    """
    with take_turn(caller) as deadline:
        account_id = find_account_id(account_id, deadline)
        offer, _ = find_offer(offer_id, deadline)
        if account_id not in (offer["bidder"], offer["seller"]):
            raise NeitherBidderNorOwner(account_id, offer_id, offer["bidder"], offer["seller"])
        require_unended(offer)
        _require_key(account_id, offer, deadline)
    return prepare_withdrawal(account_id, wallet, offer, caller)


def prepare_withdrawal(
    account_id: str, wallet: str, offer: OfferRow, caller: Caller
) -> PreparedTransaction:
    """The same for an offer that was looked at."""
    from marketplace.hedera.transactions import build_offer_withdrawal

    nft_id = NftId(offer["token"], offer["serial_no"])
    request = TransactionRequest(account_id, [nft_id], wallet, caller)
    doing = "Withdrawing" if account_id == offer["bidder"] else "Declining"
    memo = offer_withdrawal_memo(doing, *nft_id, offer["price"], current_app.config["NAME"])
    return prepare_for_offer("offer_withdrawal", request, offer, memo, build_offer_withdrawal)


def find_offer(offer_id: str, deadline: Deadline) -> tuple[OfferRow, str]:
    """Compare an offer with the ledger. Returns its row, and why it is undecided if it is.

    Raises OfferUnknown.
    """
    reconciled = reconcile_offers([offer_id], deadline)[offer_id]
    if reconciled.offer is None:
        raise OfferUnknown(offer_id)
    return reconciled.offer, reconciled.undecided


def require_unended(offer: OfferRow) -> None:
    """Raise OfferEnded if the schedule was executed or deleted, or has expired."""
    state: str = offer["state"]
    if state in ("open", "closed") and offer["expires_at"] <= times.to_iso(times.now()):
        state = "expired"
    if state in ENDS:
        raise OfferEnded(offer["schedule_id"], ENDS[state])


def _require_key(account_id: str, offer: OfferRow, deadline: Deadline) -> None:
    """Raise OfferNotDeletable unless the account's key alone can delete the schedule."""
    schedule, account = mirror_node().ask(
        partial(mirror_node().find_schedule, offer["schedule_id"], deadline),
        partial(mirror_node().find_account, account_id, deadline),
    )
    key = find_key(account) if account else None
    if not (schedule and key and _may_delete(schedule.admin_key, key)):
        raise OfferNotDeletable(account_id, offer["schedule_id"], offer["expires_at"])


def _may_delete(admin_key: LedgerKey | None, key: LedgerKey) -> bool:
    from marketplace.hedera import messages

    return admin_key is not None and _contains(messages.key(*admin_key), messages.key(*key))


def _contains(admin_key: "Key", key: "Key") -> bool:
    """Whether a key is this one, or a list of which this one is enough."""
    if admin_key == key:
        return True
    threshold, keys = admin_key.thresholdKey.threshold, admin_key.thresholdKey.keys.keys
    return threshold == 1 and any(_contains(each, key) for each in keys)
