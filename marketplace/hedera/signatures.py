"""Verifies signatures: ED25519, and ECDSA with secp256k1."""

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

ED25519_BYTES, ECDSA_BYTES = 32, 33  # of a public key; ECDSA's is compressed
SIGNATURE_BYTES = 64
SECP256K1_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def verifies(public_key: bytes, signature: bytes, content: bytes) -> bool:
    """Tell whether a signature of some content is valid for a key. ECDSA signs its Keccak-256."""
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
