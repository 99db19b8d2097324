"""Prepares offers, and what is signed about one: the owner's acceptance, and the withdrawal of either side.

The bidder's wallet signs and submits a schedule of the sale, and pays for it.
"""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from flask import current_app

from marketplace.errors import (
    LedgerUndecided,
    NeitherBidderNorOwner,
    NotTheOwner,
    OfferEnded,
    OfferNotDeletable,
    OfferPriceOther,
    OfferUnknown,
)
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.ledger import Deadline
from marketplace.market.buying import fees
from marketplace.market.memos import acceptance_memo, offer_memo, offer_withdrawal_memo
from marketplace.market.offers import checks
from marketplace.market.offers.checks import Sides
from marketplace.market.offers.reconciler import reconcile_offers
from marketplace.market.offers.rule import ENDS, read_part
from marketplace.market.prepared import (
    PreparedNft,
    PreparedTransaction,
    prepare_for_offer,
    prepare_unsigned,
)
from marketplace.market.requests import (
    MarketRequest,
    begin,
    require_nfts,
    require_none_hidden,
    require_not_blocked,
    require_not_hidden,
)
from marketplace.services import mirror_node
from marketplace.store.offers import OfferRow

if TYPE_CHECKING:  # the SDK takes 70 MB
    from hiero_sdk_python.hapi.services.basic_types_pb2 import Key

    from marketplace.hedera.transactions import ScheduledSale

DAY_SECONDS = times.DAY // times.SECOND


def make(request: MarketRequest, price: int, days: int) -> PreparedTransaction:
    """Prepare the bidder's schedule of the sale of one NFT, for a price in HBAR."""
    from marketplace.hedera.transactions import build_offer

    require_none_hidden(request.nft_ids)
    require_nfts(request.nft_ids)
    [nft_id] = request.nft_ids
    with begin(request) as (request, deadline):
        require_not_blocked(request.account_id)
        nft = checks.find_owned(nft_id, deadline)
        seller = nft["owner"]
        require_not_blocked(seller)
        part = checks.find_part(price)
        sides = checks.require_possible(nft, request.account_id, price, part, deadline)
    sale = make_sale(nft_id, seller, request.account_id, price)
    build = partial(
        build_offer,
        sale=sale,
        expires_at=times.now() // times.SECOND + days * DAY_SECONDS,
        admin_keys=_list_admin_keys(sides),
    )
    nfts = [PreparedNft(*nft_id, price, seller)]
    return prepare_unsigned("offer", request, nfts, sale.memo, build)


def make_sale(nft_id: NftId, seller: str, bidder: str, price: int) -> "ScheduledSale":
    """The sale that an offer's schedule executes. ``price``: in HBAR."""
    from marketplace.hedera.transactions import ScheduledSale

    market, name = current_app.config["ACCOUNT_ID"], current_app.config["NAME"]
    memo = offer_memo(*nft_id, price, name)
    part = 0 if seller == market else checks.find_part(price)
    return ScheduledSale(*nft_id, seller, bidder, price, part, market, memo, fees.max_fee(1))


def _list_admin_keys(sides: Sides) -> "list[Key]":
    """The keys that can each delete the schedule: the bidder withdraws the offer, the owner declines it."""
    from marketplace.hedera import transactions

    found = map(checks.find_key, (sides.bidder, sides.owner))
    return [transactions.make_key(*key) for key in found if key]


def accept(
    request: MarketRequest, offer_id: str, expected_price: int | None
) -> PreparedTransaction:
    """Prepare the signature by which an NFT's owner accepts an offer."""
    from marketplace.hedera.transactions import build_offer_signature

    with begin(request) as (request, deadline):
        account_id = request.account_id
        offer, undecided = find_offer(offer_id, deadline)
        nft_id = NftId(offer["token"], offer["serial_no"])
        require_not_hidden(*nft_id)
        for side in (account_id, offer["bidder"]):
            require_not_blocked(side)
        require_unended(offer)
        nft = checks.find_owned(nft_id, deadline)
        if account_id != nft["owner"]:
            raise NotTheOwner(account_id, *nft_id, nft["owner"])
        if account_id != offer["seller"]:
            raise OfferEnded(offer_id, f"was made to {offer['seller']}, who sold the NFT since")
        if expected_price not in (None, offer["price"]):
            raise OfferPriceOther(offer_id, offer["price"], expected_price)
        _require_open(offer, undecided)
        checks.look_at_cover(offer, deadline)
        part = read_part(bytes(offer["body"]), current_app.config["ACCOUNT_ID"])
        sides = checks.require_possible(nft, offer["bidder"], offer["price"], part, deadline)
    memo = acceptance_memo(*nft_id, offer["price"], current_app.config["NAME"])
    prepared = prepare_for_offer("acceptance", request, offer, memo, build_offer_signature)
    return replace(prepared, seller_receives=sides.received)


def _require_open(offer: OfferRow, undecided: str) -> None:
    """Raise OfferEnded or LedgerUndecided unless the owner's signature would execute the sale.

    If the bidder's key is another one by then, the signature stays on the schedule: until the offer expires,
    the bidder could have the NFT for this price. So a change within the last 90 seconds is waited for.
    """
    if offer["state"] == "closed":
        reason = "is closed: its bidder's account has another key, or the marketplace asks for a larger part"
        raise OfferEnded(offer["schedule_id"], reason)
    if undecided:
        raise LedgerUndecided(offer["token"], offer["serial_no"], undecided)


def withdraw(request: MarketRequest, offer_id: str) -> PreparedTransaction:
    """Prepare the transaction by which a bidder or an owner deletes an offer's schedule.

    Works for hidden NFTs and blocked accounts, too.
    """
    with begin(request) as (request, deadline):
        account_id = request.account_id
        offer, _ = find_offer(offer_id, deadline)
        if account_id not in (offer["bidder"], offer["seller"]):
            raise NeitherBidderNorOwner(account_id, offer_id, offer["bidder"], offer["seller"])
        require_unended(offer)
        _require_key(account_id, offer, deadline)
    return prepare_withdrawal(request, offer)


def prepare_withdrawal(request: MarketRequest, offer: OfferRow) -> PreparedTransaction:
    """The same for an offer that was looked at."""
    from marketplace.hedera.transactions import build_offer_withdrawal

    nft_id = NftId(offer["token"], offer["serial_no"])
    doing = "Withdrawing" if request.account_id == offer["bidder"] else "Declining"
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
    if end := ENDS.get(state):
        raise OfferEnded(offer["schedule_id"], end.reason)


def _require_key(account_id: str, offer: OfferRow, deadline: Deadline) -> None:
    """Raise OfferNotDeletable unless the account's key alone can delete the schedule."""
    from marketplace.hedera.signatures import list_alternatives
    from marketplace.hedera.transactions import make_key

    schedule, account = mirror_node().ask(
        partial(mirror_node().find_schedule, offer["schedule_id"], deadline),
        partial(mirror_node().find_account, account_id, deadline),
    )
    key = checks.find_key(account) if account else None
    admin_key = schedule.admin_key if schedule else None
    if not (key and admin_key and make_key(*key) in list_alternatives(make_key(*admin_key))):
        raise OfferNotDeletable(account_id, offer["schedule_id"], offer["expires_at"])
