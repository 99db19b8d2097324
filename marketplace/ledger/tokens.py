"""A token as the ledger has it, and its royalties. What is odd about it is taken as not known."""

import re
from typing import NamedTuple

from marketplace.ids import MAX_INT64, is_entity_id

MAX_ROYALTIES = 100  # the network's own maximum of custom fees is 10


class FallbackFee(NamedTuple):
    """What a buyer pays who gives nothing of value for an NFT."""

    amount: int  # tinybars, or smallest units of the token
    token: str | None  # None: HBAR


class Royalty(NamedTuple):
    """The part of an NFT's price that its creator is paid at each sale."""

    collector: str
    numerator: int
    denominator: int
    fallback: FallbackFee | None


class Token(NamedTuple):
    """A token as the ledger has it. None where the ledger does not say it, or what makes no sense."""

    name: str
    type: str
    total_supply: int | None
    symbol: object = None  # as it was read: of strangers
    treasury: str | None = None
    royalties: tuple[Royalty, ...] | None = ()
    is_deleted: bool = False
    is_paused: bool = False
    asks_for_kyc: bool = False  # of who is associated with it
    freezes_newcomers: bool = False  # until its issuer lets them hold it

    @property
    def is_nft(self) -> bool:
        return self.type == "NON_FUNGIBLE_UNIQUE"


def read_amount(value: object) -> int | None:
    """An amount, as a mirror node writes it: a number, or its digits. None for what is none."""
    try:
        return _whole(value)
    except (ValueError, TypeError):
        return None


def read_treasury(value: object) -> str | None:
    return value if isinstance(value, str) and is_entity_id(value) else None


def read_royalties(custom_fees: object) -> tuple[Royalty, ...] | None:
    """The royalties among custom fees; None where one of them makes no sense, as the others are not all."""
    try:
        listed = (custom_fees or {}).get("royalty_fees") or []
        royalties = tuple(map(_royalty, listed))
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return royalties if len(royalties) <= MAX_ROYALTIES else None


def _royalty(fee: dict) -> Royalty:
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
    )


def _fallback_fee(fee: dict) -> FallbackFee:
    token = fee["denominating_token_id"]
    return FallbackFee(_whole(fee["amount"]), None if token is None else _entity_id(token))


def _whole(value: object) -> int:
    if type(value) is not int:
        value = int(value) if re.fullmatch("[0-9]{1,19}", value) else -1
    if not 0 <= value <= MAX_INT64:
        raise ValueError("is no amount")
    return value


def _entity_id(value: str) -> str:
    if not is_entity_id(value):
        raise ValueError("is not an entity id")
    return value
