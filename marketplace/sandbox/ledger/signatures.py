"""Checks signatures with the accounts' keys: ED25519 and ECDSA (secp256k1)."""

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from google.protobuf.message import Message
from hiero_sdk_python.crypto.public_key import PublicKey

from marketplace.sandbox import wallet
from marketplace.sandbox.ledger import accounts
from marketplace.sandbox.ledger.envelopes import Signed
from marketplace.store.rows import Connection


def require(db: Connection, signed: Signed, account_id: str, now: int) -> None:
    """Check that an account has signed. The first key that signs for an account becomes its key.

    The payer's own signature does not count for another account whose key is not known yet. The demo wallet's
    signature for an account is tried first. Refuses with INVALID_SIGNATURE.
    """
    known, payers = accounts.key(db, account_id), accounts.key(db, signed.id.account_id)
    demo_key = wallet.private_key(account_id).public_key().to_bytes_raw()
    for pair in sorted(signed.pairs, key=lambda pair: pair.pubKeyPrefix != demo_key):
        key = bytes.fromhex(known[1]) if known else pair.pubKeyPrefix
        if not key.startswith(pair.pubKeyPrefix):
            continue
        if known is None and payers and payers[1] == key.hex():
            continue
        key_type = _verify(key, pair, signed.body_bytes)
        if key_type:
            if known is None:
                accounts.learn_key(db, account_id, key_type, key.hex(), now)
            return
    raise accounts.Refused("INVALID_SIGNATURE")


def _verify(key: bytes, pair: Message, content: bytes) -> str | None:
    """The key's type, if the pair holds its signature of the content; else None."""
    try:
        if len(key) == 32:
            Ed25519PublicKey.from_public_bytes(key).verify(pair.ed25519, content)
            return "ED25519"
        if len(key) == 33:
            PublicKey.from_bytes_ecdsa(key).verify(pair.ECDSA_secp256k1, content)
            return "ECDSA_SECP256K1"
    except (InvalidSignature, ValueError):
        pass
    return None
