"""The objects of a mirror node's answers. Each field names its key, as json_reader explains.

Source of the keys: the mirror node's OpenAPI document, /api/v1.
"""

import re
import string
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

from marketplace.hedera import times
from marketplace.hedera.ids import NftId, TransactionId, is_entity_id
from marketplace.ledger.json_reader import LENIENT, Read, read_base64, read_text, whole_number

# 100,000 HBAR, in tinybars: no transaction costs so much, and the sum of a page's fees stays within 63 bits.
MAX_FEE = 10**13


def _text(is_one: Callable[[str], object], kind: str) -> Read:
    def read(value: Any) -> str:
        if not is_one(read_text(value)):
            raise ValueError(f"is not {kind}")
        return str(value)

    return read


def _parsed_by(parse: Callable[[str], object]) -> Read:
    """The reader of a text that a function parses. The function raises ValueError to refuse it."""
    return lambda value: parse(read_text(value))


def _read_amount(value: Any) -> int:
    """Read an amount of tokens: mirror nodes write some as numbers, and others as strings of digits."""
    is_written = isinstance(value, str) and re.fullmatch("[0-9]{1,19}", value)
    amount: int = whole_number(0)(int(value) if is_written else value)
    return amount


def _read_pointer(value: Any) -> str:
    """Read the metadata of an NFT: usually text in base64, otherwise the text itself.

    Some minters pad it to a fixed length with NULs or spaces.
    """
    try:
        decoded = read_base64(value).decode()
    except ValueError:  # not base64, or the bytes are not text
        decoded = read_text(value).encode(errors="ignore").decode()
    return decoded.strip(f"\0{string.whitespace}")


def _is(expected: str) -> Read:
    return lambda value: read_text(value) == expected


# The name of a transaction type or of a result.
Code = Annotated[str, _text(re.compile("[A-Z0-9_]{1,80}").fullmatch, "a code")]
EntityId = Annotated[str, _text(is_entity_id, "an entity id")]
Id = Annotated[TransactionId, _parsed_by(TransactionId.require)]
Consensus = Annotated[int, _parsed_by(times.from_consensus)]  # nanoseconds
Natural = Annotated[int, whole_number(0)]
Positive = Annotated[int, whole_number(1)]
Amount = Annotated[int, _read_amount]


class Nft(NamedTuple):
    """One NFT as the ledger has it: its owner, its spender, and its metadata pointer."""

    token: Annotated[EntityId, "token_id"]
    serial_no: Annotated[Positive, "serial_number"]
    owner: Annotated[EntityId | None, "account_id"]
    modified_at: Annotated[Consensus, "modified_timestamp"]
    is_deleted: Annotated[bool, "deleted"] = False
    spender: Annotated[EntityId | None, "spender"] = None  # old mirror nodes leave it out
    pointer: Annotated[str, _read_pointer, "metadata"] = ""

    @property
    def id(self) -> NftId:
        return NftId(self.token, self.serial_no)


class LedgerKey(NamedTuple):
    """An account's key: ED25519, ECDSA_SECP256K1, or ProtobufEncoded for a list of keys."""

    type: Annotated[str, "_type"]
    content: Annotated[bytes, _parsed_by(bytes.fromhex), "key"]


class LedgerAccount(NamedTuple):
    """An account as the ledger has it."""

    id: Annotated[EntityId, "account"]
    is_deleted: Annotated[bool, "deleted"] = False
    key: Annotated[LedgerKey | None, "key"] = None
    balance: Annotated[Natural | None, "balance.balance"] = None  # tinybars
    max_automatic_associations: Annotated[int, "max_automatic_token_associations"] = 0  # -1: any
    must_sign_to_receive: Annotated[bool, "receiver_sig_required"] = False


class Relationship(NamedTuple):
    """An account's relationship with a token that it is associated with."""

    token: Annotated[EntityId, "token_id"]
    is_automatic: Annotated[bool, "automatic_association"] = False
    is_frozen: Annotated[bool, _is("FROZEN"), "freeze_status"] = False
    lacks_kyc: Annotated[bool, _is("REVOKED"), "kyc_status"] = False
    balance: Annotated[Natural, "balance"] = 0  # smallest units, or NFTs


