"""Verifies signatures: ED25519, and ECDSA with secp256k1."""

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

if TYPE_CHECKING:  # the SDK takes 70 MB
    from hiero_sdk_python.hapi.services.basic_types_pb2 import Key

    from marketplace.hedera.signed import Pair

ED25519_BYTES, ECDSA_BYTES = 32, 33  # of a public key; ECDSA's is compressed
SIGNATURE_BYTES = 64
SECP256K1_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def verifies(public_key: bytes, signature: bytes, content: bytes) -> bool:
    """Tell whether a signature of some content is valid for a key. ECDSA signs its Keccak-256."""
    if len(signature) != SIGNATURE_BYTES:
        return False
    try:
        if len(public_key) == ED25519_BYTES:
            Ed25519PublicKey.from_public_bytes(public_key).verify(signature, content)
        else:
            from hiero_sdk_python.crypto.public_key import PublicKey  # the SDK takes 70 MB

            PublicKey.from_bytes_ecdsa(public_key).verify(signature, content)
    except (InvalidSignature, ValueError):
        return False
    return True


def lower(signature: bytes) -> bytes:
    """Return the ECDSA signature with the lower of its two valid values of s: some verifiers require it."""
    r, s = signature[:32], int.from_bytes(signature[32:])
    return r + (SECP256K1_ORDER - s if s > SECP256K1_ORDER // 2 else s).to_bytes(32)


def find_signers(key: "Key", pairs: "Iterable[Pair]", body: bytes) -> "list[Pair] | None":
    """The signatures by which a key has signed a body, with whole public keys; None if it has not.

    Of a key list, all keys must have signed; of a threshold key, as many as it asks for; both may be nested.
    A contract never signs. Returns no more signatures than the key asks for, since each adds to the fee.
    """
    found: dict[bytes, Pair] = {}
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


def _find_needed(key: "Key", signed: "Collection[bytes]") -> "dict[bytes, None] | None":
    """The public keys, of those that have signed, which satisfy a key; None if they do not."""
    keys, public_key = key.keyList.keys or key.thresholdKey.keys.keys, _public_key(key)
    if not keys:
        return {public_key: None} if public_key in signed else None
    asked = key.thresholdKey.threshold or len(keys)
    satisfied = [needed for each in keys if (needed := _find_needed(each, signed)) is not None]
    if len(satisfied) < asked:
        return None
    return {public_key: None for needed in satisfied[:asked] for public_key in needed}


def _list_public_keys(key: "Key") -> "Iterator[bytes]":
    for each in key.keyList.keys or key.thresholdKey.keys.keys:
        yield from _list_public_keys(each)
    if public_key := _public_key(key):
        yield public_key


def _public_key(key: "Key") -> bytes:
    """Of a simple key; empty for a contract, or a list of keys."""
    return bytes(key.ed25519 or key.ECDSA_secp256k1)
