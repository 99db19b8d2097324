"""The network's fees: its price list in USD.

Each type of transaction has a base, and extras: https://docs.hedera.com/networks/fees and HIP-1261. The payer
pays for each transaction that reaches consensus, successful or not.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from google.protobuf.message import Message
from hiero_sdk_python.hapi.services.basic_types_pb2 import (
    AccountAmount,
    Key,
    KeyList,
    TokenTransferList,
)
from hiero_sdk_python.hapi.services.exchange_rate_pb2 import ExchangeRateSet
from hiero_sdk_python.hapi.services.schedulable_transaction_body_pb2 import (
    SchedulableTransactionBody,
)
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody

from hiero_sandbox import times
from hiero_sandbox.database import Connection
from hiero_sandbox.ids import TINYBARS
from hiero_sandbox.ledger import keys, tokens, topics
from hiero_sandbox.ledger.envelopes import Signed, write_id

TINYCENTS_PER_DOLLAR = 100 * TINYBARS
RATE_SECONDS = 3600

# In USD, including the fees of node and network: 0.0001 together.
BASE = {
    "consensusCreateTopic": Decimal("0.01"),
    "consensusDeleteTopic": Decimal("0.005"),
    "consensusSubmitMessage": Decimal("0.00017"),
    "consensusUpdateTopic": Decimal("0.00022"),
    "cryptoApproveAllowance": Decimal("0.05"),
    "cryptoCreateAccount": Decimal("0.05"),
    "cryptoDelete": Decimal("0.005"),
    "cryptoDeleteAllowance": Decimal("0.05"),
    "cryptoTransfer": Decimal("0.0001"),
    "cryptoUpdateAccount": Decimal("0.00022"),
    "fileAppend": Decimal("0.05"),
    "fileCreate": Decimal("0.05"),
    "fileDelete": Decimal("0.007"),
    "fileUpdate": Decimal("0.05"),
    "scheduleCreate": Decimal("0.01"),
    "tokenAirdrop": Decimal("0.0001"),
    "tokenAssociate": Decimal("0.05"),
    "tokenCreation": Decimal("1"),
    "tokenDissociate": Decimal("0.05"),
}
OTHERS = Decimal("0.001")  # of transactions about tokens
NODE_AND_NETWORK = Decimal("0.0001")
# Charged once if a transaction lists any NFTs to mint, or any custom fees.
LISTING = {"tokenCreation": Decimal("1"), "tokenMint": Decimal("0.019")}
# For each allowance, token or NFT that it lists after the first.
LISTED = {
    "cryptoApproveAllowance": Decimal("0.05"),
    "cryptoDeleteAllowance": Decimal("0.05"),
    "tokenAssociate": Decimal("0.05"),
    "tokenDissociate": Decimal("0.05"),
    "tokenMint": Decimal("0.02"),
    "token_update_nfts": Decimal("0.001"),
}
# For each key beyond those included.
KEY = Decimal("0.01")
INCLUDED_KEYS = {
    "consensusCreateTopic": 0,
    "consensusUpdateTopic": 1,
    "cryptoCreateAccount": 1,
    "cryptoUpdateAccount": 1,
    "fileCreate": 1,
    "fileUpdate": 1,
    "scheduleCreate": 1,
    "tokenCreation": 1,
    "tokenUpdate": 1,
}
UNNESTED = "consensusUpdateTopic"  # counts a list as one key
# Charged once if a transfer moves tokens; the second one if any of them has custom fees.
TOKEN_TRANSFER = Decimal("0.0009")
CUSTOM_FEE_TRANSFER = Decimal("0.0019")
# Charged once for a topic with custom fees, and for a message to one.
TOPIC_WITH_FEES, MESSAGE_WITH_FEES = Decimal("1.99"), Decimal("0.04983")
# For each byte of another message beyond these.
MESSAGE_BYTE, MESSAGE_BYTES = Decimal("0.00000068"), 100
# For each byte of a file beyond these, in one transaction.
STATE_BYTE, STATE_BYTES = Decimal("0.0001"), 1000
# For each account of a transfer beyond two, and each token and each signature beyond one.
EXTRA = Decimal("0.0001")
# For each byte beyond these.
BYTE, INCLUDED_BYTES = Decimal("0.00001"), 1350
# In thousandths. The flag high_volume costs at least four times as much: HIP-1313. It does nothing here.
NORMAL_RATE, HIGH_VOLUME_RATE = 1000, 4000
HIGH_VOLUME = (
    "consensusCreateTopic",
    "cryptoApproveAllowance",
    "cryptoCreateAccount",
    "fileAppend",
    "fileCreate",
    "scheduleCreate",
    "tokenAirdrop",
    "tokenAssociate",
    "tokenClaimAirdrop",
    "tokenCreation",
    "tokenMint",
)
# The network's treasury and its administrator pay no fees: AuthorizerImpl of hiero-consensus-node.
SUPERUSERS = ("0.0.2", "0.0.50")
# Of each airdrop to somebody who is not associated yet, besides the association: HIP-904.
AIRDROP = Decimal("0.05")
# The fees of associations and accounts that a transfer makes by itself: HIP-904, HIP-542.
ASSOCIATION, ACCOUNT_CREATION = BASE["tokenAssociate"], BASE["cryptoCreateAccount"]


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


def price(db: Connection, signed: Signed) -> int:
    """The fee of a transaction, in tinybars. Superusers pay none."""
    return 0 if is_superuser(signed) else tinybars(db, _usd(db, signed))


def price_at_consensus(db: Connection, signed: Signed) -> int:
    """The fee of a transaction with its flag high_volume, which a node looks at only at consensus."""
    return 0 if is_superuser(signed) else tinybars(db, estimate(db, signed))


def price_unexecuted(db: Connection, signed: Signed) -> int:
    """The fee of one that is not executed: a duplicate, or one that offers too little."""
    return 0 if is_superuser(signed) else tinybars(db, NODE_AND_NETWORK + _signed(signed))


def price_scheduled(db: Connection, scheduled: SchedulableTransactionBody, payer: str) -> int:
    """The fee of a scheduled transaction when it is executed, in tinybars."""
    return 0 if payer in SUPERUSERS else tinybars(db, _service(db, scheduled))


def is_superuser(signed: Signed) -> bool:
    return signed.id.account_id in SUPERUSERS


def estimate(db: Connection, signed: Signed) -> Decimal:
    """The fee of a transaction in USD, whoever pays for it."""
    return _usd(db, signed) * (high_volume_rate(signed.body) or NORMAL_RATE) / NORMAL_RATE


def high_volume_rate(body: TransactionBody) -> int:
    """By how many thousandths its flag high_volume multiplies a transaction's fee; 0 without it."""
    return HIGH_VOLUME_RATE if body.high_volume and body.WhichOneof("data") in HIGH_VOLUME else 0


