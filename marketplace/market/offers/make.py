"""Prepares offers: the bidder's wallet signs and submits a schedule of the sale, and pays for it."""

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from flask import current_app

from marketplace.hedera import times
from marketplace.market.buying import fees
from marketplace.market.listing.memos import offer_memo
from marketplace.market.listing.prepare import prepare_unsigned
from marketplace.market.listing.prepared import (
    PreparedNft,
    PreparedTransaction,
    TransactionRequest,
    take_turn,
)
from marketplace.market.moderation import require_not_blocked
from marketplace.market.nfts import find_account_id, require_all_shown, require_nfts
from marketplace.market.offers import checks
from marketplace.market.offers.checks import Sides

if TYPE_CHECKING:
    from hiero_sdk_python.hapi.services.basic_types_pb2 import Key

DAY_SECONDS = times.DAY // times.SECOND


class OfferTerms(NamedTuple):
    """What a bidder wants to offer."""

    price: int  # HBAR
    days: int  # until it expires


def make(request: TransactionRequest, terms: OfferTerms) -> PreparedTransaction:
    """Prepare the bidder's schedule of the sale of one NFT."""
    from marketplace.hedera.scheduled_sale import ScheduledSale
    from marketplace.hedera.transactions import build_offer

    require_all_shown(request.nft_ids)
    require_nfts(request.nft_ids)
    [nft_id], price, settings = request.nft_ids, terms.price, current_app.config
    part = checks.find_part(price)
    with take_turn(request.caller) as deadline:
        request = request._replace(account_id=find_account_id(request.account_id, deadline))
        require_not_blocked(request.account_id)
        nft = checks.find_owned(nft_id, deadline)
        seller = nft["owner"]
        require_not_blocked(seller)
        sides = checks.require_possible(nft, request.account_id, price, part, deadline)
    memo = offer_memo(*nft_id, price, settings["NAME"])
    sale = ScheduledSale(
        *nft_id,
        seller,
        request.account_id,
        price,
        0 if seller == settings["ACCOUNT_ID"] else part,
        settings["ACCOUNT_ID"],
        memo,
        fees.max_fee(1),
    )
    build = partial(
        build_offer,
        sale=sale,
        expires_at=times.now() // times.SECOND + terms.days * DAY_SECONDS,
        admin_keys=_list_admin_keys(sides),
    )
    nfts = [PreparedNft(*nft_id, price, seller)]
    return prepare_unsigned("offer", request, nfts, memo, build)


def _list_admin_keys(sides: Sides) -> "list[Key]":
    """The keys that can each delete the schedule: the bidder withdraws the offer, the owner declines it."""
    from marketplace.hedera import messages

    found = map(checks.find_key, (sides.bidder, sides.owner))
    return [messages.key(*key) for key in found if key]
