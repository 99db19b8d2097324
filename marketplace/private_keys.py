"""Recognises private keys, so that one in a wrong place is never printed."""

import base64
import binascii
import re

RAW_BYTES = 32
MIN_HEX_DIGITS = 48  # a key that was cut while it was copied is still a secret
PHRASE_WORDS = (12, 24)


def describe_key(text: str) -> str | None:
    """The form of a private key that a text has, such as "PEM"; None where it looks like no key."""
    if re.search("-----BEGIN|PRIVATE KEY", text):
        return "PEM"
    if text.startswith("0") and "\x02\x01" in text[:8]:
        return "DER"  # a sequence that begins with its version
    words = text.strip(" \t\r\n\"'").split()
    if len(words) in PHRASE_WORDS and all(re.fullmatch("[a-z]{3,8}", word) for word in words):
        return "a recovery phrase"
    joined = "".join(words)
    if re.fullmatch(f"(0[xX])?[0-9A-Fa-f]{{{MIN_HEX_DIGITS},}}", joined):
        return "hexadecimal digits"
    if _is_base64_of_key(joined):
        return "base64"
    return None


def _is_base64_of_key(text: str) -> bool:
    if text.startswith("/"):
        return False  # a path: nothing that is looked for begins so
    try:
        padded = text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)
        content = base64.b64decode(padded, b"-_" if re.search("[-_]", text) else None, True)
    except (binascii.Error, ValueError):
        return False
    is_der = content[:1] == b"\x30" and len(content) > RAW_BYTES
    return len(content) == RAW_BYTES or is_der or content.startswith(b"-----BEGIN")
