"""The shapes of a mirror node's answers. What is not of its shape is refused, what is more is ignored."""

import base64
import string
from fractions import Fraction
from typing import NamedTuple

from marshmallow import EXCLUDE, Schema, ValidationError, fields, post_load, validate

from marketplace import times
from marketplace.hbar import TINYBARS
from marketplace.ids import MAX_INT64, TransactionId, is_entity_id
from marketplace.ledger import tokens
from marketplace.ledger.tokens import Token

CODE = validate.Regexp(r"[A-Z0-9_]{1,80}\Z")  # kinds of transactions, and results
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
    """Who signs for an account: ED25519, ECDSA_SECP256K1, or ProtobufEncoded, as lists of keys are."""

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
    """What an account has to do with a token that it is associated with."""

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
    """What a transaction did with one NFT."""

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
    """What happened to one NFT at one moment."""

    name: str
    transaction_id: TransactionId
    consensus_at: int  # nanoseconds


class History(NamedTuple):
    """How new the history of one NFT is, and the last event that decides who may spend it."""

    newest_at: int | None  # nanoseconds; of the newest entry, harmless or not
    last_event: NftEvent | None
    is_cut: bool = False  # too long to be read to its last event


class Message(NamedTuple):
    """One message of a topic."""

    content: bytes


def decode_base64(text: str) -> bytes:
    """Decode base64 with or without its padding. Raises ValueError."""
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)


class _Checked(fields.String):
    """A string that is turned into a value, or refused."""

    def _deserialize(self, value, attr, data, **kwargs):
        try:
            return self.read(super()._deserialize(value, attr, data, **kwargs))
        except ValueError as error:
            raise ValidationError(str(error)) from error


class _EntityId(_Checked):
    def read(self, value):
        if not is_entity_id(value):
            raise ValueError("is not an entity id")
        return value


class _Consensus(_Checked):
    def read(self, value):
        return times.from_consensus(value)


class _Base64(_Checked):
    def read(self, value):
        return decode_base64(value)


class _TransactionId(_Checked):
    def read(self, value):
        transaction_id = TransactionId.parse(value)
        if transaction_id is None:
            raise ValueError("is not a transaction id")
        return transaction_id


class _Pointer(_Checked):
    """The metadata an NFT was minted with: base64 of text, mostly; if not, as it is.

    Some minters fill a field of fixed length up with NULs or spaces.
    """

    def read(self, value):
        try:
            text = decode_base64(value).decode()
        except ValueError:  # not base64, or not of text
            text = value.encode(errors="ignore").decode()
        return text.strip(f"\0{string.whitespace}")


class _Shape(Schema):
    class Meta:
        unknown = EXCLUDE


class _Links(_Shape):
    next = fields.String(required=True, allow_none=True)


class NftAnswer(_Shape):
    token = _EntityId(required=True, data_key="token_id")
    serial_no = fields.Integer(
        required=True,
        strict=True,
        validate=validate.Range(1, MAX_INT64),
        data_key="serial_number",
    )
    owner = _EntityId(required=True, allow_none=True, data_key="account_id")
    spender = _EntityId(allow_none=True, load_default=None)  # left out by old mirror nodes
    is_deleted = fields.Boolean(required=True, allow_none=True, data_key="deleted")
    pointer = _Pointer(load_default="", allow_none=True, data_key="metadata")
    modified_at = _Consensus(required=True, data_key="modified_timestamp")

    @post_load
    def make(self, values, **kwargs):
        read = {"is_deleted": bool(values["is_deleted"]), "pointer": values["pointer"] or ""}
        return Nft(**values | read)


class NftsAnswer(_Shape):
    items = fields.List(fields.Raw(), required=True, data_key="nfts")  # each read by itself
    links = fields.Nested(_Links, required=True)


class TokenAnswer(_Shape):
    name = fields.String(required=True)
    type = fields.String(load_default="")
    symbol = fields.Raw(load_default=None)
    total_supply = fields.Raw(load_default=None)  # written as a string
    treasury = fields.Raw(load_default=None, data_key="treasury_account_id")
    custom_fees = fields.Raw(load_default=None)
    is_deleted = fields.Boolean(load_default=False, allow_none=True, data_key="deleted")
    pause_status = fields.String(load_default="NOT_APPLICABLE", allow_none=True)
    kyc_key = fields.Raw(load_default=None, allow_none=True)
    freeze_default = fields.Boolean(load_default=False, allow_none=True)

    @post_load
    def make(self, values, **kwargs):
        read = {
            "total_supply": tokens.read_amount(values["total_supply"]),
            "treasury": tokens.read_treasury(values["treasury"]),
            "is_deleted": bool(values["is_deleted"]),
            "is_paused": values.pop("pause_status") == "PAUSED",
            "asks_for_kyc": values.pop("kyc_key") is not None,
            "freezes_newcomers": bool(values.pop("freeze_default")),
            **tokens.read_custom_fees(values.pop("custom_fees")),
        }
        return Token(**values | read)


class _Key(_Shape):
    type = fields.String(required=True, data_key="_type")
    hex = fields.String(required=True, data_key="key")

    @post_load
    def make(self, values, **kwargs):
        return Key(**values)


class _Balance(_Shape):
    balance = fields.Integer(
        required=True, allow_none=True, strict=True, validate=validate.Range(0, MAX_INT64)
    )


