"""Text that others wrote, fit for a database and a client."""

import json

MAX_TEXT = 1000


def clean_text(value: object, limit: int = MAX_TEXT) -> str | None:
    """Turn a value into text that a database and a client can hold; other JSON is written as text."""
    if value is None:
        return None
    if not isinstance(value, str):
        try:
            value = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        except (ValueError, RecursionError):
            return None
    clean = value.encode(errors="ignore").decode().replace("\0", "").strip()
    return clean[:limit] or None
