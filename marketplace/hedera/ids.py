"""Identifiers, Hedera's and ours, and the largest numbers. Only this module parses identifiers.

The SDK's own parsers are too forgiving (a trailing newline, other scripts' digits, 2^63 and more), so
every id from outside is checked here first. Sources: HIP-15 (entity ids), HAPI TransactionID.
"""

import re
from typing import NamedTuple

MAX_INT64 = 2**63 - 1
# Mirror nodes search up to 35 minutes after a valid start, and count nanoseconds in 63 bits.
MAX_SECONDS = MAX_INT64 // 10**9 - 2100
MAX_HBAR = 50_000_000_000  # the whole supply
# Of one transaction, as hiero-consensus-node is configured: hedera.allowances.maxTransactionLimit,
# ledger.nftTransfers.maxLen, ledger.transfers.maxLen and ledger.xferBalanceChanges.maxLen.
MAX_APPROVED_SERIALS = 20
MAX_NFT_TRANSFERS = 10
MAX_HBAR_TRANSFERS = 10  # accounts that pay or receive HBAR, before custom fees
MAX_BALANCE_CHANGES = 20  # and changes of owners, with custom fees


# The OpenAPI document shows these patterns unchanged, so they have no anchors: match with fullmatch.
_NUMBER = "(?:0|[1-9][0-9]{0,18})"
EVM_ADDRESS = "0x[0-9a-fA-F]{40}"
ENTITY_ID = rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}"
TRANSACTION_ID = rf"({ENTITY_ID})(?:@([0-9]{{1,18}})\.|-([0-9]{{1,18}})-)([0-9]{{1,9}})"
NFT_ID = rf"({ENTITY_ID}):({_NUMBER})"
_match_entity_id = re.compile(ENTITY_ID).fullmatch


def is_entity_id(value: str) -> bool:
    """Tell whether the text is a token or account id: 0.0.1234, each number within 63 bits."""
    return bool(_match_entity_id(value)) and max(numbers(value)) <= MAX_INT64


def numbers(entity_id: str) -> list[int]:
    """The shard, the realm and the number of an entity id."""
    return [int(number) for number in entity_id.split(".")]


def is_evm_address(value: str) -> bool:
    return bool(re.fullmatch(EVM_ADDRESS, value))


class NftId(NamedTuple):
    """One NFT: its token, and its serial number."""

    token: str
    serial_no: int

    @classmethod
    def parse(cls, value: str) -> "NftId | None":
        """Parse 0.0.5001:7. Returns None for anything else."""
        match = re.fullmatch(NFT_ID, value)
        if not match or not is_entity_id(match[1]):
            return None
        nft_id = cls(match[1], int(match[2]))
        return nft_id if 1 <= nft_id.serial_no <= MAX_INT64 else None

    def __str__(self) -> str:
        return f"{self.token} #{self.serial_no}"


class TransactionId(NamedTuple):
    """The payer of a transaction, and the start of its validity. HAPI TransactionID."""

    account_id: str
    seconds: int
    nanos: int

    @classmethod
    def parse(cls, value: str) -> "TransactionId | None":
        """Parse 0.0.x@s.n (wallets and SDKs) or 0.0.x-s-n (mirror nodes). Returns None for anything else.

        The nanoseconds are an integer in both: @5.1 and -5-1 are one nanosecond past five.
        """
        match = re.fullmatch(TRANSACTION_ID, value)
        if not match or not is_entity_id(match[1]):
            return None
        return cls(match[1], int(match[2] or match[3]), int(match[4]))

    @classmethod
    def require(cls, value: str) -> "TransactionId":
        """Parse a transaction id. Raises ValueError for anything else."""
        parsed = cls.parse(value)
        if parsed is None:
            raise ValueError(f"{value!r} is not a transaction id")
        return parsed

    def __str__(self) -> str:
        return f"{self.account_id}@{self.seconds}.{self.nanos:09}"

    @property
    def valid_start(self) -> int:
        """Nanoseconds since 1970."""
        return self.seconds * 10**9 + self.nanos

    @property
    def is_possible(self) -> bool:
        """Whether a mirror node can search for it. Mirror nodes answer 503 for later times."""
        return self.seconds < MAX_SECONDS

    @property
    def dashed(self) -> str:
        """The form of mirror nodes: 0.0.x-s-n."""
        return f"{self.account_id}-{self.seconds}-{self.nanos:09}"
