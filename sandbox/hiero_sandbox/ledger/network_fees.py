"""The network's fees in USD: what they are made of. Each type of transaction has its own in its module.

It has a base, and extras: https://docs.hedera.com/networks/fees and HIP-1261. The payer
pays for each transaction that reaches consensus, successful or not.
"""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from google.protobuf.message import Message
from hiero_sdk_python.hapi.services.basic_types_pb2 import (
    AccountAmount,
    Key,
    KeyList,
    TokenTransferList,
)
from hiero_sdk_python.hapi.services.exchange_rate_pb2 import ExchangeRateSet
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody

from hiero_sandbox import times
from hiero_sandbox.ids import TINYBARS
from hiero_sandbox.ledger import keys, tokens
from hiero_sandbox.ledger.envelopes import Signed, write_id
from hiero_sandbox.storage import Connection

TINYCENTS_PER_DOLLAR = 100 * TINYBARS
RATE_SECONDS = 3600

NODE_AND_NETWORK = Decimal("0.0001")
# For each key beyond those included.
KEY = Decimal("0.01")
# Charged once if a transfer moves tokens; the second one if any of them has custom fees.
TOKEN_TRANSFER = Decimal("0.0009")
CUSTOM_FEE_TRANSFER = Decimal("0.0019")
# For each byte of a file beyond these, in one transaction.
STATE_BYTE, STATE_BYTES = Decimal("0.0001"), 1000
# For each account of a transfer beyond two, and each token and each signature beyond one.
EXTRA = Decimal("0.0001")
# For each byte beyond these.
BYTE, INCLUDED_BYTES = Decimal("0.00001"), 1350
# In thousandths. The flag high_volume costs at least four times as much: HIP-1313. It does nothing here.
NORMAL_RATE, HIGH_VOLUME_RATE = 1000, 4000
# The network's treasury and its administrator pay no fees: AuthorizerImpl of hiero-consensus-node.
SUPERUSERS = ("0.0.2", "0.0.50")
# Of each airdrop to somebody who is not associated yet, besides the association: HIP-904.
AIRDROP = Decimal("0.05")
# The fees of associations and accounts, also of those that a transfer makes by itself: HIP-904, HIP-542.
ASSOCIATION, ACCOUNT_CREATION = Decimal("0.05"), Decimal("0.05")


class Fee(NamedTuple):
    """What a type of transaction costs in USD, without its signatures and its size."""

    base: Decimal = Decimal("0.001")  # including the fees of node and network: 0.0001 together
    listing: Decimal = Decimal(0)  # once, if it lists any NFTs to mint, or any custom fees
    listed: Decimal = Decimal(0)  # for each allowance, token or NFT that it lists after the first
    included_keys: int | None = None  # each further one costs KEY; None: keys cost nothing
    counts_lists_of_keys: bool = True  # by their keys; otherwise a list is one key
    further: Callable[[Connection, Any], Decimal] = lambda db, content: Decimal(0)
    has_high_volume: bool = False  # the flag high_volume multiplies it

    def usd(self, db: Connection, content: Any) -> Decimal:
        usd = self.base + self.further(db, content)
        if self.included_keys is not None:
            usd += beyond(self.included_keys, self._count_keys(content)) * KEY
        listed = sum(len(items) for field, items in content.ListFields() if field.is_repeated)
        return usd + self.listing + (listed - 1) * self.listed if listed else usd

    def _count_keys(self, content: Message) -> int:
        """The simple keys in a transaction's fields of a key. Lists of fields do not count."""
        named = [
            value if isinstance(value, Key) else Key(keyList=value)
            for field, value in content.ListFields()
            if not field.is_repeated and field.message_type in (Key.DESCRIPTOR, KeyList.DESCRIPTOR)
        ]
        counts = self.counts_lists_of_keys
        return sum(len([*keys.simple_keys(key)]) if counts else 1 for key in named)

    def rate(self, body: TransactionBody) -> int:
        """By how many thousandths a transaction's flag high_volume multiplies its fee; 0 without it."""
        return HIGH_VOLUME_RATE if body.high_volume and self.has_high_volume else 0


