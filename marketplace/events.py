"""The kinds of events, and a reader's position among them."""

import re
from enum import StrEnum
from typing import NamedTuple

from marketplace.hedera.ids import MAX_INT64

# The OpenAPI document shows it unchanged, so it has no anchors: match with fullmatch.
CURSOR = "([0-9a-f]{8})-(0|[1-9][0-9]{0,18})"


class EventKind(StrEnum):
    """The kinds of events of an NFT."""

    ADDED = "ADDED"
    LISTED = "LISTED"
    PRICE_CHANGED = "PRICE_CHANGED"
    WITHDRAWN = "WITHDRAWN"
    SOLD = "SOLD"
    TRANSFERRED = "TRANSFERRED"
    BURNED = "BURNED"
    METADATA_CHANGED = "METADATA_CHANGED"
    HIDDEN = "HIDDEN"
    SHOWN = "SHOWN"
    OFFERED = "OFFERED"
    OFFER_WITHDRAWN = "OFFER_WITHDRAWN"
    OFFER_EXPIRED = "OFFER_EXPIRED"
    OFFER_FAILED = "OFFER_FAILED"
    OFFER_NOT_EXECUTED = "OFFER_NOT_EXECUTED"


class Cursor(NamedTuple):
    """A position in the feed of events: its reader has seen all events up to it."""

    epoch: str  # of the database: it changes when the database goes back in time
    id: int

    @classmethod
    def parse(cls, value: str) -> "Cursor | None":
        """Parse the text that str() returns. Returns None for anything else."""
        match = re.fullmatch(CURSOR, value)
        cursor = match and cls(match[1], int(match[2]))
        return cursor if cursor and cursor.id <= MAX_INT64 else None

    def __str__(self) -> str:
        return f"{self.epoch}-{self.id}"
