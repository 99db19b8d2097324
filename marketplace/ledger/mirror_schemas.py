"""The shapes of a mirror node's answers. What is not of its shape is refused, what is more is ignored."""

import base64
import re
import string
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Generic, NamedTuple, TypeVar

from marketplace import times
from marketplace.hbar import TINYBARS
from marketplace.ids import MAX_INT64, TransactionId, is_entity_id
from marketplace.ledger import tokens
from marketplace.ledger.tokens import Token

# 100,000 HBAR, in tinybars: no transaction costs as much, and the sum of an answer's stays within 63 bits.
MAX_FEE = 10**13


class Nft(NamedTuple):
    """One NFT as the ledger has it: who owns it, who may spend it, where its metadata is."""

    token: str
    serial_no: int
    owner: str | None
    spender: str | None
    is_deleted: bool
    pointer: str
    modified_at: int  # nanoseconds


class Key(NamedTuple):
    """An account's key: ED25519, ECDSA_SECP256K1, or ProtobufEncoded, as lists of keys are."""

    type: str
    hex: str


class Account(NamedTuple):
    """An account as the ledger has it."""

    is_deleted: bool
    key: Key | None
    balance: int | None  # tinybars; None where it is not told
    max_automatic_associations: int  # -1: any number
    must_sign_to_receive: bool


class Relationship(NamedTuple):
    """An account's relationship with a token that it is associated with."""

    token: str
    is_automatic: bool
    is_frozen: bool
    lacks_kyc: bool
    balance: int = 0  # smallest units, or NFTs


class ExchangeRate(NamedTuple):
    """So many HBAR are so many US cents."""

    cents: int
    hbar: int

    @property
    def tinybars_per_cent(self) -> Fraction:
        return Fraction(self.hbar * TINYBARS, self.cents)


class NftTransfer(NamedTuple):
    """One NFT's part in a transaction."""

    token: str
    serial_no: int
    sender: str | None  # None where it was minted
    receiver: str | None  # None where it was burned


class Transaction(NamedTuple):
    """One row under a transaction id: several may share it."""

    name: str
    transaction_id: TransactionId
    result: str
    memo: bytes
    consensus_at: int  # nanoseconds
    nonce: int
    scheduled: bool
    fee_tinybars: int = 0  # that its payer was charged
    nft_transfers: tuple[NftTransfer, ...] = ()
    entity_id: str | None = None  # what it is about: of a token's transactions the token
    hbar_transfers: tuple[tuple[str, int], ...] = ()  # accounts, and tinybars that each was given

    def moves(self, token: str, serial_no: int, receiver: str) -> bool:
        """Tell whether it gave an NFT to an account."""
        return any(
            (moved.token, moved.serial_no, moved.receiver) == (token, serial_no, receiver)
            for moved in self.nft_transfers
        )

    @property
    def is_original(self) -> bool:
        """Whether it is the one that was signed under this id.

        Not so a repetition that was refused, what a contract call made happen, what a schedule executed.
        """
        return self.nonce == 0 and not self.scheduled and self.result != "DUPLICATE_TRANSACTION"

    @property
    def payer(self) -> str:
        return self.transaction_id.account_id


class NftEvent(NamedTuple):
    """One entry of an NFT's history."""

    name: str
    transaction_id: TransactionId
    consensus_at: int  # nanoseconds
    sender: str | None = None
    receiver: str | None = None
    is_approval: bool = False  # whether a spender moved it, not its owner

    @property
    def is_move(self) -> bool:
        """Whether it gave the NFT to another account."""
        return None not in (self.sender, self.receiver) and self.sender != self.receiver


class History(NamedTuple):
    """How new the history of one NFT is, and the last event that decides who may spend it."""

    newest_at: int | None  # nanoseconds; of the newest entry, harmless or not
    last_event: NftEvent | None
    is_cut: bool = False  # too long to be read to its last event
    entries: tuple[NftEvent, ...] = ()  # the newest hundred, the newest first


class Page(NamedTuple):
    """One page of a list."""

    items: list[Any]
    next: str | None = None  # the path of the next page


class Message(NamedTuple):
    """One message of a topic."""

    content: bytes