def _usd(db: Connection, signed: Signed) -> Decimal:
    return _service(db, signed.body) + _signed(signed)


def _signed(signed: Signed) -> Decimal:
    return _beyond(1, len(signed.pairs)) * EXTRA + _beyond(INCLUDED_BYTES, signed.size) * BYTE


def _beyond(included: int, count: int) -> int:
    return max(0, count - included)


def _service(db: Connection, body: TransactionBody | SchedulableTransactionBody) -> Decimal:
    kind = body.WhichOneof("data")
    content, usd = getattr(body, kind), BASE.get(kind, OTHERS)
    if kind in INCLUDED_KEYS:
        usd += _beyond(INCLUDED_KEYS[kind], _count_keys(content, kind)) * KEY
    if kind == "cryptoTransfer":
        return usd + _of_transfer(db, content.transfers.accountAmounts, content.tokenTransfers)
    if kind == "tokenAirdrop":
        return usd + _of_transfer(db, [], content.token_transfers)
    if kind == "consensusCreateTopic":
        return usd + TOPIC_WITH_FEES * bool(content.custom_fees)
    if kind == "consensusSubmitMessage":
        topic = topics.get(db, write_id(content.topicID))
        if topic and topic.definition.custom_fees:
            return usd + MESSAGE_WITH_FEES
        return usd + _beyond(MESSAGE_BYTES, len(content.message)) * MESSAGE_BYTE
    if kind in ("fileAppend", "fileCreate", "fileUpdate"):
        usd += _beyond(STATE_BYTES, len(content.contents)) * STATE_BYTE
    listed = sum(len(items) for field, items in content.ListFields() if field.is_repeated)
    if listed:
        usd += LISTING.get(kind, 0) + (listed - 1) * LISTED.get(kind, 0)
    return usd


def _count_keys(content: Message, kind: str) -> int:
    """The simple keys in a transaction's fields of a key. Lists of fields do not count."""
    named = [
        value if isinstance(value, Key) else Key(keyList=value)
        for field, value in content.ListFields()
        if not field.is_repeated and field.message_type in (Key.DESCRIPTOR, KeyList.DESCRIPTOR)
    ]
    return sum(1 if kind == UNNESTED else len([*keys.simple_keys(key)]) for key in named)


def _of_transfer(
    db: Connection, amounts: Iterable[AccountAmount], moved: Sequence[TokenTransferList]
) -> Decimal:
    account_ids = {write_id(amount.accountID) for amount in amounts}
    for transfers in moved:
        for nft in transfers.nftTransfers:
            account_ids |= {write_id(nft.senderAccountID), write_id(nft.receiverAccountID)}
        account_ids |= {write_id(amount.accountID) for amount in transfers.transfers}
    usd = (_beyond(2, len(account_ids)) + _beyond(1, len(moved))) * EXTRA
    if any(_has_custom_fees(db, write_id(transfers.token)) for transfers in moved):
        return usd + CUSTOM_FEE_TRANSFER
    return usd + TOKEN_TRANSFER if moved else usd


def _has_custom_fees(db: Connection, token: str) -> bool:
    found = tokens.get(db, token)
    return bool(found and found.definition.custom_fees)