class FallbackFee(NamedTuple):
    """The fee that the receiver of an NFT pays if he gives nothing of value for it."""

    amount: Annotated[Amount, "amount"]  # tinybars, or smallest units of the token
    token: Annotated[EntityId | None, "denominating_token_id"]  # None: HBAR


class RoyaltyFee(NamedTuple):
    """The part of an NFT's price that its creator is paid at each sale."""

    collector: Annotated[EntityId, "collector_account_id"]
    numerator: Annotated[Natural, "amount.numerator"]
    denominator: Annotated[Positive, "amount.denominator"]
    fallback: Annotated[FallbackFee | None, "fallback_fee"] = None
    # Whether all collectors of the token's fees are exempt from this one.
    exempts_collectors: Annotated[bool, "all_collectors_are_exempt"] = False


class FixedFee(NamedTuple):
    """An amount that the sender of an NFT, such as its seller, pays for each transfer."""

    collector: Annotated[EntityId, "collector_account_id"]
    amount: Annotated[Amount, "amount"]  # tinybars, or smallest units of the token
    token: Annotated[EntityId | None, "denominating_token_id"]  # None: HBAR
    exempts_collectors: Annotated[bool, "all_collectors_are_exempt"] = False


class LedgerToken(NamedTuple):
    """A token as the ledger has it. Lenient fields are None if the ledger's value makes no sense."""

    name: Annotated[str, "name"]
    type: Annotated[str, "type"] = ""
    total_supply: Annotated[Amount | None, "total_supply", LENIENT] = None
    symbol: Annotated[Any, "symbol"] = None
    treasury: Annotated[EntityId | None, "treasury_account_id", LENIENT] = None
    royalties: Annotated[tuple[RoyaltyFee, ...] | None, "custom_fees.royalty_fees", LENIENT] = ()
    fixed_fees: Annotated[tuple[FixedFee, ...] | None, "custom_fees.fixed_fees", LENIENT] = ()
    # When its custom fees were last changed.
    fees_since: Annotated[Consensus | None, "custom_fees.created_timestamp", LENIENT] = None
    is_deleted: Annotated[bool, "deleted"] = False
    modified_at: Annotated[Consensus | None, "modified_timestamp", LENIENT] = None
    is_paused: Annotated[bool, _is("PAUSED"), "pause_status"] = False
    asks_for_kyc: Annotated[bool, bool, "kyc_key"] = False
    freezes_newcomers: Annotated[bool, "freeze_default"] = False  # until its issuer unfreezes them
    metadata: Annotated[str | None, _read_pointer, "metadata", LENIENT] = None  # HIP-765
    memo: Annotated[str | None, "memo", LENIENT] = None

    @property
    def pointer(self) -> str | None:
        """Where the token describes itself: before HIP-765, HIP-766 had the pointer in the memo."""
        is_address = re.match("(?:ipfs|ar|hcs|https?)://", self.memo or "", re.IGNORECASE)
        return self.metadata or (self.memo if is_address else None) or None

    @property
    def is_nft(self) -> bool:
        return self.type == "NON_FUNGIBLE_UNIQUE"


class ExchangeRate(NamedTuple):
    """So many HBAR are worth so many US cents."""

    cents: Annotated[Positive, "cent_equivalent"]
    hbar: Annotated[Positive, "hbar_equivalent"]


class ExchangeRates(NamedTuple):
    """The exchange rates of this hour and of the next."""

    current: Annotated[ExchangeRate, "current_rate"]
    following: Annotated[ExchangeRate, "next_rate"]


class LedgerNftTransfer(NamedTuple):
    """The transfer of one NFT in a transaction."""

    token: Annotated[EntityId, "token_id"]
    serial_no: Annotated[int, "serial_number"]
    sender: Annotated[EntityId | None, "sender_account_id"] = None  # None if it was minted
    receiver: Annotated[EntityId | None, "receiver_account_id"] = None  # None if it was burned


class HbarTransfer(NamedTuple):
    """The tinybars that an account received in a transaction; negative if it paid them."""

    account: Annotated[EntityId, "account"]
    amount: Annotated[int, "amount"]


