"""Recognises an answer by its bytes, whatever its headers say, and reads JSON."""

import json
import math
import re
import sys
from typing import Any, NamedTuple

from marketplace.ledger.http import FetchError, Unfetchable

MAX_DOCUMENT_BYTES = 1024 * 1024
MAX_IMAGE_BYTES = 20 * 1024 * 1024
HEAD_BYTES = 4096
# Images and videos, by their first bytes: also those that are not shown, such as AVIF.
PICTURE = re.compile(
    rb"\x89PNG\r\n|\xff\xd8\xff|GIF8[79]a|RIFF....WEBP|BM.{4}\0{4}|II\*\0|MM\0\*|....ftyp|\x00\x00\x01\x00|\x1aE\xdf\xa3",
    re.DOTALL,
)
# Atomic groups prevent backtracking: many comments would keep a matcher busy forever.
PAGE = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?>(?>\s|<\?xml[^>]*+>|<!--.*?-->)*+)<(?:!doctype\s+html|html|head|body|title|script)\b",
    re.DOTALL | re.IGNORECASE,
)
NOT_TEXT = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")


class Content(NamedTuple):
    """Bytes from a host, and the charset that it declares for them."""

    body: bytes
    charset: str | None = None


def is_picture(body: bytes) -> bool:
    """Tell whether it is an image or a video, shown here or not."""
    head = body[:HEAD_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n")
    is_svg = head.startswith(b"<") and not PAGE.match(head) and b"<svg" in head
    return is_svg or bool(PICTURE.match(body))


def read_image(content: Content) -> bytes:
    """Return the bytes if they may be an image. Raises FetchError with the reason."""
    _require_no_page(content.body)
    if not is_picture(content.body) and not NOT_TEXT.search(content.body[:HEAD_BYTES]):
        raise Unfetchable("the image is a text")
    return content.body


def read_object(content: Content) -> dict[str, Any]:
    """Read a JSON object. Raises FetchError with the reason."""
    if len(content.body) > MAX_DOCUMENT_BYTES:
        raise Unfetchable(f"it is larger than {MAX_DOCUMENT_BYTES} bytes")
    _require_no_page(content.body)
    try:
        document = parse_json(_decode(content))
    except (ValueError, RecursionError):
        raise Unfetchable("the metadata is not JSON") from None
    if not isinstance(document, dict):
        raise Unfetchable("the metadata is not a JSON object")
    return document


def parse_json(text: str) -> Any:
    """Parse a stranger's JSON. A number that Python cannot hold becomes its text.

    Raises ValueError or RecursionError.
    """
    # NaN is not JSON. Some minters' texts have line breaks.
    return json.loads(
        text,
        parse_int=_parse_integer,
        parse_float=_parse_fraction,
        parse_constant=lambda name: None,
        strict=False,
    )


def _parse_integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= sys.int_info.default_max_str_digits else digits


def _parse_fraction(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text


def _require_no_page(body: bytes) -> None:
    """Raise FetchError for an empty answer or a web page. The host may answer properly later."""
    if not body.strip(b"\0 \t\r\n"):
        raise FetchError("the answer is empty")
    if PAGE.match(body[:HEAD_BYTES]):
        raise FetchError("the answer is a web page")


def _decode(content: Content) -> str:
    """Decode a text by its charset, otherwise as UTF-8, and replace invalid bytes.

    Some servers declare Latin-1 for everything, so valid UTF-8 beyond ASCII is decoded as UTF-8.
    """
    body = content.body
    try:
        text = body.decode()
        if not body.isascii():
            return text.removeprefix("\ufeff")
    except ValueError:
        pass
    try:
        text = body.decode(content.charset or json.detect_encoding(body), "replace")
    except (LookupError, ValueError):  # no such charset
        text = body.decode(errors="replace")
    return text.removeprefix("\ufeff")