def decode_base64(text: str) -> bytes:
    """Decode base64 with or without its padding. Raises ValueError."""
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)


# Readers: each takes a JSON value, and returns what it means. Raises ValueError.

Read = Callable[[Any], Any]


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("is not a text")
    return value


def code(value: Any) -> str:
    """The name of a kind of transaction, or of a result."""
    if not re.fullmatch("[A-Z0-9_]{1,80}", text(value)):
        raise ValueError("is not a code")
    return text(value)


def boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("is not a boolean")
    return value


def number(low: int = -MAX_INT64, high: int = MAX_INT64) -> Read:
    def read(value: Any) -> int:
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"is not a whole number between {low} and {high}")
        return value

    return read


def is_text(expected: str) -> Read:
    return lambda value: text(value) == expected


def entity_id(value: Any) -> str:
    if not is_entity_id(text(value)):
        raise ValueError("is not an entity id")
    return text(value)


def transaction_id(value: Any) -> TransactionId:
    if not (parsed := TransactionId.parse(text(value))):
        raise ValueError("is not a transaction id")
    return parsed


def consensus(value: Any) -> int:
    return times.from_consensus(text(value))


def encoded(value: Any) -> bytes:
    return decode_base64(text(value))


def pointer(value: Any) -> str:
    """The metadata an NFT was minted with: base64 of text, mostly; if not, as it is.

    Some minters fill a field of fixed length up with NULs or spaces.
    """
    try:
        decoded = encoded(value).decode()
    except ValueError:  # not base64, or not of text
        decoded = text(value).encode(errors="ignore").decode()
    return decoded.strip(f"\0{string.whitespace}")


