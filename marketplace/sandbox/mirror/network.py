"""The mirror node's blocks, which tell its time, and its exchange rate."""

import hashlib

from flask import Blueprint, request

from marketplace import times
from marketplace.sandbox import catalogue
from marketplace.sandbox.ledger import network_fees
from marketplace.sandbox.mirror import parameters
from marketplace.sandbox.mirror.parameters import Document

BLOCK = 2 * times.SECOND  # how long one lasts
RATE_SECONDS = 3600
# The network writes its rate as so many HBAR for so many cents.
HBAR_EQUIVALENT = 30_000

blp = Blueprint("network", __name__)


@blp.get("/blocks")
def list_blocks() -> Document:
    """Show the last block only. A block ends every two seconds, with or without transactions."""
    parameters.require_known("block.number", "limit", "order")
    if "block.number" in request.args:
        return {"blocks": [], "links": {"next": None}}
    now = times.now()
    number = (now - catalogue.GENESIS) // BLOCK
    following = f"{request.path}?limit=1&order=desc&block.number=lt:{number}"
    return {"blocks": [_block(number, times.to_consensus(now))], "links": {"next": following}}


def _block(number: int, now: str) -> Document:
    return {
        "count": 0,
        "gas_used": 0,
        "hapi_version": "0.77.0",
        "hash": _hash(number),
        "logs_bloom": "0x",
        "name": f"{now.replace('.', '_')}Z.rcd",
        "number": number,
        "previous_hash": _hash(number - 1),
        "size": 0,
        "timestamp": {"from": now, "to": now},
    }


def _hash(number: int) -> str:
    return f"0x{hashlib.sha384(str(number).encode()).hexdigest()}"


@blp.get("/network/exchangerate")
def show_exchange_rate() -> Document:
    """Show the exchange rate, which never changes."""
    parameters.require_known("timestamp")
    now = times.now()
    hour = now // times.SECOND // RATE_SECONDS
    current, following = (
        {
            "cent_equivalent": HBAR_EQUIVALENT * network_fees.CENTS_PER_HBAR,
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
