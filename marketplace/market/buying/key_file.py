"""Reads the key of the marketplace's account from the file that ACCOUNT_KEY_FILE names, and signs with it.

No message shows the file's content.
"""

import os
import re
import shlex
import stat
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from hiero_sdk_python.crypto.private_key import PrivateKey

from marketplace.errors import StartRefused
from marketplace.settings import KEY_ADVICE

MAX_BYTES = 16 * 1024
RAW_DIGITS = re.compile(rb"[0-9A-Fa-f]{64}")  # a key of either type, without DER
# What DER has before the 32 bytes of a key.
PREFIXES = {
    "ED25519": "302e020100300506032b657004220420",
    "ECDSA": "3030020100300706052b8104000a04220420",
}
ENCRYPTED = (
    "is encrypted, and nobody types its password when the service starts. Decrypt it (openssl pkey -in"
    " FILE -out NEW), and keep the new file as safe as the account"
)
FORMS = "a private key of ED25519 or ECDSA secp256k1, not encrypted, as PEM or as DER (bytes or hexadecimal)"


class Unusable(Exception):
    """What is wrong with the file. Its message ends a sentence that begins with the path."""


class FileKey:
    """A key from a file. Call it with a transaction's body: it returns the public key and the signature."""

    def __init__(self, key: PrivateKey) -> None:
        self._key = key
        self.public_key = key.public_key().to_bytes_raw()

    def __call__(self, body: bytes) -> tuple[bytes, bytes]:
        return self.public_key, self._key.sign(body)

    def __repr__(self) -> str:
        return f"<FileKey {self.public_key.hex()}>"  # the SDK's repr shows the private key


def read_key(path: str) -> FileKey:
    """Read the key in a file that nobody else can read or change.

    Raises StartRefused, which names the file, the fault and the fix. The error hides a path that does not
    exist: the operator may have set the key itself as the path.
    """
    try:
        _require_safe_owner(os.lstat(path))
        # Without O_NONBLOCK, opening a pipe waits until somebody writes to it.
        with open(
            path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)
        ) as file:
            _require_safe(os.fstat(file.fileno()))
            return FileKey(_parse(file.read(MAX_BYTES), path))
    except OSError as error:
        raise StartRefused(
            f"MARKETPLACE_ACCOUNT_KEY_FILE names no file that can be read: {error.strerror}. {KEY_ADVICE}"
        ) from None
    except Unusable as error:
        raise StartRefused(f"MARKETPLACE_ACCOUNT_KEY_FILE={path} {error}") from None


def _require_safe(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise Unusable(f"is not a regular file: name a file that holds {FORMS}")
    # Kubernetes and systemd provide a secret as root's file, readable by a group or through an ACL.
    is_provided = status.st_uid == 0 != os.geteuid() and not status.st_mode & 0o037
    if status.st_mode & 0o077 and not is_provided:
        mode = f"{stat.S_IMODE(status.st_mode):o}"
        raise Unusable(
            f"may be read or written by others (its mode is {mode}). Run chmod 600 on it. If others could"
            " read it until now, give the account a new key"
        )
    _require_safe_owner(status)


def _require_safe_owner(status: os.stat_result) -> None:
    if status.st_uid not in (os.geteuid(), 0):
        raise Unusable(
            "is a file or a link of another user, who can change it. Run chown: it must be the service user's"
        )


def _parse(content: bytes, path: str) -> PrivateKey:
    """Read the private key in a file's content. Raises Unusable."""
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):  # as PowerShell writes it
        content = content.decode("utf-16", errors="replace").encode()
    text = content.removeprefix(BOM_UTF8).strip()
    digits = text.removeprefix(b"0x").removeprefix(b"0X")
    if RAW_DIGITS.fullmatch(digits):
        raise Unusable(_explain_raw(path))
    if b"ENCRYPTED" in text:  # a PEM's
        raise Unusable(ENCRYPTED)
    try:
        return PrivateKey.from_der(_read_der(content, text, digits))
    except (TypeError, ValueError, UnsupportedAlgorithm):
        raise Unusable(
            f"does not hold {FORMS}. Hedera's portal shows an account's key as DER"
        ) from None


def _read_der(content: bytes, text: bytes, digits: bytes) -> bytes:
    if b"-----BEGIN" in text:
        key = load_pem_private_key(text, password=None)
        return key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    return bytes.fromhex(digits.decode()) if digits.isalnum() else content


def _explain_raw(path: str) -> str:
    """Say how to convert a raw key to DER. A raw key has no type, and a wrong guess gives a different key."""
    lines = (
        f"{kind}: sed -i 's/^\\(0[xX]\\)\\?/{prefix}/' {shlex.quote(path)}"
        for kind, prefix in PREFIXES.items()
    )
    return (
        f"holds the 64 digits of a raw key, which do not show its type. Hedera's portal shows the type beside"
        f" the key. Convert the file with the line for the type. {'; or '.join(lines)}"
    )