def document(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("is not an object")
    return value


def list_of(read: Read) -> Read:
    def read_all(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise ValueError("is not a list")
        return [read(item) for item in value]

    return read_all


# Shapes


T = TypeVar("T")
REFUSED: Any = object()


class Field(NamedTuple):
    """The key of a value in an object, and its parser."""

    key: str
    read: Read
    null: Any = REFUSED  # the value where it is null
    missing: Any = REFUSED  # the value where it is not there

    def find(self, values: dict[str, Any]) -> Any:
        """Raises ValueError, which names the key."""
        value = values.get(self.key)
        default = self.null if self.key in values else self.missing
        if value is None and default is not REFUSED:
            return default
        try:
            return self.read(value)
        except ValueError as error:
            raise ValueError(f"{self.key} {error}") from error


def optional(key: str, read: Read, default: Any = None) -> Field:
    """A value that may be null, or left out."""
    return Field(key, read, null=default, missing=default)


class Shape(Generic[T]):
    """How an object of the mirror node is read: each field of what it is here, by its name."""

    def __init__(self, make: Callable[..., T], **fields: Field) -> None:
        self._make = make
        self._fields = fields

    def read(self, value: Any) -> T:
        """Raises ValueError for what is not of this shape."""
        values = document(value)
        return self._make(**{name: field.find(values) for name, field in self._fields.items()})


def only(key: str, read: Read) -> Shape[Any]:
    """An object of which one value is read."""
    return Shape(lambda value: value, value=Field(key, read))


def _page(key: str, read: Read) -> Shape[Page]:
    links = Shape(lambda next: next, next=Field("next", text, null=None))
    return Shape(Page, items=Field(key, list_of(read)), next=Field("links", links.read))


def _make_token(custom_fees: Any, **values: Any) -> Token:
    return Token(**values, **tokens.read_custom_fees(custom_fees))


NFT = Shape(
    Nft,
    token=Field("token_id", entity_id),
    serial_no=Field("serial_number", number(1)),
    owner=Field("account_id", entity_id, null=None),
    spender=optional("spender", entity_id),  # left out by old mirror nodes
    is_deleted=Field("deleted", boolean, null=False),
    pointer=optional("metadata", pointer, ""),
    modified_at=Field("modified_timestamp", consensus),
)
NFTS = _page("nfts", lambda item: item)  # each read by itself
TOKEN = Shape(
    _make_token,
    name=Field("name", text),
    type=Field("type", text, missing=""),
    symbol=optional("symbol", lambda value: value),
    total_supply=optional("total_supply", tokens.read_amount),  # written as a string
    treasury=optional("treasury_account_id", tokens.read_treasury),
    custom_fees=optional("custom_fees", lambda value: value),
    is_deleted=optional("deleted", boolean, False),
    is_paused=optional("pause_status", is_text("PAUSED"), False),
    asks_for_kyc=optional("kyc_key", lambda value: True, False),
    freezes_newcomers=optional("freeze_default", boolean, False),
)
_KEY = Shape(Key, type=Field("_type", text), hex=Field("key", text))
_BALANCE = Shape(lambda value: value, value=Field("balance", number(0), null=None))
ACCOUNT = Shape(
    Account,
    is_deleted=optional("deleted", boolean, False),
    key=optional("key", _KEY.read),
    balance=optional("balance", _BALANCE.read),
    max_automatic_associations=optional("max_automatic_token_associations", number(), 0),
    must_sign_to_receive=optional("receiver_sig_required", boolean, False),
)
_RELATIONSHIP = Shape(
    Relationship,
    token=Field("token_id", entity_id),
    is_automatic=optional("automatic_association", boolean, False),
    is_frozen=optional("freeze_status", is_text("FROZEN"), False),
    lacks_kyc=optional("kyc_status", is_text("REVOKED"), False),
    balance=optional("balance", number(0), 0),
)
RELATIONSHIPS = _page("tokens", _RELATIONSHIP.read)
_NFT_TRANSFER = Shape(
    NftTransfer,
    token=Field("token_id", entity_id),
    serial_no=Field("serial_number", number()),
    sender=optional("sender_account_id", entity_id),
    receiver=optional("receiver_account_id", entity_id),
)
_TRANSACTION = {
    "name": Field("name", code),
    "transaction_id": Field("transaction_id", transaction_id),
    "result": Field("result", code),
    "memo": optional("memo_base64", encoded, b""),
    "consensus_at": Field("consensus_timestamp", consensus),
    "nonce": Field("nonce", number(), missing=0),
    "scheduled": Field("scheduled", boolean, missing=False),
    "fee_tinybars": optional("charged_tx_fee", number(0, MAX_FEE), 0),
    "nft_transfers": optional(
        "nft_transfers", lambda value: tuple(list_of(_NFT_TRANSFER.read)(value)), ()
    ),
}
_HBAR_TRANSFER = Shape(
    lambda account, amount: (account, amount),
    account=Field("account", entity_id),
    amount=Field("amount", number()),
)
_WHOLE_TRANSACTION = Shape(
    Transaction,
    **_TRANSACTION,
    hbar_transfers=optional(
        "transfers", lambda value: tuple(list_of(_HBAR_TRANSFER.read)(value)), ()
    ),
)
TRANSACTIONS = Shape(Page, items=Field("transactions", list_of(_WHOLE_TRANSACTION.read)))
LISTED_TRANSACTION = Shape(Transaction, **_TRANSACTION, entity_id=optional("entity_id", entity_id))
TRANSACTION_LIST = Shape(Page, items=Field("transactions", list_of(document)))
_NFT_EVENT = Shape(
    NftEvent,
    name=Field("type", code),
    transaction_id=Field("transaction_id", transaction_id),
    consensus_at=Field("consensus_timestamp", consensus),
    sender=optional("sender_account_id", entity_id),
    receiver=optional("receiver_account_id", entity_id),
    is_approval=optional("is_approval", boolean, False),
)
NFT_EVENTS = _page("transactions", _NFT_EVENT.read)
# The ends of blocks.
BLOCKS: Shape[list[int]] = only(
    "blocks", list_of(only("timestamp", only("to", consensus).read).read)
)
_RATE = Shape(
    ExchangeRate,
    cents=Field("cent_equivalent", number(1, 2**31)),
    hbar=Field("hbar_equivalent", number(1, 2**31)),
)
EXCHANGE_RATES: Shape[tuple[ExchangeRate, ExchangeRate]] = Shape(
    lambda current, following: (current, following),
    current=Field("current_rate", _RATE.read),
    following=Field("next_rate", _RATE.read),
)
TOPIC = only("memo", text)
MESSAGE = Shape(Message, content=Field("message", encoded))
MESSAGES = _page("messages", MESSAGE.read)
