"""Cleans text that others wrote, for the database and for clients."""

import json

MAX_TEXT = 1000


def clean_text(value: object, limit: int = MAX_TEXT) -> str | None:
    """Convert a value to a text that the database and clients can hold. A value that is no text becomes JSON.

    Returns None if nothing is left.
    """
    if value is None:
        return None
    if not isinstance(value, str):
        try:
            value = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        except (ValueError, RecursionError):
            return None
    clean = value.encode(errors="ignore").decode().replace("\0", "").strip()
    return clean[:limit] or None
