"""The demo wallet: signs for any account, with a worthless key that is derived from the account id."""

import hashlib
from collections.abc import Callable

from hiero_sdk_python.crypto.private_key import PrivateKey
from hiero_sdk_python.hapi.services.basic_types_pb2 import SignatureMap, SignaturePair

from hiero_sandbox.wallet import add_signature
from marketplace.hedera.signatures import wrap_message


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


def sign_message(account_id: str, text: str) -> bytes:
    """Sign a text: a SignatureMap."""
    signature = private_key(account_id).sign(wrap_message(text))
    pair = SignaturePair(pubKeyPrefix=public_key(account_id), ed25519=signature)
    return bytes(SignatureMap(sigPair=[pair]).SerializeToString())


def sign(account_id: str, content: bytes) -> bytes:
    """Add the account's signature to each transaction of a list. Each must be readable."""
    return add_signature(private_key(account_id), content)
