"""The objects of a mirror node's answers: each field's name here, its type, and how it is read from JSON.

Source of the keys: the mirror node's OpenAPI document, /api/v1. Moments of consensus are in nanoseconds.
"""

import re
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

from marshmallow import fields

from marketplace.hedera.ids import NftId, TransactionId
from marketplace.ledger.answers import (
    Amount,
    Entities,
    Lenient,
    Nested,
    ObjectList,
    Text,
    entity,
    equals,
    flag,
    lenient_moment,
    moment,
    read_base64,
    read_code,
    read_entity_id,
    read_host,
    read_pointer,
    whole,
)

# 100,000 HBAR, in tinybars: more than any transaction costs. A page's fees still add up to less than 2^63.
MAX_FEE = 10**13


class TransactionType(StrEnum):
    """The types of transactions that change an offer, an NFT, its approvals or token, or an account's key."""

    APPROVAL = "CRYPTOAPPROVEALLOWANCE"
    WITHDRAWAL = "CRYPTODELETEALLOWANCE"
    TRANSFER = "CRYPTOTRANSFER"
    AIRDROP = "TOKENAIRDROP"
    BURN = "TOKENBURN"
    ACCOUNT_UPDATE = "CRYPTOUPDATEACCOUNT"
    AIRDROP_CLAIM = "TOKENCLAIMAIRDROP"
    COLLECTION_DELETION = "TOKENDELETION"
    FEES_UPDATE = "TOKENFEESCHEDULEUPDATE"
    REJECTION = "TOKENREJECT"
    COLLECTION_UPDATE = "TOKENUPDATE"
    METADATA_UPDATE = "TOKENUPDATENFTS"
    WIPE = "TOKENWIPE"
    SCHEDULE_CREATION = "SCHEDULECREATE"
    SCHEDULE_DELETION = "SCHEDULEDELETE"
    SCHEDULE_SIGNATURE = "SCHEDULESIGN"


class Nft(NamedTuple):
    """One NFT as the ledger has it: its owner, its spender, and its metadata pointer."""

    token: Annotated[str, entity("token_id")]
    serial_no: Annotated[int, whole(1, data_key="serial_number")]
    owner: Annotated[str | None, entity("account_id")]
    modified_at: Annotated[int, moment("modified_timestamp")]
    is_deleted: Annotated[bool, flag("deleted")] = False
    spender: Annotated[str | None, entity("spender")] = None  # old mirror nodes leave it out
    pointer: Annotated[str, Text(read_pointer, data_key="metadata")] = ""

    @property
    def id(self) -> NftId:
        return NftId(self.token, self.serial_no)

    @property
    def is_gone(self) -> bool:
        """Whether nobody can own it any more: it was burned, or its token was deleted."""
        return self.is_deleted or self.owner is None


class LedgerKey(NamedTuple):
    """An account's key: ED25519, ECDSA_SECP256K1, or ProtobufEncoded for a list of keys."""

    type: Annotated[str, Text(data_key="_type")]
    content: Annotated[bytes, Text(bytes.fromhex, data_key="key")]


class LedgerAccount(NamedTuple):
    """An account as the ledger has it."""

    id: Annotated[str, entity("account")]
    is_deleted: Annotated[bool, flag("deleted")] = False
    key: Annotated[LedgerKey | None, Nested(LedgerKey)] = None
    balance: Annotated[int | None, whole(0, data_key="balance.balance")] = None  # tinybars
    max_automatic_associations: Annotated[
        int, whole(data_key="max_automatic_token_associations")
    ] = 0  # -1: any
    must_sign_to_receive: Annotated[bool, flag("receiver_sig_required")] = False


class Relationship(NamedTuple):
    """An account's relationship with a token that it is associated with."""

    token: Annotated[str, entity("token_id")]
    is_automatic: Annotated[bool, flag("automatic_association")] = False
    is_frozen: Annotated[bool, equals("FROZEN", "freeze_status")] = False
    lacks_kyc: Annotated[bool, equals("REVOKED", "kyc_status")] = False
    balance: Annotated[int, whole(0)] = 0  # smallest units, or NFTs
    created_at: Annotated[int | None, lenient_moment("created_timestamp")] = None


class FallbackFee(NamedTuple):
    """The fee that the receiver of an NFT pays if they give nothing of value for it."""

    amount: Annotated[int, Amount()]  # tinybars, or smallest units of the token
    token: Annotated[str | None, entity("denominating_token_id")]  # None: HBAR


class RoyaltyFee(NamedTuple):
    """The part of an NFT's price that a collector, such as its creator, receives at each sale."""

    collector: Annotated[str, entity("collector_account_id")]
    numerator: Annotated[int, whole(0, data_key="amount.numerator")]
    denominator: Annotated[int, whole(1, data_key="amount.denominator")]
    fallback: Annotated[FallbackFee | None, Nested(FallbackFee, data_key="fallback_fee")] = None
    # Whether all collectors of the token's fees are exempt from this one.
    exempts_collectors: Annotated[bool, flag("all_collectors_are_exempt")] = False