class AssessedFee(NamedTuple):
    """A token's fee that a transaction was charged for."""

    amount: Annotated[int, "amount"]  # tinybars, or smallest units of the token
    collector: Annotated[EntityId, "collector_account_id"]
    token: Annotated[EntityId | None, "token_id"] = None  # None: HBAR
    payers: Annotated[tuple[EntityId, ...], "effective_payer_account_ids"] = ()


class Transaction(NamedTuple):
    """One row under a transaction id: several may share it."""

    name: Annotated[Code, "name"]
    transaction_id: Annotated[Id, "transaction_id"]
    result: Annotated[Code, "result"]
    consensus_at: Annotated[Consensus, "consensus_timestamp"]
    memo: Annotated[bytes, "memo_base64"] = b""
    nonce: Annotated[int, "nonce"] = 0
    scheduled: Annotated[bool, "scheduled"] = False
    # Charged to its payer.
    fee_tinybars: Annotated[int, whole_number(0, MAX_FEE), "charged_tx_fee"] = 0
    nft_transfers: Annotated[tuple[LedgerNftTransfer, ...], "nft_transfers"] = ()
    # Net of all that moved: also of the rewards and the fees that the next two list.
    hbar_transfers: Annotated[tuple[HbarTransfer, ...], "transfers"] = ()
    rewards: Annotated[tuple[HbarTransfer, ...] | None, "staking_reward_transfers", LENIENT] = ()
    # Lists of transactions leave these out. A look-up by id has them.
    assessed_fees: Annotated[tuple[AssessedFee, ...] | None, "assessed_custom_fees", LENIENT] = ()
    entity_id: Annotated[EntityId | None, "entity_id"] = None  # the token that it changes, if any
    # Of a batch's part, or of what a contract call has executed.
    parent_at: Annotated[Consensus | None, "parent_consensus_timestamp", LENIENT] = None

    def moves(self, nft_id: NftId, receiver: str) -> bool:
        """Tell whether it transferred an NFT to an account."""
        given = (*nft_id, receiver)
        return any((nft.token, nft.serial_no, nft.receiver) == given for nft in self.nft_transfers)

    def find_paid(self, account_id: str) -> int:
        """The tinybars that an account paid to others, whatever it received as a reward or a token's fee."""
        received = [row.amount for row in self.rewards or () if row.account == account_id]
        received += [fee.amount for fee in self._fees_in_hbar if fee.collector == account_id]
        net = sum(row.amount for row in self.hbar_transfers if row.account == account_id)
        return sum(received) - net

    def find_earned(self, account_id: str) -> int:
        """The tinybars that others paid to an account, before it paid tokens' fees of them."""
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


class NftEvent(NamedTuple):
    """One entry of an NFT's history: of a transaction that succeeded."""

    name: Annotated[Code, "type"]
    transaction_id: Annotated[Id, "transaction_id"]
    consensus_at: Annotated[Consensus, "consensus_timestamp"]
    sender: Annotated[EntityId | None, "sender_account_id"] = None
    receiver: Annotated[EntityId | None, "receiver_account_id"] = None
    is_approval: Annotated[bool, "is_approval"] = False  # a spender moved it, not its owner

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


class Part(NamedTuple):
    """Which part of a message a row of its topic has. SDKs split a message of more than 1,024 bytes."""

    payer: Annotated[EntityId, "initial_transaction_id.account_id"]
    valid_start: Annotated[Consensus, "initial_transaction_id.transaction_valid_start"]
    number: Annotated[Positive, "number"]
    total: Annotated[Positive, "total"]

    @property
    def message(self) -> tuple[str, int]:
        """What the parts of a message have in common: the id of the transaction that began it."""
        return self.payer, self.valid_start


class Message(NamedTuple):
    """A row of a topic: a message, or a part of one."""

    content: Annotated[bytes, "message"]
    topic: Annotated[EntityId | None, "topic_id"] = None
    part: Annotated[Part | None, "chunk_info", LENIENT] = None  # None: it was not split


# The only value that is read from a node and a block.
NodeAccount = Annotated[EntityId, "node_account_id"]
BlockEnd = Annotated[Consensus, "timestamp.to"]


class Links(NamedTuple):
    """The links of a page."""

    following: Annotated[str | None, "links.next"]
