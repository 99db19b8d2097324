"""Builds the transactions of listings, withdrawals, purchases and offers. No key, no clock, no I/O.

Writes their bytes as the JavaScript SDK does: it writes fields that are zero, which Python omits. Some
wallets encode the body again before they sign it (hedera_signTransaction in hedera-wallet-connect). If their
bytes differed from ours, the ledger would answer INVALID_SIGNATURE.

It loads hiero-sdk-python, which takes 70 MB: import this module only when a transaction is built.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple, TypedDict, Unpack

import hiero_sdk_python.hapi.services.basic_types_pb2 as hapi
import hiero_sdk_python.hapi.services.crypto_approve_allowance_pb2 as approvals
import hiero_sdk_python.hapi.services.crypto_delete_allowance_pb2 as removals
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hiero_sdk_python.hapi.sdk.transaction_list_pb2 import TransactionList
from hiero_sdk_python.hapi.services.crypto_transfer_pb2 import CryptoTransferTransactionBody
from hiero_sdk_python.hapi.services.duration_pb2 import Duration
from hiero_sdk_python.hapi.services.schedulable_transaction_body_pb2 import (
    SchedulableTransactionBody,
)
from hiero_sdk_python.hapi.services.schedule_create_pb2 import ScheduleCreateTransactionBody
from hiero_sdk_python.hapi.services.schedule_delete_pb2 import ScheduleDeleteTransactionBody
from hiero_sdk_python.hapi.services.schedule_sign_pb2 import ScheduleSignTransactionBody
from hiero_sdk_python.hapi.services.timestamp_pb2 import Timestamp
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction
from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction, TransactionBody

from marketplace.hedera import times
from marketplace.hedera.hbar import TINYBARS, find_credit
from marketplace.hedera.ids import TransactionId, numbers

ZEROS_WRITTEN = {
    "AccountID": ("shardNum", "realmNum"),
    "TokenID": ("shardNum", "realmNum"),
    "ScheduleID": ("shardNum", "realmNum"),
    "TransactionID": ("scheduled",),
    "AccountAmount": ("is_approval",),
    "Timestamp": ("seconds", "nanos"),
}
VARINT, LENGTH_DELIMITED = 0, 2


class Envelope(TypedDict):
    """What every transaction has."""

    transaction_id: TransactionId
    memo: str
    max_fee_tinybars: int
    valid_seconds: int
    node_account_id: str


def build_listing(
    *, token: str, serial_nos: Sequence[int], spender: str, **envelope: Unpack[Envelope]
) -> bytes:
    """Build the unsigned listing: an allowance of exactly these serials, from their owner to the spender.

    The transaction id's account is owner and payer, and must sign.
    Returns the bytes of a HAPI TransactionList with one transaction: what an SDK's Transaction.fromBytes()
    reads.
    """
    allowance = approvals.NftAllowance(
        tokenId=make_token_id(token),
        owner=make_account_id(envelope["transaction_id"].account_id),
        spender=make_account_id(spender),
        serial_numbers=serial_nos,
        # approved_for_all is left out. The SDK's own helper sends False, which at consensus revokes an
        # approve-for-all that the owner gave earlier.
    )
    data = approvals.CryptoApproveAllowanceTransactionBody(nftAllowances=[allowance])
    return write_unsigned(_body(envelope, cryptoApproveAllowance=data))


def build_withdrawal(
    *, token: str, serial_nos: Sequence[int], **envelope: Unpack[Envelope]
) -> bytes:
    """Build the unsigned withdrawal: it deletes the allowances of exactly these serials.

    The transaction id's account is owner and payer, and must sign. Returns what build_listing() does.
    """
    removed = removals.NftRemoveAllowance(
        token_id=make_token_id(token),
        owner=make_account_id(envelope["transaction_id"].account_id),
        serial_numbers=serial_nos,
    )
    data = removals.CryptoDeleteAllowanceTransactionBody(nftAllowances=[removed])
    return write_unsigned(_body(envelope, cryptoDeleteAllowance=data))


class SoldNft(NamedTuple):
    """One NFT of a purchase."""

    token: str
    serial_no: int
    seller: str
    price: int  # HBAR


def build_purchase_body(
    *, nfts: Sequence[SoldNft], buyer: str, fee_basis_points: int, **envelope: Unpack[Envelope]
) -> bytes:
    """Build the body of a purchase: all NFTs and all prices change hands together, or none does.

    Each NFT goes from its owner to the buyer by approval. The buyer pays the prices, in HBAR: each owner gets
    them less the marketplace's part, which goes to the transaction id's account. That account is the spender
    and the payer. It must sign, and so must the buyer. Returns the bytes of a HAPI TransactionBody.
    """
    market = envelope["transaction_id"].account_id
    payments: dict[str, int] = defaultdict(int)
    for nft in nfts:
        tinybars, credit = nft.price * TINYBARS, find_credit(nft.price, fee_basis_points)
        payments[buyer] -= tinybars
        payments[nft.seller] += credit
        if part := tinybars - credit:
            payments[market] += part
    amounts = [
        hapi.AccountAmount(accountID=make_account_id(account_id), amount=payments[account_id])
        for account_id in sorted(payments, key=numbers)  # as JavaScript sorts them
    ]
    by_token: dict[str, list[SoldNft]] = defaultdict(list)
    # JavaScript sorts NFTs of one receiver like this, and then groups them by token.
    in_order = sorted(
        nfts, key=lambda nft: (numbers(nft.seller), nft.serial_no, numbers(nft.token))
    )
    for nft in in_order:
        by_token[nft.token].append(nft)
    moved = [
        hapi.TokenTransferList(
            token=make_token_id(token),
            nftTransfers=[
                hapi.NftTransfer(
                    senderAccountID=make_account_id(nft.seller),
                    receiverAccountID=make_account_id(buyer),
                    serialNumber=nft.serial_no,
                    is_approval=True,
                )
                for nft in of_token
            ],
        )
        for token, of_token in by_token.items()
    ]
    data = CryptoTransferTransactionBody(
        transfers=hapi.TransferList(accountAmounts=amounts), tokenTransfers=moved
    )
    return _body(envelope, cryptoTransfer=data)


class ScheduledSale(NamedTuple):
    """What an offer's schedule executes: the seller's NFT against the bidder's HBAR."""

    token: str
    serial_no: int
    seller: str
    bidder: str
    price: int  # HBAR
    part_tinybars: int  # of the price, for the marketplace
    market: str  # the marketplace's account
    memo: str
    max_fee_tinybars: int  # the highest fee of the execution, which the bidder pays

    def build(self) -> SchedulableTransactionBody:
        """Build the transaction. The rule of an offer admits no other form of it."""
        payments: dict[str, int] = defaultdict(int)
        tinybars = self.price * TINYBARS
        payments[self.bidder] -= tinybars
        payments[self.seller] += tinybars - self.part_tinybars
        payments[self.market] += self.part_tinybars
        moved = hapi.NftTransfer(
            senderAccountID=make_account_id(self.seller),
            receiverAccountID=make_account_id(self.bidder),
            serialNumber=self.serial_no,
        )
        data = CryptoTransferTransactionBody(
            transfers=hapi.TransferList(
                accountAmounts=[
                    hapi.AccountAmount(accountID=make_account_id(account_id), amount=amount)
                    for account_id, amount in sorted(
                        payments.items(), key=lambda item: numbers(item[0])
                    )
                    if amount
                ]
            ),
            tokenTransfers=[
                hapi.TokenTransferList(token=make_token_id(self.token), nftTransfers=[moved])
            ],
        )
        return SchedulableTransactionBody(
            transactionFee=self.max_fee_tinybars, memo=self.memo, cryptoTransfer=data
        )


