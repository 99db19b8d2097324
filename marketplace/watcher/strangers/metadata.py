"""Converts a metadata document (HIP-412) to the fields of an NFT, or (HIP-766) of a collection.

Minters write the same facts in many ways: other key names, other cases, objects in place of lists.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from marketplace.text import clean_text
from marketplace.watcher.enrichment_result import Description
from marketplace.watcher.strangers.content import parse_json
from marketplace.watcher.strangers.uri import is_address

MAX_ATTRIBUTES = 200
MAX_KEYS = 1000  # of an object, the first ones: each is compared with each name
MAX_ATTRIBUTES_TEXT = 16_000  # all of them together
MAX_ADDRESS = 2000
UNNAMED = "Attribute"  # the trait_type of a value that has none
# Names of the same field, in the order in which they count.
TRAIT_TYPE = ("trait_type", "name", "key", "trait", "type")
IMAGE = ("image", "picture", "CID", "image_url", "image_uri", "img")
# Of a collection. The pictures for light backgrounds are taken first.
BANNER = (
    "lightBanner",
    "banner",
    "banner_image",
    "darkBanner",
    "lightFeaturedImage",
    "featured_image",
)
LOGO = ("lightLogo", "logo", "darkLogo", "image", "picture", "icon")
LINKS = (
    "website",
    "external_link",
    "external_url",
    "discussion",
    "whitepaper",
    "discord",
    "twitter",
)
MAX_LINKS, MAX_LABEL, MAX_DESCRIPTION = 20, 100, 5000
WEB_PAGE = r"(?:https?://)?[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::[0-9]+)?(?:[/?#][^\s\"'<>\\]{0,1000})?"
ADDRESS = ("uri", "url", "src", "href", "CID")
# Values of display_type: how much of something the NFT has, not what it is like.
MEASURES = ("number", "percentage", "boost", "boostnumber", "boostpercentage", "date", "datetime")
EMPTY: tuple[object, ...] = (None, "", [], {})


def describe(document: dict[str, Any]) -> Description:
    """Read an NFT's fields from a document."""
    attributes = _find_attributes(document)
    return Description(
        name=clean_text(find(document, "name")),
        file_type=_mime(find(document, "type")),
        attributes=stringify(attributes),
        image=_find_image(document),
        unranked=_list_unranked(attributes),
        collection=_describe_collection(document),
    )


def find(fields: dict[str, Any], *names: str) -> Any:
    """The first value of these keys that is not empty.

    An exact match of a key wins over a match with another case or other separators.
    """
    alike: dict[str, Any] = {}
    for key, value in islice(fields.items(), MAX_KEYS):
        if value not in EMPTY:
            alike.setdefault(_fold(key), value)
    for name in names:
        if fields.get(name) not in EMPTY:
            return fields[name]
        if _fold(name) in alike:
            return alike[_fold(name)]
    return None


def _fold(key: str) -> str:
    return re.sub(r"[_\-\s]", "", key).lower()


class Pair(NamedTuple):
    """One attribute, as text, and whether it is a number or a date by its display_type."""

    trait_type: str
    value: str
    is_measure: bool = False


def _find_attributes(document: dict[str, Any]) -> list[Pair]:
    """The attributes, which some minters put into the properties; otherwise the properties themselves."""
    properties = _parsed(find(document, "properties"))
    inner = properties if isinstance(properties, dict) else {}
    plain = {key: value for key, value in inner.items() if isinstance(value, str | int | float)}
    others = properties if isinstance(properties, list) else plain
    named = [
        find(fields, name) for fields in (document, inner) for name in ("attributes", "traits")
    ]
    return next(filter(None, map(read_attributes, (*named, others))), [])


def read_attributes(attributes: object) -> list[Pair]:
    """The attributes of a list, an object, or the JSON text of either."""
    pairs = (
        Pair(trait_type, value, _fold(str(display)) in MEASURES)
        for name, content, display in _pairs(_parsed(attributes))
        if (trait_type := clean_text(name)) is not None
        and (value := clean_text(content)) is not None
    )
    return _shorten([*islice(pairs, MAX_ATTRIBUTES)])


