"""The mirror node's REST about the network: what time it is there, and what an HBAR is worth."""

from flask import Blueprint

from marketplace import times
from marketplace.sandbox.ledger import fees
from marketplace.sandbox.mirror import parameters

RATE_SECONDS = 3600
# As the network writes its rate: so many HBAR for so many cents.
HBAR_EQUIVALENT = 30_000

blp = Blueprint("network", __name__)


@blp.get("/blocks")
def list_blocks():
    """The last block: here, time does not stand still between transactions."""
    parameters.require_known("limit", "order")
    now = times.to_consensus(times.now())
    return {"blocks": [{"timestamp": {"from": now, "to": now}}], "links": {"next": None}}


@blp.get("/network/exchangerate")
def show_exchange_rate():
    """Always the same one."""
    parameters.require_known("timestamp")
    now = times.now()
    hour = now // times.SECOND // RATE_SECONDS
    current, following = (
        {
            "cent_equivalent": HBAR_EQUIVALENT * fees.CENTS_PER_HBAR,
            "expiration_time": (hour + hours) * RATE_SECONDS,
            "hbar_equivalent": HBAR_EQUIVALENT,
        }
        for hours in (1, 2)
    )
    return {
        "current_rate": current,
        "next_rate": following,
        "timestamp": times.to_consensus(now),
    }