class FixedFee(NamedTuple):
    """An amount that the sender of an NFT, such as its seller, pays for each transfer."""

    collector: Annotated[str, entity("collector_account_id")]
    amount: Annotated[int, Amount()]  # tinybars, or smallest units of the token
    token: Annotated[str | None, entity("denominating_token_id")]  # None: HBAR
    exempts_collectors: Annotated[bool, flag("all_collectors_are_exempt")] = False


class LedgerToken(NamedTuple):
    """A token as the ledger has it. A field is None if the ledger's value is unreadable."""

    name: Annotated[str, Text()]
    type: Annotated[str, Text()] = ""
    total_supply: Annotated[int | None, Lenient(Amount())] = None
    symbol: Annotated[Any, fields.Raw()] = None
    treasury: Annotated[
        str | None, Lenient(Text(read_entity_id), data_key="treasury_account_id")
    ] = None
    royalties: Annotated[
        tuple[RoyaltyFee, ...] | None,
        Lenient(ObjectList(RoyaltyFee), data_key="custom_fees.royalty_fees"),
    ] = ()
    fixed_fees: Annotated[
        tuple[FixedFee, ...] | None,
        Lenient(ObjectList(FixedFee), data_key="custom_fees.fixed_fees"),
    ] = ()
    # When its custom fees were last changed.
    fees_since: Annotated[int | None, lenient_moment("custom_fees.created_timestamp")] = None
    # Whether its issuer has a key for that.
    can_change_fees: Annotated[
        bool, fields.Function(deserialize=bool, data_key="fee_schedule_key")
    ] = False
    is_deleted: Annotated[bool, flag("deleted")] = False
    modified_at: Annotated[int | None, lenient_moment("modified_timestamp")] = None
    is_paused: Annotated[bool, equals("PAUSED", "pause_status")] = False
    asks_for_kyc: Annotated[bool, fields.Function(deserialize=bool, data_key="kyc_key")] = False
    freezes_newcomers: Annotated[bool, flag("freeze_default")] = False  # until they are unfrozen
    metadata: Annotated[str | None, Lenient(Text(read_pointer))] = None  # HIP-765
    memo: Annotated[str | None, Lenient(Text())] = None

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

    cents: Annotated[int, whole(1, data_key="cent_equivalent")]
    hbar: Annotated[int, whole(1, data_key="hbar_equivalent")]


class ExchangeRates(NamedTuple):
    """The exchange rates of this hour and of the next."""

    current: Annotated[ExchangeRate, Nested(ExchangeRate, data_key="current_rate")]
    following: Annotated[ExchangeRate, Nested(ExchangeRate, data_key="next_rate")]


class Endpoint(NamedTuple):
    """Where a consensus node takes transactions."""

    port: Annotated[int, whole(1, 65_535)]
    domain: Annotated[str, Text(read_host, data_key="domain_name")] = ""
    ip: Annotated[str, Text(read_host, data_key="ip_address_v4")] = ""

    def __str__(self) -> str:
        return f"{self.ip or self.domain}:{self.port}"


class ConsensusNode(NamedTuple):
    """One of the network's nodes."""

    account: Annotated[str, entity("node_account_id")]
    endpoints: Annotated[
        tuple[Endpoint, ...], Lenient(ObjectList(Endpoint), data_key="service_endpoints")
    ] = ()


class LedgerNftTransfer(NamedTuple):
    """The transfer of one NFT in a transaction."""

    token: Annotated[str, entity("token_id")]
    serial_no: Annotated[int, whole(data_key="serial_number")]
    sender: Annotated[str | None, entity("sender_account_id")] = None  # None if it was minted
    receiver: Annotated[str | None, entity("receiver_account_id")] = None  # None if it was burned


class HbarTransfer(NamedTuple):
    """The tinybars that an account received in a transaction; negative if it paid them."""

    account: Annotated[str, entity("account")]
    amount: Annotated[int, whole()]


class AssessedFee(NamedTuple):
    """A token's fee that a transaction was charged for."""

    amount: Annotated[int, whole()]  # tinybars, or smallest units of the token
    collector: Annotated[str, entity("collector_account_id")]
    token: Annotated[str | None, entity("token_id")] = None  # None: HBAR
    payers: Annotated[tuple[str, ...], Entities(data_key="effective_payer_account_ids")] = ()


