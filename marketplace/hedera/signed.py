"""Reads signed transactions in the forms that wallets and SDKs return. No I/O."""

from collections.abc import Iterable
from typing import NamedTuple

from google.protobuf.message import DecodeError
from hiero_sdk_python.hapi.sdk.transaction_list_pb2 import TransactionList
from hiero_sdk_python.hapi.services.basic_types_pb2 import AccountID, SignatureMap, SignaturePair
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction
from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction, TransactionBody

from marketplace.hedera.encoding import write_list
from marketplace.hedera.ids import TransactionId

MOST_PAIRS = 20


class Unreadable(Exception):
    """The bytes are not a signed transaction."""


class Pair(NamedTuple):
    """A signature, and the first bytes of its public key."""

    prefix: bytes
    signature: bytes
    is_ecdsa: bool


class Signed(NamedTuple):
    """A transaction that somebody signed."""

    body: bytes
    pairs: tuple[Pair, ...]  # each once
    transaction_id: TransactionId
    node: str


def read(signed: bytes, signature_map: bytes = b"") -> Signed:
    """Read a TransactionList of one transaction, or a Transaction in either form of HAPI.

    ``signature_map``: a SignatureMap with further signatures. Raises Unreadable.
    """
    try:
        transaction = _read_transaction(signed)
        pairs = [*transaction.sigMap.sigPair, *SignatureMap.FromString(signature_map).sigPair]
        body = TransactionBody.FromString(transaction.bodyBytes)
    except DecodeError:
        raise Unreadable("it is not a transaction of HAPI") from None
    if not transaction.bodyBytes:
        raise Unreadable("it has no bodyBytes")
    if len(pairs) > MOST_PAIRS:
        raise Unreadable(f"it has more than {MOST_PAIRS} signatures")
    payer, start = (
        _read_account(body.transactionID.accountID),
        body.transactionID.transactionValidStart,
    )
    transaction_id = TransactionId.parse(f"{payer}@{start.seconds}.{start.nanos}")
    if transaction_id is None or not transaction_id.is_possible:
        raise Unreadable("its transaction ID is impossible")
    pairs_once = tuple(dict.fromkeys(_read_pair(pair) for pair in pairs))
    node = _read_account(body.nodeAccountID)
    return Signed(transaction.bodyBytes, pairs_once, transaction_id, node)


def write(body: bytes, pairs: Iterable[Pair]) -> bytes:
    """Write a body with signatures: the bytes of a HAPI TransactionList."""
    signatures = SignatureMap(
        sigPair=[
            SignaturePair(
                pubKeyPrefix=pair.prefix,
                **{"ECDSA_secp256k1" if pair.is_ecdsa else "ed25519": pair.signature},
            )
            for pair in pairs
        ]
    )
    return write_list(SignedTransaction(bodyBytes=body, sigMap=signatures))


def find_kind(body: bytes) -> str:
    """What a body does, as HAPI names it: cryptoTransfer, cryptoApproveAllowance."""
    return TransactionBody.FromString(body).WhichOneof("data") or ""


def find_paid(body: bytes, account_id: str) -> int:
    """The tinybars that an account pays in a transfer, without fees. It only explains: compare bytes."""
    amounts = TransactionBody.FromString(body).cryptoTransfer.transfers.accountAmounts
    return -sum(each.amount for each in amounts if _read_account(each.accountID) == account_id)


def _read_transaction(signed: bytes) -> SignedTransaction:
    transaction = Transaction.FromString(signed)
    if not transaction.signedTransactionBytes and not transaction.bodyBytes:
        transactions = TransactionList.FromString(signed).transaction_list
        if len(transactions) != 1:
            raise Unreadable(f"it has {len(transactions)} transactions, not 1")
        [transaction] = transactions
    if transaction.signedTransactionBytes:
        return SignedTransaction.FromString(transaction.signedTransactionBytes)
    return SignedTransaction(bodyBytes=transaction.bodyBytes, sigMap=transaction.sigMap)


def _read_pair(pair: SignaturePair) -> Pair:
    return Pair(pair.pubKeyPrefix, pair.ed25519 or pair.ECDSA_secp256k1, bool(pair.ECDSA_secp256k1))


def _read_account(account: AccountID) -> str:
    return f"{account.shardNum}.{account.realmNum}.{account.accountNum}"
