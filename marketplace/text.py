"""Text: what clients and strangers wrote, names of classes as words, and what a terminal can print."""

import json
import re

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


def quote(value: object) -> str:
    """A client's value for an error message: as JSON, in ASCII, and cut to 60 characters."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = "a value of another kind"
    return text if len(text) <= 60 else f"{text[:57]}..."


def reason(error: Exception) -> str:
    """The message of an error; of an OSError, with the file: ``/backups: Permission denied``."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def upper_words(name: str) -> str:
    """Write the name of a class in upper case: NotFound becomes NOT_FOUND."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", name).upper()


def camel_case(name: str) -> str:
    """Write words as the name of a class: NOT_FOUND and not_found become NotFound."""
    return "".join(word.capitalize() for word in name.split("_"))


def printable(text: str) -> str:
    """Escape all characters that a terminal cannot print, except line ends."""
    return "".join(
        character if character.isprintable() or character == "\n" else repr(character)[1:-1]
        for character in text
    )
