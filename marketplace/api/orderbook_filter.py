"""The filter of the order book: a collection, bounds of the price, and the order."""

from typing import Any, NamedTuple

from marketplace.api.paging import DEAREST, NEWEST, Position
from marketplace.ids import MAX_HBAR, MAX_INT64

FIRST, LAST = "", "~"  # sort before, and after, all tokens and dates


class Selection(NamedTuple):
    """As it was asked for, or all."""

    sort: str = NEWEST
    token: str | None = None  # of a collection
    min_price: int = 0  # HBAR, as is the other
    max_price: int = MAX_HBAR
    traits: tuple[str, ...] = ()  # each a type, a colon and a value

    @classmethod
    def of(cls, query: dict[str, Any]) -> "Selection":
        return cls(*(query[name] for name in cls._fields))

    @property
    def by_type(self) -> dict[str, list[str]]:
        """The values that are asked for of each type of trait."""
        values: dict[str, list[str]] = {}
        for kind, _, value in (trait.partition(":") for trait in self.traits):
            values.setdefault(kind, []).append(value)
        return values

    @property
    def beginning(self) -> Position:
        """A position before all that is wanted."""
        if self.sort == DEAREST:  # after all that have too high a price
            return Position(DEAREST, self.max_price + 1, self.token or LAST, MAX_INT64)
        first = LAST if self.sort == NEWEST else self.min_price
        return Position(self.sort, first, self.token or FIRST)

    def leads_to(self, position: Position) -> bool:
        """Tell whether a page of it can end at a position."""
        key = position.key
        has_price = isinstance(key, str) or self.min_price <= key <= self.max_price
        return position.sort == self.sort and has_price and self.token in (None, position.token)


PLAIN = Selection()  # the whole order book, in its usual order
