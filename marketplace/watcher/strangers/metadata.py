"""Converts a metadata document (HIP-412) to the fields of an NFT. Odd values are left out."""

import json
import re
from collections.abc import Iterator
from typing import Any

from marketplace.ledger.clean_text import clean_text
from marketplace.watcher.found import Description

MAX_ATTRIBUTES = 200
MAX_ATTRIBUTES_TEXT = 16_000  # all of them together
MAX_ADDRESS = 2000


def describe(document: dict[str, Any]) -> Description:
    """Read an NFT's fields from a document. Its keys may be in upper or lower case."""
    fields = {key.lower(): value for key, value in document.items()}
    image = fields.get("image") or fields.get("picture")
    return Description(
        name=clean_text(fields.get("name")),
        file_type=_mime(fields.get("type")),
        attributes=stringify_attributes(_attributes(fields)),
        image=_uri(image),
    )


def _attributes(fields: dict[str, Any]) -> object:
    """The attributes, which some minters put into the properties."""
    if fields.get("attributes"):
        return fields["attributes"]
    properties = fields.get("properties")
    if isinstance(properties, dict):
        return properties.get("attributes") or properties.get("traits")
    return None


def stringify_attributes(attributes: object) -> str | None:
    """Compact JSON of [{"trait_type": str, "value": str}, ...], or None if there are none."""
    pairs = [
        {"trait_type": trait_type, "value": value}
        for name, content in _pairs(attributes)
        if (trait_type := clean_text(name)) is not None
        and (value := clean_text(content)) is not None
    ][:MAX_ATTRIBUTES]
    while len(json.dumps(pairs)) > MAX_ATTRIBUTES_TEXT:
        pairs = pairs[: len(pairs) // 2]
    return json.dumps(pairs, separators=(",", ":"), ensure_ascii=False) if pairs else None


def _pairs(attributes: object) -> Iterator[tuple[object, object]]:
    if isinstance(attributes, dict):
        yield from attributes.items()
    if isinstance(attributes, list):
        for attribute in attributes:
            if isinstance(attribute, dict):
                yield attribute.get("trait_type"), attribute.get("value")


def _uri(value: object) -> str | None:
    """A URI, or None if it is too long. A data: URI may be long, since it holds the content itself."""
    if not isinstance(value, str):
        return None
    uri = clean_text(value, limit=len(value))
    is_short = uri is not None and (len(uri) <= MAX_ADDRESS or uri.startswith("data:"))
    return uri if is_short else None


def _mime(value: object) -> str | None:
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9.+-]{1,64}/[A-Za-z0-9.+-]{1,64}", value):
        return value.lower()
    return None
