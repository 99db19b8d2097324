"""Lists offers in their last known state on the ledger."""

from typing import Any

from marketplace.errors import OfferUnknown
from marketplace.hedera import times
from marketplace.hedera.ids import MAX_HBAR
from marketplace.market.moderation import require_shown
from marketplace.market.offers.checks import require_on
from marketplace.store import offers
from marketplace.store.database import read
from marketplace.store.offers import OfferFilter
from marketplace.store.rows import OfferRow

BEFORE_ALL = (MAX_HBAR + 1, "")  # the position of no offer
STATES = {"executed": "ACCEPTED", "signed": "OPEN"}


def list_open(
    chosen: OfferFilter, after: tuple[int, str] | None, limit: int, now: int
) -> list[OfferRow]:
    """Open offers, the highest first. Raises OffersOff."""
    require_on()
    return offers.list_open(read(), chosen, after or BEFORE_ALL, limit, times.to_iso(now))


def find(offer_id: str, now: int) -> dict[str, Any]:
    """An offer, with its state in the API's words. Raises OffersOff, OfferUnknown and Hidden."""
    require_on()
    offer = offers.get_offer(read(), offer_id)
    if offer is None:
        raise OfferUnknown(offer_id)
    require_shown(offer["token"], offer["serial_no"])
    return {**offer, "state": _name_state(offer, now)}


def _name_state(offer: OfferRow, now: int) -> str:
    moment = times.to_iso(now)
    if offer["state"] in ("unsigned", "signed") and offer["expires_at"] <= moment:
        return "EXPIRED"
    if offer["state"] == "signed" and not offers.is_open(read(), offer):
        return "CLOSED"
    return STATES.get(offer["state"], offer["state"].upper())
