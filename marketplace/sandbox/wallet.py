"""The demo wallet: signs for any account, with a worthless key that is derived from the account id."""

import hashlib
from collections.abc import Callable

from hiero_sdk_python.crypto.private_key import PrivateKey

from hiero_sandbox.wallet import add_signature


def private_key(account_id: str) -> PrivateKey:
    """The account's ED25519 key, the same on every machine."""
    seed = hashlib.sha256(f"nft-marketplace sandbox wallet {account_id}".encode()).digest()
    return PrivateKey.from_bytes_ed25519(seed)


def public_key(account_id: str) -> bytes:
    return bytes(private_key(account_id).public_key().to_bytes_raw())


def signer(account_id: str) -> Callable[[bytes], tuple[bytes, bytes]]:
    """A function that signs a transaction's body for an account, for create_app(sign=...)."""
    key, shown = private_key(account_id), public_key(account_id)
    return lambda body: (shown, key.sign(body))


def sign(account_id: str, content: bytes) -> bytes:
    """Add the account's signature to each transaction of a list. Each must be readable."""
    return add_signature(private_key(account_id), content)
