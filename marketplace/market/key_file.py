"""Reads the key of the marketplace's account from the file that ACCOUNT_KEY_FILE names, and signs with it.

No message shows the file's content.
"""

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    load_der_private_key,
    load_pem_private_key,
)
from hiero_sdk_python.crypto.private_key import PrivateKey

from marketplace.errors import StartRefused

MAX_BYTES = 16 * 1024
# Hedera's portal writes this before an ECDSA key: DER, but no PKCS #8.
HEDERAS_ECDSA = bytes.fromhex("3030020100300706052b8104000a04220420")
# openssl writes the curve's parameters before the key.
PEM = re.compile(rb"-----BEGIN ([A-Z ]*PRIVATE KEY)-----.*?-----END \1-----", re.DOTALL)
FORMS = "a private key of ED25519 or ECDSA secp256k1, as PEM or as DER (bytes or hexadecimal)"


class Unusable(Exception):
    """A fault of the file: the end of a sentence."""


class FileKey:
    """A key of a file. Called with a transaction's body, it returns the public key and the signature."""

    def __init__(self, key: PrivateKey) -> None:
        self._key = key
        self.public_key = key.public_key().to_bytes_raw()

    def __call__(self, body: bytes) -> tuple[bytes, bytes]:
        return self.public_key, self._key.sign(body)

    def __repr__(self) -> str:
        return f"<FileKey {self.public_key.hex()}>"  # the SDK's own shows the private one


def read_key(path: str) -> FileKey:
    """Read the key in a file.

    Raises StartRefused, in a sentence that names the file, the fault and the way out. A path that leads
    nowhere is not shown: it may be a key.
    """
    try:
        link = os.lstat(path)
    except (OSError, ValueError) as error:
        raise StartRefused(_tell_not_found(path, error)) from None
    try:
        _require_safe_owner(link)
        return FileKey(_parse(_read(path)))
    except Unusable as error:
        raise StartRefused(f"MARKETPLACE_ACCOUNT_KEY_FILE={path} {error}") from None


def _tell_not_found(path: str, error: OSError | ValueError) -> str:
    folder = next(each for each in Path(path).absolute().parents if os.path.isdir(each))
    reason = getattr(error, "strerror", None) or "it is no path"
    return f"MARKETPLACE_ACCOUNT_KEY_FILE names no file that can be read, in {folder}: {reason}"


def _read(path: str) -> bytes:
    """The content of a file that nobody else can read or change. Raises Unusable."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Unusable(f"can not be read: {error.strerror}") from None
    try:
        _require_safe(os.fstat(file))
        return os.read(file, MAX_BYTES)
    except OSError as error:
        raise Unusable(f"can not be read: {error.strerror}") from None
    finally:
        os.close(file)


def _require_safe(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "no file"
        raise Unusable(f"is {kind}: name a file that holds {FORMS}")
    # Kubernetes and systemd hand a secret over as a file of root, which a group or an ACL may read.
    is_handed_over = status.st_uid == 0 != os.geteuid() and not status.st_mode & 0o037
    if status.st_mode & 0o077 and not is_handed_over:
        mode = f"{stat.S_IMODE(status.st_mode):o}"
        raise Unusable(
            f"may be read or written by others (its mode is {mode}): chmod 600 it, and if others could"
            " read it until now, give the account a new key"
        )
    _require_safe_owner(status)
    if status.st_size > MAX_BYTES:
        raise Unusable(f"is larger than {MAX_BYTES} bytes: it must hold {FORMS}")


def _require_safe_owner(status: os.stat_result) -> None:
    if status.st_uid not in (os.geteuid(), 0):
        kind = "is a link that belongs" if stat.S_ISLNK(status.st_mode) else "belongs"
        raise Unusable(f"{kind} to another user, who can change it: chown it to the service's")


def _parse(content: bytes) -> PrivateKey:
    """Read the private key in a file's content. Raises Unusable."""
    if not content.strip():
        raise Unusable(f"is empty: it must hold {FORMS}")
    if pem := PEM.search(content):
        return _load(load_pem_private_key, pem[0])
    digits = re.sub(rb"\s", b"", content).removeprefix(b"0x")
    if re.fullmatch(rb"(?:[0-9A-Fa-f]{2})+", digits):
        content = bytes.fromhex(digits.decode())
    if content.startswith(HEDERAS_ECDSA):
        return _load(_load_scalar, content.removeprefix(HEDERAS_ECDSA))
    return _load(load_der_private_key, content)


def _load_scalar(scalar: bytes, password: None) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(scalar), ec.SECP256K1())


def _load(load: Callable[..., Any], content: bytes) -> PrivateKey:
    try:
        key = load(content, password=None)
    except TypeError:
        raise Unusable(
            "is encrypted, and a service has nobody who types a password: take the encryption off"
            " (openssl pkey), and keep others from reading the file"
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise Unusable(
            f"does not hold {FORMS}. Hedera's portal shows an account's key as DER"
        ) from None
    curve = getattr(key, "curve", None)
    if not isinstance(key, Ed25519PrivateKey) and not isinstance(curve, ec.SECP256K1):
        raise Unusable(f"holds a key of a kind that Hedera has not: it must hold {FORMS}")
    return PrivateKey(key)
