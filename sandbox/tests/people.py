"""A fixed cast: Alice sells, Bob buys, Charlie must be refused. Each account's key follows from its id."""

import hashlib

from hiero_sdk_python.crypto.private_key import PrivateKey

ALICE, BOB, CHARLIE = "0.0.1001", "0.0.1002", "0.0.1003"
MARKET = "0.0.9001"  # may spend what others approve
TOKEN = "0.0.7001"


def private_key(account_id):
    return PrivateKey.from_bytes_ed25519(hashlib.sha256(account_id.encode()).digest())


def public_key(account_id):
    return bytes(private_key(account_id).public_key().to_bytes_raw())
