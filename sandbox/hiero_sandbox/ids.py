"""Ids of entities and transactions as texts, and the largest numbers.

The SDK's own parsers are too forgiving: they take a trailing newline, other scripts' digits, 2^63 and more.
"""

import re
from typing import NamedTuple

MAX_INT64 = 2**63 - 1
# Mirror nodes search up to 35 minutes after a valid start, and count nanoseconds in 63 bits.
MAX_SECONDS = MAX_INT64 // 10**9 - 2100
TINYBARS = 100_000_000  # in one HBAR
MAX_HBAR = 50_000_000_000  # the whole supply

_NUMBER = "(?:0|[1-9][0-9]{0,18})"
_ENTITY_ID = rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}"
_TRANSACTION_ID = rf"({_ENTITY_ID})(?:@([0-9]{{1,18}})\.|-([0-9]{{1,18}})-)([0-9]{{1,9}})"


def is_entity_id(value: str) -> bool:
    """Tell whether the text is the id of an entity: 0.0.1234, each number within 63 bits."""
    return bool(re.fullmatch(_ENTITY_ID, value)) and max(numbers(value)) <= MAX_INT64


def numbers(entity_id: str) -> list[int]:
    """The shard, the realm and the number of an entity id."""
    return [int(number) for number in entity_id.split(".")]


class TransactionId(NamedTuple):
    """The payer of a transaction, and the start of its validity. HAPI TransactionID."""

    account_id: str
    seconds: int
    nanos: int

    @classmethod
    def parse(cls, value: str) -> "TransactionId | None":
        """Parse 0.0.x@s.n (SDKs) or 0.0.x-s-n (mirror nodes). Returns None for anything else.

        The nanoseconds are an integer in both: @5.1 and -5-1 are one nanosecond past five.
        """
        match = re.fullmatch(_TRANSACTION_ID, value)
        if not match or not is_entity_id(match[1]):
            return None
        return cls(match[1], int(match[2] or match[3]), int(match[4]))

    @property
    def valid_start(self) -> int:
        """Nanoseconds since 1970."""
        return self.seconds * 10**9 + self.nanos

    @property
    def is_possible(self) -> bool:
        """Whether a mirror node can search for it. Mirror nodes answer 503 for later times."""
        return self.seconds < MAX_SECONDS

    def __str__(self) -> str:
        return f"{self.account_id}@{self.seconds}.{self.nanos:09}"

    @property
    def dashed(self) -> str:
        """The form of mirror nodes: 0.0.x-s-n."""
        return f"{self.account_id}-{self.seconds}-{self.nanos:09}"
