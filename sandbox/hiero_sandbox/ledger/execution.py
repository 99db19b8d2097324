"""A transaction at consensus: its signatures, its consensus timestamp, and what it has moved so far."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from hiero_sdk_python.hapi.services.basic_types_pb2 import AccountID, Key
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody
from hiero_sdk_python.hapi.services.transaction_record_pb2 import TransactionRecord

from hiero_sandbox import messages, times
from hiero_sandbox.ids import MAX_INT64, TransactionId
from hiero_sandbox.ledger import accounts, keys, network_fees, nfts, tokens
from hiero_sandbox.ledger.envelopes import Id, Refused, Signed, number_of, refuse_if, write_id
from hiero_sandbox.ledger.network_fees import Fee
from hiero_sandbox.ledger.nfts import Nft
from hiero_sandbox.storage import Connection

# Amounts by account and token. For HBAR the token is None, and the amount is in tinybars.
Changes = Mapping[tuple[str, str | None], int]

MAX_TEXT_BYTES = 100
FEE_UNPAID = "INSUFFICIENT_SENDER_ACCOUNT_BALANCE_FOR_CUSTOM_FEE"


class AssessedFee(NamedTuple):
    """A custom fee that was taken, in tinybars or units of a token."""

    payer: str
    collector: str
    amount: int
    token: str | None = None
    further_payers: tuple[str, ...] = ()  # of a fraction of what several get

    @property
    def payers(self) -> tuple[str, ...]:
        return (self.payer, *self.further_payers)


class NftTransfer(NamedTuple):
    """An NFT that changed. A minted one has no sender. One that was only approved has neither party."""

    token: str
    serial_no: int
    sender: str = ""
    receiver: str = ""
    is_approval: bool = False


@dataclass
class Effects:
    """The effects of a transaction. A failed one has none."""

    # Tinybars and units of tokens, without the transaction's own fee.
    moved: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    assessed_fees: list[AssessedFee] = field(default_factory=list)
    nfts: list[NftTransfer] = field(default_factory=list)
    moves_all: bool = False  # all NFTs of a treasury, at once
    # For automatic associations and the creation of accounts, in tinybars.
    further_fee: int = 0
    rewards: dict[str, int] = field(default_factory=dict)  # of staking, paid in tinybars
    # What only a transaction of this type has in its record, and in its receipt.
    record: TransactionRecord = field(default_factory=TransactionRecord)
    # Transactions that it has executed by itself: a scheduled one, and creations of accounts for aliases.
    children: "list[Execution]" = field(default_factory=list)

    def record_association(self, account_id: str, token: str) -> None:
        """Record an association that the transaction makes by itself."""
        associated = {"account_id": messages.account(account_id), "token_id": messages.token(token)}
        self.record.automatic_token_associations.add(**associated)


@dataclass
class Execution:
    """One transaction while it is handled. ``now`` is its consensus timestamp, in nanoseconds."""

    db: Connection
    node: "Node"
    signed: Signed
    now: int
    # Tinybars by the price list. A failed transaction costs them, too.
    fee: int
    effects: Effects = field(default_factory=Effects)
    inner: "list[Execution]" = field(default_factory=list)  # the transactions of a batch
    result: str = "SUCCESS"
    paid_by: str = ""  # who pays, if not the account in its id: of a scheduled transaction

    @property
    def id(self) -> TransactionId:
        return self.signed.id

    @property
    def payer(self) -> str:
        return self.paid_by or self.id.account_id

    def child(self, now: int, fee: int = 0, **fields: Any) -> "Execution":
        """A transaction that this one executes by itself, under the same id."""
        parent = self.signed.body
        body = TransactionBody(
            transactionID=parent.transactionID,
            nodeAccountID=parent.nodeAccountID,
            transactionValidDuration=parent.transactionValidDuration,
            **fields,
        )
        made = Execution(self.db, self.node, self.signed._replace(body=body, hash=b""), now, fee)
        self.effects.children.append(made)
        return made

    def require_signature(self, account_id: str) -> None:
        """Refuse with INVALID_SIGNATURE if this account has not signed."""
        accounts.require_signature(self.db, self.signed, account_id, self.now)

    def has_signed(self, account_id: str) -> bool:
        try:
            self.require_signature(account_id)
        except Refused:
            return False
        return True

    def require_key(self, key: Key) -> None:
        """Refuse with INVALID_SIGNATURE if this key has not signed."""
        refuse_if(not keys.has_signed(key, self.signed), "INVALID_SIGNATURE")

    def charge(self, fee: int) -> None:
        """Take a fee from the transaction's payer."""
        accounts.add(self.db, self.payer, -fee, self.now, "INSUFFICIENT_PAYER_BALANCE")
        accounts.add(self.db, accounts.FEE_COLLECTOR, fee, self.now)

    def charge_further(self, usd: Decimal) -> None:
        """Take a fee beyond the price list, even above the transaction's own maximum."""
        if self.payer in network_fees.SUPERUSERS:
            return
        fee = network_fees.tinybars(self.db, usd)
        self.charge(fee)
        self.effects.further_fee += fee

    def pay_rewards(self) -> None:
        """Pay the staking rewards of the accounts whose HBAR changed, as far as 0.0.800 has enough."""
        payer = [self.payer] if self.fee + self.effects.further_fee else []
        changed = {account_id for (account_id, token) in self.effects.moved if token is None}
        for account_id in sorted({*payer, *changed}):
            reward = accounts.get(self.db, account_id).pending_reward
            if 0 < reward <= accounts.balance(self.db, accounts.STAKING_REWARDS):
                accounts.add(self.db, accounts.STAKING_REWARDS, -reward, self.now)
                accounts.add(self.db, account_id, reward, self.now)
                accounts.change(self.db, account_id, self.now, pending_reward=0)
                self.effects.rewards[account_id] = reward

    def move(self, changes: Changes) -> None:
        """Change balances: of HBAR if the token is None, otherwise of a token's units.

        Refuses an account that has too little, with another code if it pays custom fees.
        """
        fee_payers = {payer for fee in self.effects.assessed_fees for payer in fee.payers}
        for (account_id, token), amount in changes.items():
            unpaid = "INSUFFICIENT_TOKEN_BALANCE" if token else accounts.UNPAID
            code = FEE_UNPAID if account_id in fee_payers else unpaid
            if token:
                tokens.get_usable(self.db, token)
                if amount < 0:
                    accounts.require_associated(self.db, account_id, token)
                self.let_hold(account_id, token)
                accounts.add_units(self.db, account_id, token, amount, code)
            else:
                accounts.add(self.db, account_id, amount, self.now, code)
            self.effects.moved[account_id, token] += amount

    def let_hold(self, account_id: str, token: str) -> None:
        """Associate an account with a token, if needed. Refuses if it may not hold the token."""
        accounts.require_usable(self.db, account_id)
        if accounts.associate_receiver(self.db, account_id, token, self.now):
            self.charge_further(network_fees.ASSOCIATION)
            self.effects.record_association(account_id, token)
        tokens.require_unrestricted(self.db, token, account_id)

    def change_units(self, account_id: str, token: str, amount: int, code: str) -> None:
        """Change how many units of a token an account has. Refuses, with the code, to take too many."""
        accounts.add_units(self.db, account_id, token, amount, code)
        self.effects.moved[account_id, token] += amount

    def change_nft(self, nft: Nft, **changes: Any) -> None:
        """Change some columns of an NFT."""
        nfts.put(self.db, nft, modified_at=self.now, **changes)
        self.effects.nfts.append(NftTransfer(nft.token, nft.serial_no))

    def move_nft(self, nft: Nft, receiver: str, is_approval: bool = False) -> None:
        """Give an NFT to another account. One that NOBODY gives is minted; one that NOBODY gets ends."""
        unapproved = {"spender": None, "delegating_spender": None}
        nfts.put(self.db, nft, owner=receiver, modified_at=self.now, **unapproved)
        moved = NftTransfer(nft.token, nft.serial_no, nft.owner, receiver, is_approval)
        self.effects.nfts.append(moved)


