"""Keys as HAPI writes them: ED25519, ECDSA (secp256k1), lists of keys, and threshold keys."""

from collections.abc import Iterator
from itertools import pairwise

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from google.protobuf.message import DecodeError
from hiero_sdk_python.crypto.public_key import PublicKey
from hiero_sdk_python.hapi.services.basic_types_pb2 import Key, SignaturePair

from hiero_sandbox.ledger.envelopes import Signed, refuse_if

# The mirror nodes' names of the simple keys, by their field of Key, and their sizes in bytes.
TYPES = {"ed25519": ("ED25519", 32), "ECDSA_secp256k1": ("ECDSA_SECP256K1", 33)}
CONTRACTS = ("contractID", "delegatable_contract_id")
EVM_ADDRESS_BYTES = 20


def kind_of(public_key: bytes) -> str:
    """The kind of 32 or 33 bytes: ED25519 or compressed ECDSA."""
    return "ed25519" if len(public_key) == TYPES["ed25519"][1] else "ECDSA_secp256k1"


def of_bytes(public_key: bytes) -> Key:
    is_ed25519 = kind_of(public_key) == "ed25519"
    return Key(ed25519=public_key) if is_ed25519 else Key(ECDSA_secp256k1=public_key)


def is_valid(key: Key) -> bool:
    """Whether the network accepts a key: of somebody who can sign, or of a contract, which nobody here is."""
    if key.HasField("keyList"):
        return bool(key.keyList.keys) and all(map(is_valid, key.keyList.keys))
    if key.HasField("thresholdKey"):
        keys = key.thresholdKey.keys.keys
        return 1 <= key.thresholdKey.threshold <= len(keys) and all(map(is_valid, keys))
    kind = key.WhichOneof("key")
    if kind in CONTRACTS:
        contract = getattr(key, kind)
        return contract.contractNum > 0 or len(contract.evm_address) == EVM_ADDRESS_BYTES
    if kind not in TYPES:
        return False
    content = getattr(key, kind)
    is_point = kind == "ed25519" or content[:1] in (b"\2", b"\3")  # a compressed one
    return len(content) == TYPES[kind][1] and is_point


def is_empty(key: Key) -> bool:
    """Whether nothing is in the key: no bytes of a known kind, or no such key in its list (KeyUtils)."""
    if key.HasField("keyList"):
        return all(map(is_empty, key.keyList.keys))
    if key.HasField("thresholdKey"):
        return all(map(is_empty, key.thresholdKey.keys.keys))
    kind = key.WhichOneof("key")
    return not is_valid(key) if kind in CONTRACTS else kind not in TYPES or not getattr(key, kind)


def require_distinct(signed: Signed) -> None:
    """Refuse a prefix of a key that another prefix begins with, so that a key has at most one signature.

    Otherwise there could be thousands of signatures to verify for each key of a threshold key.
    """
    prefixes = sorted(pair.pubKeyPrefix for pair in signed.pairs)
    # In sorted order, a prefix is directly followed by those that begin with it.
    repeated = any(longer.startswith(prefix) for prefix, longer in pairwise(prefixes))
    refuse_if(repeated, "KEY_PREFIX_MISMATCH")


def has_signed(key: Key, signed: Signed) -> bool:
    """Whether a transaction has the signatures that a key requires."""
    if key.HasField("keyList"):
        return is_valid(key) and all(has_signed(each, signed) for each in key.keyList.keys)
    if key.HasField("thresholdKey"):
        count = sum(has_signed(each, signed) for each in key.thresholdKey.keys.keys)
        return is_valid(key) and count >= key.thresholdKey.threshold
    kind = key.WhichOneof("key")
    content = getattr(key, kind) if kind in TYPES else b""
    return content in signed.signatories or any(
        content.startswith(pair.pubKeyPrefix) and verifies(content, pair, signed.body_bytes)
        for pair in signed.pairs
    )


def simple_keys(key: Key) -> Iterator[Key]:
    """The simple keys in a key."""
    nested = key.thresholdKey.keys if key.HasField("thresholdKey") else key.keyList
    for each in nested.keys:
        yield from simple_keys(each)
    if key.WhichOneof("key") in TYPES:
        yield key


def public_key(key: Key) -> bytes:
    """The bytes of a simple key."""
    return bytes(getattr(key, str(key.WhichOneof("key"))))


def verifies(public_key: bytes, pair: SignaturePair, content: bytes) -> bool:
    """Whether a signature pair holds a simple key's signature of the content."""
    kind = kind_of(public_key)
    signature: bytes = getattr(pair, kind)
    try:
        if kind == "ed25519":
            Ed25519PublicKey.from_public_bytes(public_key).verify(signature, content)
        else:
            PublicKey.from_bytes_ecdsa(public_key).verify(signature, content)  # of its Keccak-256
    except (InvalidSignature, ValueError):
        return False
    return True


def shown(key: Key | None) -> dict[str, str] | None:
    """A key as the mirror node shows it. A list of one simple key, or a 1-of-1 threshold key, is that key."""
    if key is None:
        return None
    listed = key.thresholdKey.keys if key.thresholdKey.threshold == 1 else key.keyList
    simple = listed.keys[0] if len(listed.keys) == 1 else key
    kind = simple.WhichOneof("key")
    if kind in TYPES:
        return {"_type": TYPES[kind][0], "key": getattr(simple, kind).hex()}
    return {"_type": "ProtobufEncoded", "key": key.SerializeToString().hex()}


def evm_address(public_key: bytes) -> bytes | None:
    """The Ethereum address of an ECDSA key; None for another key."""
    try:
        address = PublicKey.from_bytes_ecdsa(public_key).to_evm_address()
    except ValueError:
        return None
    return bytes.fromhex(address.to_string())


def of_alias(alias: bytes) -> Key | None:
    """The key that an alias encodes; None for an EVM address, and for other bytes."""
    try:
        key = Key.FromString(alias)
    except DecodeError:
        return None
    return key if key.WhichOneof("key") in TYPES and is_valid(key) else None
