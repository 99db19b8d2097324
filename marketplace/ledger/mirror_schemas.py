"""The objects of a mirror node's answers. answer_schemas.py reads them from JSON.

Moments of consensus are in nanoseconds.
"""

import re
from typing import Any, NamedTuple

from marketplace.hedera.ids import NftId, TransactionId


class Nft(NamedTuple):
    """One NFT as the ledger has it: its owner, its spender, and its metadata pointer."""

    token: str
    serial_no: int
    owner: str | None
    modified_at: int
    is_deleted: bool = False
    spender: str | None = None  # old mirror nodes leave it out
    pointer: str = ""

    @property
    def id(self) -> NftId:
        return NftId(self.token, self.serial_no)


class LedgerKey(NamedTuple):
    """An account's key: ED25519, ECDSA_SECP256K1, or ProtobufEncoded for a list of keys."""

    type: str
    content: bytes


class LedgerAccount(NamedTuple):
    """An account as the ledger has it."""

    id: str
    is_deleted: bool = False
    key: LedgerKey | None = None
    balance: int | None = None  # tinybars
    max_automatic_associations: int = 0  # -1: any
    must_sign_to_receive: bool = False


class Relationship(NamedTuple):
    """An account's relationship with a token that it is associated with."""

    token: str
    is_automatic: bool = False
    is_frozen: bool = False
    lacks_kyc: bool = False
    balance: int = 0  # smallest units, or NFTs
    created_at: int | None = None


class FallbackFee(NamedTuple):
    """The fee that the receiver of an NFT pays if they give nothing of value for it."""

    amount: int  # tinybars, or smallest units of the token
    token: str | None  # None: HBAR


class RoyaltyFee(NamedTuple):
    """The part of an NFT's price that a collector, such as its creator, receives at each sale."""

    collector: str
    numerator: int
    denominator: int
    fallback: FallbackFee | None = None
    # Whether all collectors of the token's fees are exempt from this one.
    exempts_collectors: bool = False


class FixedFee(NamedTuple):
    """An amount that the sender of an NFT, such as its seller, pays for each transfer."""

    collector: str
    amount: int  # tinybars, or smallest units of the token
    token: str | None  # None: HBAR
    exempts_collectors: bool = False


class LedgerToken(NamedTuple):
    """A token as the ledger has it. A field is None if the ledger's value is unreadable."""

    name: str
    type: str = ""
    total_supply: int | None = None
    symbol: Any = None
    treasury: str | None = None
    royalties: tuple[RoyaltyFee, ...] | None = ()
    fixed_fees: tuple[FixedFee, ...] | None = ()
    # When its custom fees were last changed.
    fees_since: int | None = None
    can_change_fees: bool = False  # whether its issuer has a key for that
    is_deleted: bool = False
    modified_at: int | None = None
    is_paused: bool = False
    asks_for_kyc: bool = False
    freezes_newcomers: bool = False  # until its issuer unfreezes them
    metadata: str | None = None  # HIP-765
    memo: str | None = None

    @property
    def pointer(self) -> str | None:
        """Where the token describes itself. Before HIP-765, HIP-766 put this pointer into the memo."""
        is_address = re.match("(?:ipfs|ar|hcs|https?)://", self.memo or "", re.IGNORECASE)
        return self.metadata or (self.memo if is_address else None) or None

    @property
    def is_nft(self) -> bool:
        return self.type == "NON_FUNGIBLE_UNIQUE"


class ExchangeRate(NamedTuple):
    """An exchange rate: ``hbar`` HBAR are worth ``cents`` US cents."""

    cents: int
    hbar: int


class ExchangeRates(NamedTuple):
    """The exchange rates of this hour and of the next."""

    current: ExchangeRate
    following: ExchangeRate


class Endpoint(NamedTuple):
    """Where a consensus node takes transactions."""

    port: int
    domain: str = ""
    ip: str = ""

    def __str__(self) -> str:
        return f"{self.ip or self.domain}:{self.port}"


class ConsensusNode(NamedTuple):
    """One of the network's nodes."""

    account: str
    endpoints: tuple[Endpoint, ...] = ()


class LedgerNftTransfer(NamedTuple):
    """The transfer of one NFT in a transaction."""

    token: str
    serial_no: int
    sender: str | None = None  # None if it was minted
    receiver: str | None = None  # None if it was burned


class HbarTransfer(NamedTuple):
    """The tinybars that an account received in a transaction; negative if it paid them."""

    account: str
    amount: int


class AssessedFee(NamedTuple):
    """A token's fee that a transaction was charged for."""

    amount: int  # tinybars, or smallest units of the token
    collector: str
    token: str | None = None  # None: HBAR
    payers: tuple[str, ...] = ()


