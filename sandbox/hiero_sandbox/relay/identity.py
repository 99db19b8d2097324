"""Who connects: the did:key of a client's token (JWT, EdDSA), which signs for itself.

Source: https://specs.walletconnect.com/2.0/specs/clients/core/relay/relay-client-auth
"""

import json
from base64 import urlsafe_b64decode

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

LEEWAY = 60  # seconds that clocks may differ
PREFIX = "did:key:z"
MULTICODEC = bytes.fromhex("ed01")  # of an ED25519 key
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


class Unauthorized(Exception):
    """Says why a client may not connect."""


def read_did(token: str, now: float) -> str:
    """The did:key of the client that signed a token. Raises Unauthorized.

    For whom it was made (``aud``) is not compared: behind a proxy, that is another address.
    """
    try:
        header, claims = (json.loads(_decode(part)) for part in token.split(".")[:2])
        signed, _, signature = token.rpartition(".")
        did, expires_at = claims["iss"], float(claims["exp"])
        key = Ed25519PublicKey.from_public_bytes(_read_key(did))
        key.verify(_decode(signature), signed.encode())
        is_signed = header["alg"] == "EdDSA"
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, InvalidSignature):
        is_signed = False
    if not is_signed:
        raise Unauthorized("The query's 'auth' is no JWT (EdDSA) that its did:key has signed")
    if now > expires_at + LEEWAY:
        raise Unauthorized("The query's 'auth' is a JWT that has expired")
    return str(did)


def _decode(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _read_key(did: str) -> bytes:
    """The public key that a did:key is made of. Raises ValueError."""
    number = 0
    for letter in did.removeprefix(PREFIX):
        number = number * len(BASE58) + BASE58.index(letter)
    content = number.to_bytes(len(MULTICODEC) + 32)
    if not did.startswith(PREFIX) or not content.startswith(MULTICODEC):
        raise ValueError("not the did:key of an ED25519 key")
    return content.removeprefix(MULTICODEC)