def build_offer(
    *,
    sale: ScheduledSale,
    expires_at: int,
    admin_keys: Sequence[hapi.Key],
    **envelope: Unpack[Envelope],
) -> bytes:
    """Build the unsigned ScheduleCreate of an offer. The transaction id's account is the bidder.

    The network executes the sale once the owner has signed it, too; the bidder pays for that. Each of
    ``admin_keys`` can delete the schedule. ``expires_at``: in seconds since 1970. Returns what
    build_listing() does.
    """
    threshold = hapi.ThresholdKey(threshold=1, keys=hapi.KeyList(keys=admin_keys))
    data = ScheduleCreateTransactionBody(
        scheduledTransactionBody=sale.build(),
        memo=envelope["memo"],
        adminKey=hapi.Key(thresholdKey=threshold),
        payerAccountID=make_account_id(sale.bidder),
        expiration_time=make_timestamp(expires_at * times.SECOND),
    )
    return write_unsigned(_body(envelope, scheduleCreate=data))


def build_offer_signature(*, schedule_id: str, **envelope: Unpack[Envelope]) -> bytes:
    """Build the unsigned ScheduleSign, by which the transaction id's account signs what is scheduled.

    Returns what build_listing() does.
    """
    data = ScheduleSignTransactionBody(scheduleID=make_schedule_id(schedule_id))
    return write_unsigned(_body(envelope, scheduleSign=data))


def build_offer_withdrawal(*, schedule_id: str, **envelope: Unpack[Envelope]) -> bytes:
    """Build the unsigned ScheduleDelete of an offer. Returns what build_listing() does."""
    data = ScheduleDeleteTransactionBody(scheduleID=make_schedule_id(schedule_id))
    return write_unsigned(_body(envelope, scheduleDelete=data))