class Transaction(NamedTuple):
    """One row under a transaction id: several may share it."""

    name: str
    transaction_id: TransactionId
    result: str
    consensus_at: int
    memo: bytes = b""
    nonce: int = 0
    scheduled: bool = False
    # Charged to its payer.
    fee_tinybars: int = 0
    nft_transfers: tuple[LedgerNftTransfer, ...] = ()
    # Net amounts, which include the rewards and the assessed fees below.
    hbar_transfers: tuple[HbarTransfer, ...] = ()
    rewards: tuple[HbarTransfer, ...] | None = ()
    # Lists of transactions leave these fees out. A look-up by id has them.
    assessed_fees: tuple[AssessedFee, ...] | None = ()
    entity_id: str | None = None  # the token that it changes, if any
    # Only for a batch's part, or for a child of a contract call.
    parent_at: int | None = None

    def moves(self, nft_id: NftId, receiver: str) -> bool:
        """Tell whether it transferred an NFT to an account."""
        given = (*nft_id, receiver)
        return any((nft.token, nft.serial_no, nft.receiver) == given for nft in self.nft_transfers)

    def find_paid(self, account_id: str) -> int:
        """The tinybars that an account paid to others, not reduced by received rewards or tokens' fees."""
        received = [row.amount for row in self.rewards or () if row.account == account_id]
        received += [fee.amount for fee in self._fees_in_hbar if fee.collector == account_id]
        net = sum(row.amount for row in self.hbar_transfers if row.account == account_id)
        return sum(received) - net

    def find_earned(self, account_id: str) -> int:
        """The tinybars that others paid to an account, before the account paid tokens' fees."""
        fees = [fee.amount for fee in self._fees_in_hbar if fee.payers == (account_id,)]
        return sum(fees) - self.find_paid(account_id)

    @property
    def _fees_in_hbar(self) -> list[AssessedFee]:
        return [fee for fee in self.assessed_fees or () if fee.token is None]

    @property
    def is_original(self) -> bool:
        """Whether it is the transaction that was signed under this id.

        Refused repetitions, children of a contract call and scheduled executions are not.
        """
        return self.nonce == 0 and not self.scheduled and self.result != "DUPLICATE_TRANSACTION"

    @property
    def payer(self) -> str:
        return self.transaction_id.account_id


class ScheduleSignature(NamedTuple):
    """A signature of the transaction that created a schedule, or of one that signed it.

    The network has verified only the signatures that it needed. Others may be false.
    """

    consensus_at: int  # of this transaction
    public_key: bytes  # or the first bytes of it


class Schedule(NamedTuple):
    """A transaction that waits for its signatures, or has waited for them: HIP-423."""

    id: str
    creator: str
    payer: str | None
    created_at: int
    body: bytes  # of the scheduled transaction, a SchedulableTransactionBody
    signatures: tuple[ScheduleSignature, ...]
    memo: str = ""
    is_deleted: bool = False
    executed_at: int | None = None
    expires_at: int | None = None
    waits_for_expiry: bool = False
    admin_key: LedgerKey | None = None  # can delete it

    @property
    def newest_at(self) -> int:
        """When it last changed. The ledger shows no date for a deletion."""
        signed = [signature.consensus_at for signature in self.signatures]
        return max(self.created_at, self.executed_at or 0, *signed)


class NftEvent(NamedTuple):
    """One entry of an NFT's history: of a transaction that succeeded."""

    name: str
    transaction_id: TransactionId
    consensus_at: int
    sender: str | None = None
    receiver: str | None = None
    is_approval: bool = False  # a spender moved it, not its owner

    @property
    def is_move(self) -> bool:
        """Whether it transferred the NFT to another account."""
        return None not in (self.sender, self.receiver) and self.sender != self.receiver

    @property
    def is_harmless(self) -> bool:
        """Whether it changed only the metadata, not owner and approvals."""
        return self.name == "TOKENUPDATENFTS"

    @property
    def payer(self) -> str:
        return self.transaction_id.account_id


class History(NamedTuple):
    """An NFT's newest entries, and the last event that decides its owner and spender."""

    newest_at: int | None  # nanoseconds; of the newest entry, harmless or not
    last_event: NftEvent | None
    is_cut: bool = False  # whether it is too long to find its last event
    entries: tuple[NftEvent, ...] = ()  # the newest ones, the newest first
    # Whether the next page came from a replica that does not show the last of these entries yet.
    is_torn: bool = False


class Part(NamedTuple):
    """Which part of a message a row of its topic has. SDKs split a message of more than 1,024 bytes."""

    payer: str
    valid_start: int
    number: int
    total: int

    @property
    def message(self) -> tuple[str, int]:
        """What a message's parts share: the id of the transaction that began the message."""
        return self.payer, self.valid_start


class Message(NamedTuple):
    """A row of a topic: a message, or a part of one."""

    content: bytes
    topic: str | None = None
    part: Part | None = None  # None: it was not split
