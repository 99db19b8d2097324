"""Reads transactions in the forms in which wallets and SDKs sign them, and verifies signatures. No I/O."""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from google.protobuf.message import DecodeError
from hiero_sdk_python.crypto.public_key import PublicKey
from hiero_sdk_python.hapi.sdk.transaction_list_pb2 import TransactionList
from hiero_sdk_python.hapi.services.basic_types_pb2 import Key, SignatureMap, SignaturePair
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction
from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction, TransactionBody

from marketplace.hedera.ids import TransactionId
from marketplace.hedera.transactions import read_account_id, write_list

MOST_PAIRS = 20
ED25519_BYTES, ECDSA_BYTES = 32, 33  # of a public key; ECDSA's is compressed
SIGNATURE_BYTES = 64
SECP256K1_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


class Unreadable(Exception):
    """The bytes are not a signed transaction."""


class KeySignature(NamedTuple):
    """A signature, and the first bytes of its public key."""

    prefix: bytes
    signature: bytes
    is_ecdsa: bool

    @classmethod
    def of_key(cls, public_key: bytes, signature: bytes) -> "KeySignature":
        """The signature of a whole public key, as a signer returns them."""
        return cls(public_key, signature, len(public_key) == ECDSA_BYTES)


class SignedBody(NamedTuple):
    """A transaction's body, and the signatures that it came with."""

    body: bytes
    pairs: tuple[KeySignature, ...]  # each once
    transaction_id: TransactionId
    node: str


def read(transaction: bytes, signature_map: bytes = b"") -> SignedBody:
    """Read a TransactionList of one transaction, or a Transaction in either form of HAPI.

    ``signature_map``: a SignatureMap with further signatures. Raises Unreadable.
    """
    try:
        envelope = _read_envelope(transaction)
        pairs = [*envelope.sigMap.sigPair, *SignatureMap.FromString(signature_map).sigPair]
        body = TransactionBody.FromString(envelope.bodyBytes)
    except DecodeError:
        raise Unreadable("it is not a transaction of HAPI") from None
    if not envelope.bodyBytes:
        raise Unreadable("it has no bodyBytes")
    pairs_once = _read_pairs(pairs)
    payer, start = (
        read_account_id(body.transactionID.accountID),
        body.transactionID.transactionValidStart,
    )
    transaction_id = TransactionId.parse(f"{payer}@{start.seconds}.{start.nanos}")
    if transaction_id is None or not transaction_id.is_possible:
        raise Unreadable("its transaction ID is impossible")
    node = read_account_id(body.nodeAccountID)
    return SignedBody(envelope.bodyBytes, pairs_once, transaction_id, node)


def read_signatures(signature_map: bytes) -> tuple[KeySignature, ...]:
    """Read a SignatureMap of HAPI: each signature once. Raises Unreadable."""
    try:
        pairs = SignatureMap.FromString(signature_map).sigPair
    except DecodeError:
        raise Unreadable("it is not a signature map of HAPI") from None
    return _read_pairs(pairs)


def _read_pairs(pairs: Collection[SignaturePair]) -> tuple[KeySignature, ...]:
    """Each signature once. Raises Unreadable if they are too many."""
    if len(pairs) > MOST_PAIRS:
        raise Unreadable(f"it has more than {MOST_PAIRS} signatures")
    return tuple(dict.fromkeys(_read_pair(pair) for pair in pairs))


def write(body: bytes, pairs: Iterable[KeySignature]) -> bytes:
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
    return -sum(each.amount for each in amounts if read_account_id(each.accountID) == account_id)


def _read_envelope(content: bytes) -> SignedTransaction:
    transaction = Transaction.FromString(content)
    if not transaction.signedTransactionBytes and not transaction.bodyBytes:
        transactions = TransactionList.FromString(content).transaction_list
        if len(transactions) != 1:
            raise Unreadable(f"it has {len(transactions)} transactions, not 1")
        [transaction] = transactions
    if transaction.signedTransactionBytes:
        return SignedTransaction.FromString(transaction.signedTransactionBytes)
    return SignedTransaction(bodyBytes=transaction.bodyBytes, sigMap=transaction.sigMap)