def read_first(transactions: bytes) -> bytes:
    """The bytes of the first HAPI Transaction of a TransactionList: what a node takes."""
    [first, *_] = TransactionList.FromString(transactions).transaction_list
    return bytes(first.SerializeToString())


def _body(envelope: Envelope, **data: Any) -> bytes:
    """Write the body of a transaction for one node. ``data``: the transaction's own part of the body.

    With several nodes, a hardware wallet would ask its user for each, and the marketplace might pay twice.
    """
    transaction_id = envelope["transaction_id"]
    start = make_timestamp(transaction_id.valid_start)
    payer = make_account_id(transaction_id.account_id)
    body = TransactionBody(
        transactionID=hapi.TransactionID(accountID=payer, transactionValidStart=start),
        nodeAccountID=make_account_id(envelope["node_account_id"]),
        transactionFee=envelope["max_fee_tinybars"],
        transactionValidDuration=Duration(seconds=envelope["valid_seconds"]),
        memo=envelope["memo"],
        **data,
    )
    return encode(body)


def write_unsigned(body: bytes) -> bytes:
    """Write a body without signatures: the bytes of a HAPI TransactionList."""
    return write_list(SignedTransaction(bodyBytes=body))


# The messages, and their bytes


def make_account_id(account_id: str) -> hapi.AccountID:
    shard, realm, number = numbers(account_id)
    return hapi.AccountID(shardNum=shard, realmNum=realm, accountNum=number)


def read_account_id(account: hapi.AccountID) -> str:
    return f"{account.shardNum}.{account.realmNum}.{account.accountNum}"


def make_token_id(token_id: str) -> hapi.TokenID:
    shard, realm, number = numbers(token_id)
    return hapi.TokenID(shardNum=shard, realmNum=realm, tokenNum=number)


def make_schedule_id(schedule_id: str) -> hapi.ScheduleID:
    shard, realm, number = numbers(schedule_id)
    return hapi.ScheduleID(shardNum=shard, realmNum=realm, scheduleNum=number)


def make_timestamp(moment: int) -> Timestamp:
    """``moment`` is in nanoseconds since 1970."""
    seconds, nanos = divmod(moment, times.SECOND)
    return Timestamp(seconds=seconds, nanos=nanos)


def make_public_key(content: bytes) -> hapi.Key:
    """The key of 32 bytes (ED25519) or 33 (ECDSA)."""
    return hapi.Key(ed25519=content) if len(content) == 32 else hapi.Key(ECDSA_secp256k1=content)


def make_key(kind: str, content: bytes) -> hapi.Key:
    """An account's key as the mirror node shows it: of a kind, or any other one as its protobuf."""
    if kind == "ProtobufEncoded":
        return hapi.Key.FromString(content)
    return make_public_key(content)


def encode(message: Message) -> bytes:
    """Serialize as protobuf does, field by field in the order of their numbers, plus ZEROS_WRITTEN."""
    written: dict[str, tuple[Any, Any]] = {
        field.name: (field, value) for field, value in message.ListFields()
    }
    for name in ZEROS_WRITTEN.get(message.DESCRIPTOR.name, ()):
        written.setdefault(name, (message.DESCRIPTOR.fields_by_name[name], 0))
    return b"".join(
        _encode_field(field, value)
        for field, value in sorted(written.values(), key=lambda pair: pair[0].number)
    )


def list_forms(body: bytes) -> tuple[bytes, bytes]:
    """The two forms in which SDKs write a body of ours: as encode() does, and as Java does, without zeros."""
    return body, TransactionBody.FromString(body).SerializeToString(deterministic=True)


def write_list(signed: SignedTransaction) -> bytes:
    """Write the bytes of a HAPI TransactionList of one: what an SDK's Transaction.fromBytes() reads."""
    signed.sigMap.SetInParent()  # writes the signature map even if it is empty
    transaction = Transaction(signedTransactionBytes=signed.SerializeToString())
    return bytes(TransactionList(transaction_list=[transaction]).SerializeToString())


def _encode_field(field: FieldDescriptor, value: Any) -> bytes:
    if isinstance(value, int):
        number = _zigzag(value) if field.type == FieldDescriptor.TYPE_SINT64 else int(value)
        return _varint(field.number << 3 | VARINT) + _varint(number)
    if isinstance(value, Message):
        content = encode(value)
    elif isinstance(value, str):
        content = value.encode()
    elif isinstance(value, bytes):
        content = value
    elif isinstance(value[0], Message):
        return b"".join(_encode_field(field, item) for item in value)
    else:
        content = b"".join(map(_varint, value))  # packed
    return _varint(field.number << 3 | LENGTH_DELIMITED) + _varint(len(content)) + content


def _zigzag(number: int) -> int:
    return 2 * number if number >= 0 else -2 * number - 1


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
