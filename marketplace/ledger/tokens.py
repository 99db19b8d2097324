"""A token as the ledger has it, and its custom fees. What is odd about it is taken as not known."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from marketplace import times
from marketplace.ids import MAX_INT64, is_entity_id

T = TypeVar("T")
MAX_FEES = 100  # of each kind; the network's own maximum of custom fees is 10


class FallbackFee(NamedTuple):
    """The fee of a buyer who gives nothing of value for an NFT."""

    amount: int  # tinybars, or smallest units of the token
    token: str | None  # None: HBAR


class Royalty(NamedTuple):
    """The part of an NFT's price that its creator is paid at each sale."""

    collector: str
    numerator: int
    denominator: int
    fallback: FallbackFee | None
    spares_collectors: bool = False  # all collectors of the token's fees are exempt from it


class FixedFee(NamedTuple):
    """An amount that the sender of an NFT pays for each transfer: the seller, where it is sold."""

    collector: str
    amount: int  # tinybars, or smallest units of the token
    token: str | None  # None: HBAR
    spares_collectors: bool = False


class Token(NamedTuple):
    """A token as the ledger has it. None where the ledger does not say it, or what makes no sense."""

    name: str
    type: str
    total_supply: int | None
    symbol: object = None  # as it was read: of strangers
    treasury: str | None = None
    royalties: tuple[Royalty, ...] | None = ()
    fixed_fees: tuple[FixedFee, ...] | None = ()
    has_fractional_fees: bool = False  # of a fungible token
    fees_since: int | None = None  # when its custom fees were last changed, in nanoseconds
    is_deleted: bool = False
    is_paused: bool = False
    asks_for_kyc: bool = False  # of who is associated with it
    freezes_newcomers: bool = False  # until its issuer lets them hold it

    @property
    def is_nft(self) -> bool:
        return self.type == "NON_FUNGIBLE_UNIQUE"

    @property
    def has_fees(self) -> bool:
        """Whether it has custom fees, or some that make no sense."""
        return self.royalties != () or self.fixed_fees != () or self.has_fractional_fees


def read_amount(value: object) -> int | None:
    """An amount, as a mirror node writes it: a number, or its digits. None for what is none."""
    try:
        return _whole(value)
    except (ValueError, TypeError):
        return None


def read_treasury(value: object) -> str | None:
    return value if isinstance(value, str) and is_entity_id(value) else None


def read_custom_fees(custom_fees: object) -> dict[str, Any]:
    """The custom fees of a Token, by the names of its fields.

    All fees of a kind are None where one of them makes no sense: the others are not all.
    """
    fees = custom_fees or {}
    if not isinstance(fees, dict):
        return {"royalties": None, "fixed_fees": None}
    return {
        "royalties": _read_fees(fees.get("royalty_fees"), _royalty),
        "fixed_fees": _read_fees(fees.get("fixed_fees"), _fixed_fee),
        "has_fractional_fees": bool(fees.get("fractional_fees")),
        "fees_since": _read_moment(fees.get("created_timestamp")),
    }


def _read_fees(listed: Any, read: Callable[[Any], T]) -> tuple[T, ...] | None:
    try:
        fees = tuple(map(read, listed or []))
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return fees if len(fees) <= MAX_FEES else None


def _read_moment(value: Any) -> int | None:
    try:
        return times.from_consensus(value)
    except (ValueError, TypeError, AttributeError):
        return None


def _royalty(fee: Any) -> Royalty:
    numerator, denominator = (
        _whole(fee["amount"]["numerator"]),
        _whole(fee["amount"]["denominator"]),
    )
    if not denominator:
        raise ValueError("is no fraction")
    fallback = fee.get("fallback_fee")
    return Royalty(
        _entity_id(fee["collector_account_id"]),
        numerator,
        denominator,
        None if fallback is None else _fallback_fee(fallback),
        fee.get("all_collectors_are_exempt") is True,
    )


def _fixed_fee(fee: Any) -> FixedFee:
    return FixedFee(
        _entity_id(fee["collector_account_id"]),
        *_fallback_fee(fee),
        fee.get("all_collectors_are_exempt") is True,
    )


def _fallback_fee(fee: Any) -> FallbackFee:
    token = fee["denominating_token_id"]
    return FallbackFee(_whole(fee["amount"]), None if token is None else _entity_id(token))


def _whole(value: Any) -> int:
    if type(value) is not int and not re.fullmatch("[0-9]{1,19}", value):
        raise ValueError("is no amount")
    if not 0 <= int(value) <= MAX_INT64:
        raise ValueError("is no amount")
    return int(value)


def _entity_id(value: str) -> str:
    if not is_entity_id(value):
        raise ValueError("is not an entity id")
    return value