def of_contents(db: Connection, content: Any) -> Decimal:
    """What the bytes of a file cost."""
    return beyond(STATE_BYTES, len(content.contents)) * STATE_BYTE


def of_transfer(
    db: Connection, amounts: Iterable[AccountAmount], moved: Sequence[TokenTransferList]
) -> Decimal:
    """What the accounts and tokens of a transfer cost."""
    account_ids = {write_id(amount.accountID) for amount in amounts}
    for transfers in moved:
        for nft in transfers.nftTransfers:
            account_ids |= {write_id(nft.senderAccountID), write_id(nft.receiverAccountID)}
        account_ids |= {write_id(amount.accountID) for amount in transfers.transfers}
    usd = (beyond(2, len(account_ids)) + beyond(1, len(moved))) * EXTRA
    if any(_has_custom_fees(db, write_id(transfers.token)) for transfers in moved):
        return usd + CUSTOM_FEE_TRANSFER
    return usd + TOKEN_TRANSFER if moved else usd


def _has_custom_fees(db: Connection, token: str) -> bool:
    found = tokens.get(db, token)
    return bool(found and found.definition.custom_fees)


def beyond(included: int, count: int) -> int:
    return max(0, count - included)


def exchange_rate(db: Connection, moment: int) -> ExchangeRateSet:
    """The exchange rate at a time in nanoseconds. It never changes."""
    ends_at = (moment // times.SECOND // RATE_SECONDS + 1) * RATE_SECONDS
    rate = {"hbarEquiv": 1, "centEquiv": db.world.cents_per_hbar}
    current, following = (
        rate | {"expirationTime": {"seconds": end}} for end in (ends_at, ends_at + RATE_SECONDS)
    )
    return ExchangeRateSet(currentRate=current, nextRate=following)


def tinybars(db: Connection, usd: Decimal) -> int:
    """An amount of USD, at the ledger's exchange rate."""
    return int(usd * TINYCENTS_PER_DOLLAR / db.world.cents_per_hbar)


def price(db: Connection, fee: Fee, signed: Signed) -> int:
    """The fee of a transaction, in tinybars. Superusers pay none."""
    return 0 if is_superuser(signed) else tinybars(db, _usd(db, fee, signed))


def price_at_consensus(db: Connection, fee: Fee, signed: Signed) -> int:
    """The fee of a transaction with its flag high_volume, which a node looks at only at consensus."""
    return 0 if is_superuser(signed) else tinybars(db, estimate(db, fee, signed))


def price_unexecuted(db: Connection, signed: Signed) -> int:
    """The fee of one that is not executed: a duplicate, or one that offers too little."""
    return 0 if is_superuser(signed) else tinybars(db, NODE_AND_NETWORK + _signed(signed))


def price_scheduled(db: Connection, fee: Fee, content: Message, payer: str) -> int:
    """The fee of a scheduled execution in tinybars: without those of node and network."""
    return 0 if payer in SUPERUSERS else tinybars(db, fee.usd(db, content) - NODE_AND_NETWORK)


def is_superuser(signed: Signed) -> bool:
    return signed.id.account_id in SUPERUSERS


def estimate(db: Connection, fee: Fee, signed: Signed) -> Decimal:
    """The fee of a transaction in USD, whoever pays for it."""
    return _usd(db, fee, signed) * (fee.rate(signed.body) or NORMAL_RATE) / NORMAL_RATE


def _usd(db: Connection, fee: Fee, signed: Signed) -> Decimal:
    content = getattr(signed.body, str(signed.body.WhichOneof("data")))
    return fee.usd(db, content) + _signed(signed)


def _signed(signed: Signed) -> Decimal:
    return beyond(1, len(signed.pairs)) * EXTRA + beyond(INCLUDED_BYTES, signed.size) * BYTE