class AccountAnswer(_Shape):
    is_deleted = fields.Boolean(load_default=False, allow_none=True, data_key="deleted")
    key = fields.Nested(_Key, load_default=None, allow_none=True)
    balance = fields.Nested(_Balance, load_default=None, allow_none=True)
    max_automatic_associations = fields.Integer(
        load_default=0, allow_none=True, data_key="max_automatic_token_associations"
    )
    must_sign_to_receive = fields.Boolean(
        load_default=False, allow_none=True, data_key="receiver_sig_required"
    )

    @post_load
    def make(self, values, **kwargs):
        return Account(
            is_deleted=bool(values["is_deleted"]),
            key=values["key"],
            balance=values["balance"] and values["balance"]["balance"],
            max_automatic_associations=values["max_automatic_associations"] or 0,
            must_sign_to_receive=bool(values["must_sign_to_receive"]),
        )


class RelationshipAnswer(_Shape):
    token = _EntityId(required=True, data_key="token_id")
    is_automatic = fields.Boolean(
        load_default=False, allow_none=True, data_key="automatic_association"
    )
    freeze_status = fields.String(load_default="NOT_APPLICABLE", allow_none=True)
    kyc_status = fields.String(load_default="NOT_APPLICABLE", allow_none=True)
    balance = fields.Integer(
        load_default=0, allow_none=True, strict=True, validate=validate.Range(0, MAX_INT64)
    )

    @post_load
    def make(self, values, **kwargs):
        return Relationship(
            values["token"],
            bool(values["is_automatic"]),
            is_frozen=values["freeze_status"] == "FROZEN",
            lacks_kyc=values["kyc_status"] == "REVOKED",
            balance=values["balance"] or 0,
        )


class RelationshipsAnswer(_Shape):
    items = fields.List(fields.Nested(RelationshipAnswer), required=True, data_key="tokens")
    links = fields.Nested(_Links, required=True)


class NftTransferAnswer(_Shape):
    token = _EntityId(required=True, data_key="token_id")
    serial_no = fields.Integer(required=True, strict=True, data_key="serial_number")
    sender = _EntityId(allow_none=True, load_default=None, data_key="sender_account_id")
    receiver = _EntityId(allow_none=True, load_default=None, data_key="receiver_account_id")

    @post_load
    def make(self, values, **kwargs):
        return NftTransfer(**values)


class TransactionAnswer(_Shape):
    name = fields.String(required=True, validate=CODE)
    transaction_id = _TransactionId(required=True)
    result = fields.String(required=True, validate=CODE)
    memo = _Base64(allow_none=True, load_default=b"", data_key="memo_base64")
    consensus_at = _Consensus(required=True, data_key="consensus_timestamp")
    nonce = fields.Integer(load_default=0)
    scheduled = fields.Boolean(load_default=False)
    fee_tinybars = fields.Integer(
        load_default=0,
        allow_none=True,
        strict=True,
        validate=validate.Range(0, MAX_FEE),
        data_key="charged_tx_fee",
    )
    nft_transfers = fields.List(fields.Nested(NftTransferAnswer), load_default=(), allow_none=True)

    @post_load
    def make(self, values, **kwargs):
        read = {
            "memo": values["memo"] or b"",
            "fee_tinybars": values["fee_tinybars"] or 0,
            "nft_transfers": tuple(values["nft_transfers"] or ()),
        }
        return Transaction(**values | read)


class TransactionsAnswer(_Shape):
    items = fields.List(fields.Nested(TransactionAnswer), required=True, data_key="transactions")


class ListedTransactionAnswer(TransactionAnswer):
    entity_id = _EntityId(allow_none=True, load_default=None)


class TransactionListAnswer(_Shape):
    items = fields.List(
        fields.Dict(), required=True, data_key="transactions"
    )  # each read by itself


class NftEventAnswer(_Shape):
    name = fields.String(required=True, validate=CODE, data_key="type")
    transaction_id = _TransactionId(required=True)
    consensus_at = _Consensus(required=True, data_key="consensus_timestamp")

    @post_load
    def make(self, values, **kwargs):
        return NftEvent(**values)


class NftEventsAnswer(_Shape):
    items = fields.List(fields.Nested(NftEventAnswer), required=True, data_key="transactions")
    links = fields.Nested(_Links, required=True)


class _BlockTimes(_Shape):
    to = _Consensus(required=True)


class _Block(_Shape):
    timestamp = fields.Nested(_BlockTimes, required=True)


class BlocksAnswer(_Shape):
    blocks = fields.List(fields.Nested(_Block), required=True)


class _ExchangeRate(_Shape):
    cents = fields.Integer(
        required=True, validate=validate.Range(1, 2**31), data_key="cent_equivalent"
    )
    hbar = fields.Integer(
        required=True, validate=validate.Range(1, 2**31), data_key="hbar_equivalent"
    )

    @post_load
    def make(self, values, **kwargs):
        return ExchangeRate(**values)


class ExchangeRatesAnswer(_Shape):
    current_rate = fields.Nested(_ExchangeRate, required=True)
    next_rate = fields.Nested(_ExchangeRate, required=True)


class TopicAnswer(_Shape):
    memo = fields.String(required=True)


class MessageAnswer(_Shape):
    content = _Base64(required=True, data_key="message")

    @post_load
    def make(self, values, **kwargs):
        return Message(**values)


class MessagesAnswer(_Shape):
    items = fields.List(fields.Nested(MessageAnswer), required=True, data_key="messages")
    links = fields.Nested(_Links, required=True)


NFT, NFTS, NFT_EVENTS = NftAnswer(), NftsAnswer(), NftEventsAnswer()
TOKEN, TRANSACTIONS = TokenAnswer(), TransactionsAnswer()
TRANSACTION_LIST, LISTED_TRANSACTION = TransactionListAnswer(), ListedTransactionAnswer()
ACCOUNT, RELATIONSHIPS = AccountAnswer(), RelationshipsAnswer()
BLOCKS, EXCHANGE_RATES = BlocksAnswer(), ExchangeRatesAnswer()
TOPIC, MESSAGE, MESSAGES = TopicAnswer(), MessageAnswer(), MessagesAnswer()