class Handler(NamedTuple):
    """All about one type of transaction. consensus.HANDLERS has it under the type's field of the body."""

    execute: Callable[[Execution, Any], None]  # at consensus
    check: Callable[[Any], None] = lambda content: None  # before consensus
    fee: Fee = Fee()
    about: str = ""  # the field of the content with the id of the entity that mirror nodes name
    creates: str = ""  # or the field of the receipt, if it creates that entity
    function: str = ""  # in HAPI's HederaFunctionality, if it is not named as the field of the body


class Node(NamedTuple):
    """What a transaction needs that holds others: a batch, or one about a schedule."""

    handlers: Mapping[str, Handler]  # by type of transaction
    run: Callable[[Execution], str]  # executes a transaction, and returns its result code
    run_inner: Callable[[Execution], str]  # checks and charges it, too: of a batch
    clock_moved: int = 0  # how far the ledger's clock is ahead of this machine's, in nanoseconds

    def fee_of(self, body: TransactionBody) -> Fee:
        """What a transaction's type costs. One that is not executed costs as much as most others."""
        handler = self.handlers.get(str(body.WhichOneof("data")))
        return handler.fee if handler else Fee()


def require_id(body: TransactionBody) -> None:
    """Refuse a transaction whose id is invalid: its account, its start, or a nonce or flag that is set."""
    entity(body.transactionID.accountID, "PAYER_ACCOUNT_NOT_FOUND")
    if body.transactionID.scheduled or body.transactionID.nonce:
        raise Refused("TRANSACTION_ID_FIELD_NOT_ALLOWED")
    start = body.transactionID.transactionValidStart
    if not 0 <= start.nanos < times.SECOND or not 0 <= start.seconds < 10**11:
        raise Refused("INVALID_TRANSACTION_START")


def entity(proto: Id, code: str) -> str:
    """Write a protobuf id as text. Refuses, with the code, an id that no entity can have."""
    number = number_of(proto)
    if min(proto.shardNum, proto.realmNum, number) < 0 or number > MAX_INT64 or number == 0:
        raise Refused(code)
    return write_id(proto)


def party(proto: AccountID, code: str) -> str:
    """Write the id of an account that a transfer may name by its alias. Refuses as entity() does."""
    return write_id(proto) if proto.alias else entity(proto, code)


def require_short(text: bytes, code: str) -> None:
    """Refuse, with the code, a text or metadata that is too long."""
    refuse_if(len(text) > MAX_TEXT_BYTES, code)