class Transaction(NamedTuple):
    """One row under a transaction id: several may share it."""

    name: Annotated[str, Text(read_code)]
    transaction_id: Annotated[TransactionId, Text(TransactionId.require)]
    result: Annotated[str, Text(read_code)]
    consensus_at: Annotated[int, moment("consensus_timestamp")]
    memo: Annotated[bytes, Text(read_base64, data_key="memo_base64")] = b""
    nonce: Annotated[int, whole()] = 0
    scheduled: Annotated[bool, flag("scheduled")] = False
    # Charged to its payer.
    fee_tinybars: Annotated[int, whole(0, MAX_FEE, data_key="charged_tx_fee")] = 0
    nft_transfers: Annotated[tuple[LedgerNftTransfer, ...], ObjectList(LedgerNftTransfer)] = ()
    # Net amounts, which include the rewards and the assessed fees below.
    hbar_transfers: Annotated[
        tuple[HbarTransfer, ...], ObjectList(HbarTransfer, data_key="transfers")
    ] = ()
    rewards: Annotated[
        tuple[HbarTransfer, ...] | None,
        Lenient(ObjectList(HbarTransfer), data_key="staking_reward_transfers"),
    ] = ()
    # Lists of transactions leave these fees out. A look-up by id has them.
    assessed_fees: Annotated[
        tuple[AssessedFee, ...] | None,
        Lenient(ObjectList(AssessedFee), data_key="assessed_custom_fees"),
    ] = ()
    entity_id: Annotated[str | None, entity("entity_id")] = (
        None  # the token that it changes, if any
    )
    # Only for a batch's part, or for a child of a contract call.
    parent_at: Annotated[int | None, lenient_moment("parent_consensus_timestamp")] = None

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

    consensus_at: Annotated[int, moment("consensus_timestamp")]  # of this transaction
    public_key: Annotated[bytes, Text(read_base64, data_key="public_key_prefix")] = (
        b""  # or the first bytes of it
    )


class Schedule(NamedTuple):
    """A transaction that waits for its signatures, or has waited for them: HIP-423."""

    id: Annotated[str, entity("schedule_id")]
    creator: Annotated[str, entity("creator_account_id")]
    created_at: Annotated[int, moment("consensus_timestamp")]
    body: Annotated[
        bytes, Text(read_base64, data_key="transaction_body")
    ]  # a SchedulableTransactionBody
    payer: Annotated[str | None, entity("payer_account_id")] = None
    signatures: Annotated[tuple[ScheduleSignature, ...], ObjectList(ScheduleSignature)] = ()
    memo: Annotated[str, Text()] = ""
    is_deleted: Annotated[bool, flag("deleted")] = False
    executed_at: Annotated[int | None, moment("executed_timestamp")] = None
    expires_at: Annotated[int | None, moment("expiration_time")] = None
    waits_for_expiry: Annotated[bool, flag("wait_for_expiry")] = False
    admin_key: Annotated[LedgerKey | None, Lenient(Nested(LedgerKey))] = None  # can delete it

    @property
    def moments(self) -> set[int]:
        """When it was created, signed and executed. The ledger shows no date for a deletion."""
        signed = {signature.consensus_at for signature in self.signatures}
        return signed | {self.created_at, self.executed_at or 0}

    @property
    def newest_at(self) -> int:
        """When it last changed."""
        return max(self.moments)


class HistoryEntry(NamedTuple):
    """One entry of an NFT's history: of a transaction that succeeded."""

    name: Annotated[str, Text(read_code, data_key="type")]
    transaction_id: Annotated[TransactionId, Text(TransactionId.require)]
    consensus_at: Annotated[int, moment("consensus_timestamp")]
    sender: Annotated[str | None, entity("sender_account_id")] = None
    receiver: Annotated[str | None, entity("receiver_account_id")] = None
    is_approval: Annotated[bool, flag("is_approval")] = False  # a spender moved it, not its owner

    @property
    def is_move(self) -> bool:
        """Whether it transferred the NFT to another account."""
        return None not in (self.sender, self.receiver) and self.sender != self.receiver

    @property
    def is_harmless(self) -> bool:
        """Whether it changed only the metadata, not owner and approvals."""
        return self.name == TransactionType.METADATA_UPDATE

    @property
    def payer(self) -> str:
        return self.transaction_id.account_id


class History(NamedTuple):
    """An NFT's newest entries, and the last event that decides its owner and spender."""

    newest_at: int | None  # nanoseconds; of the newest entry, harmless or not
    last_event: HistoryEntry | None
    is_cut: bool = False  # whether it is too long to find its last event
    entries: tuple[HistoryEntry, ...] = ()  # the newest ones, the newest first
    # Whether the next page came from a replica that does not show the last of these entries yet.
    is_torn: bool = False


class Part(NamedTuple):
    """Which part of a message a row of its topic has. SDKs split a message of more than 1,024 bytes."""

    payer: Annotated[str, entity("initial_transaction_id.account_id")]
    valid_start: Annotated[int, moment("initial_transaction_id.transaction_valid_start")]
    number: Annotated[int, whole(1)]
    total: Annotated[int, whole(1)]

    @property
    def message(self) -> tuple[str, int]:
        """What a message's parts share: the id of the transaction that began the message."""
        return self.payer, self.valid_start


class Message(NamedTuple):
    """A row of a topic: a message, or a part of one."""

    content: Annotated[bytes, Text(read_base64, data_key="message")]
    topic: Annotated[str | None, entity("topic_id")] = None
    part: Annotated[Part | None, Lenient(Nested(Part), data_key="chunk_info")] = (
        None  # None: it was not split
    )


class Topic(NamedTuple):
    memo: Annotated[str, Text()]


class Block(NamedTuple):
    ended_at: Annotated[int, moment("timestamp.to")]


class Links(NamedTuple):
    following: Annotated[str | None, Text(data_key="links.next")]  # None on the last page
