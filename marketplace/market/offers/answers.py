"""Prepares what an NFT's owner signs to accept an offer, and what a bidder signs to withdraw it."""

from flask import current_app

from marketplace.errors import (
    NotTheBidder,
    NotTheOwner,
    OfferEnded,
    OfferNotSigned,
    OfferPriceOther,
    WithdrawalNeedsMarketplace,
)
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.ledger import Deadline
from marketplace.market import mirror_turns
from marketplace.market.add_nft import find_account_id
from marketplace.market.memos import acceptance_memo, offer_withdrawal_memo
from marketplace.market.moderation import require_not_blocked, require_shown
from marketplace.market.offers import checks
from marketplace.market.offers.cover import look_at_cover
from marketplace.market.prepare import Caller, PreparedTransaction, TransactionRequest
from marketplace.market.unsigned_transactions import prepare_for_offer
from marketplace.services import mirror_node
from marketplace.store.rows import OfferRow

# Why nobody can sign an offer any more, as the end of a sentence.
ENDS = {
    "executed": "was accepted already",
    "failed": "was accepted, and the ledger refused the sale",
    "withdrawn": "was withdrawn",
    "expired": "has expired",
}


def accept(
    account_id: str, wallet: str, offer_id: str, expected_price: int | None, caller: Caller
) -> PreparedTransaction:
    """Prepare the signature by which an NFT's owner accepts an offer.

    Raises OffersOff, OfferUnknown, Hidden, AccountBlocked, AccountNotOnLedger, NftGone, NotTheOwner,
    OfferNotSigned, OfferEnded, OfferPriceOther; the errors of checks.require_possible(); LedgerBusy,
    LedgerBehind, LedgerUndecided and the ledger's errors.
    """
    from marketplace.hedera.transactions import build_offer_signature

    checks.require_on()
    with mirror_turns.take(caller) as deadline:
        account_id = find_account_id(account_id, deadline)
        offer = checks.find_offer(offer_id, deadline)
        nft_id = NftId(offer["token"], offer["serial_no"])
        require_shown(*nft_id)
        for side in (account_id, offer["bidder"]):
            require_not_blocked(side)
        require_unended(offer)
        if offer["state"] == "unsigned":
            raise OfferNotSigned(offer_id)
        nft = checks.find_owned(nft_id, deadline)
        if account_id != nft["owner"]:
            raise NotTheOwner(account_id, *nft_id, nft["owner"])
        if account_id != offer["seller"]:
            raise OfferEnded(offer_id, f"was made to {offer['seller']}, who sold the NFT since")
        if expected_price not in (None, offer["price"]):
            raise OfferPriceOther(offer_id, offer["price"], expected_price)
        look_at_cover(offer, deadline)
        checks.require_possible(nft, offer["bidder"], offer["price"], deadline)
    request = TransactionRequest(account_id, [nft_id], wallet, caller)
    memo = acceptance_memo(*nft_id, offer["price"], current_app.config["NAME"])
    return prepare_for_offer("acceptance", request, offer, memo, build_offer_signature)


def withdraw(account_id: str, wallet: str, offer_id: str, caller: Caller) -> PreparedTransaction:
    """Prepare the transaction by which a bidder deletes an offer's schedule.

    Works for hidden NFTs and blocked accounts, too. Raises OffersOff, OfferUnknown,
    AccountNotOnLedger, NotTheBidder, OfferEnded, WithdrawalNeedsMarketplace; LedgerBusy, LedgerBehind and the
    ledger's errors.
    """
    from marketplace.hedera.transactions import build_offer_withdrawal

    checks.require_on()
    with mirror_turns.take(caller) as deadline:
        account_id = find_account_id(account_id, deadline)
        offer = checks.find_offer(offer_id, deadline)
        if account_id != offer["bidder"]:
            raise NotTheBidder(account_id, offer_id, offer["bidder"])
        require_unended(offer)
        _require_key(offer, deadline)
    nft_id = NftId(offer["token"], offer["serial_no"])
    request = TransactionRequest(account_id, [nft_id], wallet, caller)
    memo = offer_withdrawal_memo(*nft_id, offer["price"], current_app.config["NAME"])
    return prepare_for_offer("offer_withdrawal", request, offer, memo, build_offer_withdrawal)


def require_unended(offer: OfferRow) -> None:
    """Raise OfferEnded if the schedule was executed or deleted, or has expired."""
    state = offer["state"]
    if state in ("unsigned", "signed") and offer["expires_at"] <= times.to_iso(times.now()):
        state = "expired"
    if state in ENDS:
        raise OfferEnded(offer["schedule_id"], ENDS[state])


def _require_key(offer: OfferRow, deadline: Deadline) -> None:
    """Raise WithdrawalNeedsMarketplace unless the bidder's key can delete the schedule."""
    schedule = mirror_node().find_schedule(offer["schedule_id"], deadline)
    bidder = mirror_node().find_account(offer["bidder"], deadline)
    key = bidder.key if bidder else None
    is_unsigned = key is None and offer["state"] == "unsigned"  # in the sandbox
    if is_unsigned or (schedule and key and checks.has_key(schedule.admin_key, key.content)):
        return
    raise WithdrawalNeedsMarketplace(offer["schedule_id"])
