"""Amounts of HBAR: the ledger counts in tinybars, people in HBAR."""

from decimal import Decimal

TINYBARS = 100_000_000  # in one HBAR


def to_hbar(tinybars: int) -> Decimal:
    return Decimal(tinybars) / TINYBARS


def format_amount(tinybars: int) -> str:
    """The amount in HBAR as text: 12.5"""
    return f"{to_hbar(tinybars):f}"


def find_credit(price: int, fee_basis_points: int) -> int:
    """Tinybars that the seller receives: the price (in HBAR) minus the marketplace's fee."""
    tinybars = price * TINYBARS
    return tinybars - tinybars * fee_basis_points // 10_000