def _shorten(pairs: list[Pair]) -> list[Pair]:
    while len(json.dumps(pairs)) > MAX_ATTRIBUTES_TEXT:
        pairs = pairs[: len(pairs) // 2]
    return pairs


def stringify(pairs: list[Pair]) -> str | None:
    """Compact JSON of [{"trait_type": str, "value": str}, ...], or None if there are none."""
    shown = [{"trait_type": pair.trait_type, "value": pair.value} for pair in pairs]
    return json.dumps(shown, separators=(",", ":"), ensure_ascii=False) if shown else None


def _list_unranked(pairs: list[Pair]) -> str | None:
    """JSON of the types of the attributes that weigh nothing in a rank, or None if there are none."""
    types = [*dict.fromkeys(pair.trait_type for pair in pairs if pair.is_measure)]
    return json.dumps(types, separators=(",", ":"), ensure_ascii=False) if types else None


def _parsed(value: object) -> object:
    """A list or an object that is written as JSON text; other values as they are."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return parse_json(value)
        except (ValueError, RecursionError):
            return None
    return value


def _pairs(attributes: object) -> Iterator[tuple[object, object, object]]:
    """The type, the value and the display_type of each attribute."""
    if isinstance(attributes, list):
        for item in attributes:
            yield from _pairs_of_item(item)
    if isinstance(attributes, dict):
        if _has_value(attributes) and "trait_type" in map(str.lower, attributes):
            yield _pair(attributes, UNNAMED)  # a single one
            return
        for name, content in attributes.items():
            is_pair = isinstance(content, dict) and _has_value(content)
            yield _pair(content, name) if is_pair else (name, content, None)


def _pairs_of_item(item: object) -> Iterator[tuple[object, object, object]]:
    """The pair of an item of a list, or those of an item such as {"Palette": "Ember"}."""
    if isinstance(item, str):
        yield UNNAMED, item, None
    elif isinstance(item, dict) and _has_value(item):
        yield _pair(item, UNNAMED)
    elif isinstance(item, dict) and find(item, *TRAIT_TYPE) is None:
        yield from ((name, content, None) for name, content in item.items())


def _pair(item: dict[str, Any], name: str) -> tuple[object, object, object]:
    return find(item, *TRAIT_TYPE) or name, find(item, "value"), find(item, "display_type")


def _has_value(item: dict[str, Any]) -> bool:
    return find(item, "value") is not None


def _describe_collection(document: dict[str, Any]) -> str | None:
    """A document's facts about a collection (HIP-766) as JSON text; None if there are none."""
    banner = _find_address(find(document, name) for name in BANNER)
    logo = _find_address(find(document, name) for name in LOGO)
    description = clean_text(find(document, "description"), limit=MAX_DESCRIPTION)
    facts = {
        "description": description,
        "banner": banner,
        "logo": logo,
        "links": _list_links(document),
    }
    return json.dumps(facts, separators=(",", ":")) if any(facts.values()) else None


def _find_address(values: Iterable[object]) -> str | None:
    texts = (_uri(text) for value in values for text in _list_texts(value))
    return next((text for text in texts if text and is_address(text)), None)


def _list_links(document: dict[str, Any]) -> list[dict[str, str]]:
    """The links of a collection: to web pages only, each with a label."""
    socials = find(document, "socials")
    if isinstance(socials, dict):
        socials = [{"label": label, "url": url} for label, url in socials.items()]
    items = [
        item for item in (socials if isinstance(socials, list) else []) if isinstance(item, dict)
    ]
    named = [(name, find(document, name)) for name in LINKS]
    labelled = [
        *named,
        *((find(item, "label", "name"), find(item, "url", "uri")) for item in items),
    ]
    links = {url: label for label, address in labelled if (url := _web_url(address))}
    shown = [{"label": clean_text(links[url], limit=MAX_LABEL) or url, "url": url} for url in links]
    return shown[:MAX_LINKS]


def _web_url(value: object) -> str | None:
    """The URL of a web page, or None. Some leave out the scheme. A script's address is no page's."""
    if not isinstance(value, str) or not re.fullmatch(
        WEB_PAGE, url := value.strip(), re.IGNORECASE
    ):
        return None
    return url if re.match("https?://", url, re.IGNORECASE) else f"https://{url}"


def _find_image(document: dict[str, Any]) -> str | None:
    """The image's address. If no text is an address, returns another text."""
    named = [find(document, name) for name in IMAGE]
    texts = [text for value in (*named, *_list_files(document)) for text in _list_texts(value)]
    uris = [uri for text in texts if (uri := _uri(text))]
    return next(filter(is_address, uris), uris[0] if uris else None)


def _list_files(document: dict[str, Any]) -> Iterable[object]:
    """The pictures among the files, the default one first."""
    files = _parsed(find(document, "files"))
    items = [
        file for file in (files if isinstance(files, list) else [files]) if isinstance(file, dict)
    ]
    pictures = [
        file for file in items if str(find(file, "type") or "image/").lower().startswith("image")
    ]
    return sorted(pictures, key=lambda file: find(file, "is_default_file") is not True)


def _list_texts(value: object) -> Iterator[object]:
    """A text, or the texts in an object or a list that may be the address, those of address keys first."""
    if isinstance(value, dict):
        yield from filter(None, (find(value, name) for name in ADDRESS))
        yield from (text for text in value.values() if isinstance(text, str) and is_address(text))
    elif isinstance(value, list):
        for item in value[:MAX_ATTRIBUTES]:
            yield from _list_texts(item) if isinstance(item, dict) else [item]
    else:
        yield value


def _uri(value: object) -> str | None:
    """A URI, or None if it is too long. A data: URI may be long, since it holds the content itself."""
    if not isinstance(value, str):
        return None
    uri = clean_text(value, limit=len(value))
    is_short = uri is not None and (len(uri) <= MAX_ADDRESS or uri[:5].lower() == "data:")
    return uri if is_short else None


def _mime(value: object) -> str | None:
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9.+-]{1,64}/[A-Za-z0-9.+-]{1,64}", value):
        return value.lower()
    return None