def _read_pair(pair: SignaturePair) -> KeySignature:
    return KeySignature(
        pair.pubKeyPrefix, pair.ed25519 or pair.ECDSA_secp256k1, bool(pair.ECDSA_secp256k1)
    )


def wrap_message(text: str) -> bytes:
    """What wallets sign for a text: hedera_signMessage of HIP-820. The length is JavaScript's."""
    length = len(text.encode("utf-16-le")) // 2
    return f"\x19Hedera Signed Message:\n{length}{text}".encode()


def verifies(public_key: bytes, signature: bytes, content: bytes) -> bool:
    """Tell whether a signature of some content is valid for a key. ECDSA signs its Keccak-256."""
    if len(signature) != SIGNATURE_BYTES:
        return False
    try:
        if len(public_key) == ED25519_BYTES:
            Ed25519PublicKey.from_public_bytes(public_key).verify(signature, content)
        else:
            PublicKey.from_bytes_ecdsa(public_key).verify(signature, content)
    except (InvalidSignature, ValueError):
        return False
    return True


def lower(signature: bytes) -> bytes:
    """Return the ECDSA signature with the lower of its two valid values of s: some verifiers require it."""
    r, s = signature[:32], int.from_bytes(signature[32:])
    return r + (SECP256K1_ORDER - s if s > SECP256K1_ORDER // 2 else s).to_bytes(32)


def find_signers(key: Key, pairs: Iterable[KeySignature], body: bytes) -> list[KeySignature] | None:
    """The signatures by which a key has signed a body, with whole public keys; None if it has not.

    Of a key list, all keys must have signed; of a threshold key, as many as it asks for; both may be nested.
    A contract never signs. Returns no more signatures than the key asks for, since each adds to the fee.
    """
    found: dict[bytes, KeySignature] = {}
    public_keys = [*_list_public_keys(key)]
    for pair in pairs:
        length = ECDSA_BYTES if pair.is_ecdsa else ED25519_BYTES
        meant = {
            each for each in public_keys if len(each) == length and each.startswith(pair.prefix)
        }
        # A prefix of two keys tells nothing, to nodes neither.
        if len(meant) == 1 and verifies(public_key := meant.pop(), pair.signature, body):
            signature = lower(pair.signature) if pair.is_ecdsa else pair.signature
            found[public_key] = pair._replace(prefix=public_key, signature=signature)
    needed = _find_needed(key, found.keys())
    return None if needed is None else [found[public_key] for public_key in needed]


def _find_needed(key: Key, signed: Collection[bytes]) -> dict[bytes, None] | None:
    """The public keys, of those that have signed, which satisfy a key; None if they do not."""
    keys, public_key = key.keyList.keys or key.thresholdKey.keys.keys, _public_key(key)
    if not keys:
        return {public_key: None} if public_key in signed else None
    asked = key.thresholdKey.threshold or len(keys)
    satisfied = [needed for each in keys if (needed := _find_needed(each, signed)) is not None]
    if len(satisfied) < asked:
        return None
    return {public_key: None for needed in satisfied[:asked] for public_key in needed}


def list_alternatives(key: Key) -> Iterator[Key]:
    """The keys that are each enough for a key: itself, and those of a 1-of-N threshold key, also nested."""
    yield key
    if key.thresholdKey.threshold == 1:
        for each in key.thresholdKey.keys.keys:
            yield from list_alternatives(each)


def list_sufficient(encoded: bytes) -> list[bytes]:
    """The public keys that each satisfy a key alone; none if it is unreadable, or asks for more of them."""
    try:
        key = Key.FromString(encoded)
    except DecodeError:
        return []
    return [*filter(None, map(_public_key, list_alternatives(key)))]


def _list_public_keys(key: Key) -> Iterator[bytes]:
    for each in key.keyList.keys or key.thresholdKey.keys.keys:
        yield from _list_public_keys(each)
    if public_key := _public_key(key):
        yield public_key


def _public_key(key: Key) -> bytes:
    """Of a simple key; empty for a contract, or a list of keys."""
    return bytes(key.ed25519 or key.ECDSA_secp256k1)
