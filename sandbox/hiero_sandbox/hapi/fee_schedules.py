"""The network's files with its prices: 0.0.113, and 0.0.111 in the form before HIP-1261.

They have the base of each transaction that the sandbox executes, and the extras of all of them.
"""

from decimal import Decimal

from hiero_sdk_python.hapi.fees.fee_schedule_pb2 import FeeSchedule
from hiero_sdk_python.hapi.services.basic_types_pb2 import (
    CurrentAndNextFeeSchedule,
    HederaFunctionality,
)

from hiero_sandbox.ledger import network_fees
from hiero_sandbox.ledger.consensus import HANDLERS

TINYCENTS_PER_DOLLAR = 10**10
FORMER_PER_DOLLAR = 10**13  # thousandths of a tinycent
NETWORK_MULTIPLIER = 9  # the network gets so much for each tinycent of the node
EXTRAS = {
    "ACCOUNTS": network_fees.EXTRA,
    "KEYS": network_fees.KEY,
    "PROCESSING_BYTES": network_fees.BYTE / (1 + NETWORK_MULTIPLIER),
    "SIGNATURES": network_fees.EXTRA / (1 + NETWORK_MULTIPLIER),
    "STATE_BYTES": network_fees.STATE_BYTE,
    "TOKEN_TRANSFER_BASE": network_fees.TOKEN_TRANSFER,
    "TOKEN_TRANSFER_BASE_CUSTOM_FEES": network_fees.CUSTOM_FEE_TRANSFER,
    "TOKEN_TYPES": network_fees.EXTRA,
}


def name_of(kind: str) -> str:
    """The name of a type of transaction in HederaFunctionality."""
    words = kind.split("_")
    return HANDLERS[kind].function or "".join(word[0].upper() + word[1:] for word in words)


def _bases() -> dict[int, Decimal]:
    """The prices in USD, by function."""
    return {
        HederaFunctionality.Value(name_of(kind)): handler.fee.base
        for kind, handler in HANDLERS.items()
    }


def current(now: int) -> FeeSchedule:
    node = network_fees.NODE_AND_NETWORK / (1 + NETWORK_MULTIPLIER)
    included = {"SIGNATURES": 1, "PROCESSING_BYTES": network_fees.INCLUDED_BYTES}
    schedule = [
        {"name": name, "base_fee": _tinycents(usd - network_fees.NODE_AND_NETWORK)}
        for name, usd in _bases().items()
    ]
    return FeeSchedule(
        node={
            "base_fee": _tinycents(node),
            "extras": [{"name": each, "included_count": of} for each, of in included.items()],
        },
        network={"multiplier": NETWORK_MULTIPLIER},
        extras=[{"name": name, "fee": _tinycents(usd)} for name, usd in EXTRAS.items()],
        services=[{"name": "Hedera", "schedule": schedule}],
    )


def _tinycents(usd: Decimal) -> int:
    return int(usd * TINYCENTS_PER_DOLLAR)


def former(now: int) -> CurrentAndNextFeeSchedule:
    listed = [
        {
            "hederaFunctionality": name,
            "fees": [{"servicedata": {"constant": int(usd * FORMER_PER_DOLLAR)}}],
        }
        for name, usd in _bases().items()
    ]
    schedule = {"transactionFeeSchedule": listed}
    return CurrentAndNextFeeSchedule(currentFeeSchedule=schedule, nextFeeSchedule=schedule)
