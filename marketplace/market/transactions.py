"""Values in, bytes out: the listing transaction. No key, no client, no clock, no I/O.

hiero-sdk-python is imported here, once, before gunicorn forks.
"""

import re

from google.protobuf.message import Message
from hiero_sdk_python.account.account_allowance_approve_transaction import (
    AccountAllowanceApproveTransaction,
)
from hiero_sdk_python.account.account_id import AccountId
from hiero_sdk_python.hapi.sdk.transaction_list_pb2 import TransactionList
from hiero_sdk_python.hapi.services.timestamp_pb2 import Timestamp
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody
from hiero_sdk_python.tokens.token_id import TokenId
from hiero_sdk_python.tokens.token_nft_allowance import TokenNftAllowance
from hiero_sdk_python.transaction.transaction_id import TransactionId as HieroTransactionId

from marketplace.ids import MAX_HBAR, TransactionId

MEMO_BYTES = 100  # HAPI TransactionBody.memo
START_BEFORE_NOW_SECONDS = 5  # a node whose clock is a little behind must not refuse the start


def listing_memo(token: str, serial_no: int, listing_price: int, name: str) -> str:
    """Write the memo of a listing: at most 100 bytes, the price always whole.

    Price trackers read ``for (\\d+) HBAR``, so what does not fit is cut from the marketplace's name; ids
    too long for any name (the network has none) leave the token out, which the transaction names anyway.
    """
    memo = f"Listing NFT with {token} and Serial Number {serial_no} for {listing_price} HBAR"
    if len(memo) > MEMO_BYTES:
        return f"Listing NFT with Serial Number {serial_no} for {listing_price} HBAR"
    named = f"{memo} on {name}".encode()[:MEMO_BYTES].decode(errors="ignore")
    return named if len(named) > len(f"{memo} on ") else memo


def read_listing_memo(memo: bytes, token: str, serial_no: int) -> int | None:
    """Read the price in HBAR from a listing's memo, or None where it is not that of this NFT.

    It is one that listing_memo() writes, with the name of any marketplace or none.
    """
    match = re.search(rb" for ([1-9][0-9]{0,10}) HBAR", memo)
    if not match or int(match[1]) > MAX_HBAR:
        return None
    price = int(match[1])
    unnamed = listing_memo(token, serial_no, price, name="").encode()
    is_listing = memo == unnamed or memo.startswith(unnamed + b" on ")
    return price if is_listing else None


def build_listing(
    *,
    transaction_id: TransactionId,
    token: str,
    serial_no: int,
    spender: str,
    memo: str,
    max_fee_tinybars: int,
    valid_seconds: int,
    node_account_ids: tuple[str, ...],
) -> bytes:
    """Build the unsigned listing: an allowance of exactly one serial, from its owner to the spender.

    The transaction id's account is owner and payer, and must sign. Returns the bytes of a HAPI
    TransactionList with one transaction per node: what an SDK's Transaction.fromBytes() reads.
    """
    owner = AccountId(*_numbers(transaction_id.account_id))
    allowance = TokenNftAllowance(
        token_id=TokenId(*_numbers(token)),
        owner_account_id=owner,
        spender_account_id=AccountId(*_numbers(spender)),
        serial_numbers=[serial_no],
        # Absent on the wire. The SDK's own helper sends False, which at consensus revokes an
        # approve-for-all that the owner had given.
        approved_for_all=None,
    )
    transaction = AccountAllowanceApproveTransaction(nft_allowances=[allowance])
    valid_start = Timestamp(seconds=transaction_id.seconds, nanos=transaction_id.nanos)
    transaction.set_transaction_id(HieroTransactionId(owner, valid_start))
    transaction.set_node_account_ids([AccountId(*_numbers(node)) for node in node_account_ids])
    transaction.set_transaction_memo(memo)
    transaction.transaction_fee = max_fee_tinybars
    transaction.transaction_valid_duration = valid_seconds
    return _write_zeros(transaction.freeze().to_bytes())


def _numbers(entity_id: str) -> map:
    return map(int, entity_id.split("."))


# Python leaves zero numbers out of the bytes, the JavaScript SDK writes these. A wallet that encodes the
# body anew before it signs (hedera_signTransaction in hedera-wallet-connect) then signs other bytes than
# ours, and the ledger says INVALID_SIGNATURE. So the bodies are written as JavaScript would.
ZEROS_WRITTEN = {
    "AccountID": ("shardNum", "realmNum"),
    "TokenID": ("shardNum", "realmNum"),
    "TransactionID": ("scheduled",),
}
VARINT, LENGTH_DELIMITED = 0, 2


def _write_zeros(transaction_list: bytes) -> bytes:
    transactions = TransactionList.FromString(transaction_list)
    for transaction in transactions.transaction_list:
        signed = SignedTransaction.FromString(transaction.signedTransactionBytes)
        signed.bodyBytes = _encode(TransactionBody.FromString(signed.bodyBytes))
        transaction.signedTransactionBytes = signed.SerializeToString()
    return transactions.SerializeToString()


def _encode(message: Message) -> bytes:
    """Serialize as protobuf does, field by field in the order of their numbers, plus ZEROS_WRITTEN."""
    written = {field.name: (field, value) for field, value in message.ListFields()}
    for name in ZEROS_WRITTEN.get(message.DESCRIPTOR.name, ()):
        written.setdefault(name, (message.DESCRIPTOR.fields_by_name[name], 0))
    return b"".join(
        _encode_field(field.number, value)
        for field, value in sorted(written.values(), key=lambda pair: pair[0].number)
    )


def _encode_field(number: int, value: object) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3 | VARINT) + _varint(value)
    if isinstance(value, Message):
        content = _encode(value)
    elif isinstance(value, str):
        content = value.encode()
    elif isinstance(value[0], Message):
        return b"".join(_encode_field(number, item) for item in value)
    else:
        content = b"".join(map(_varint, value))  # packed
    return _varint(number << 3 | LENGTH_DELIMITED) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
