"""What is stored of metadata: the columns of NFTs and collections, and when their metadata is read again."""

import json
import re
from collections.abc import Mapping
from typing import Any

from flask import current_app

from marketplace.errors import MediaUnreachable
from marketplace.hedera import times
from marketplace.market.throttled_log import warn_once_a_minute
from marketplace.metrics import count
from marketplace.services import services
from marketplace.store.media import MediaFull
from marketplace.store.nft_collections import CollectionRow
from marketplace.store.nfts import NftRow, id_of
from marketplace.text import clean_text
from marketplace.watcher.enrichment_result import (
    LONG,
    QUICK,
    Description,
    Enrich,
    EnrichmentResult,
    Limits,
    Outcome,
)

Columns = dict[str, Any]

MAX_ATTEMPTS = 20
LONGEST_PAUSE = 32 * times.DAY
REREAD_AFTER = 7 * times.DAY  # for a collection's document that may be replaced at its address
REFUSED = "InvalidIPAddress"  # the beginning of the reason if an address is not public
# Metadata at such an address may be replaced there.
MAY_CHANGE = re.compile("https?://|hcs://6/", re.IGNORECASE)
# What clients see of an NFT's metadata and image.
SEEN = ("name", "file_type", "attributes", "image", "original_image_url")
NOTHING = dict.fromkeys(("description", "banner", "logo", "links", "describe_at"))


def find_columns(nft: NftRow, enrich: Enrich, limits: Limits) -> Columns:
    """Find an NFT's metadata and image, store the image, and return the new columns.

    The columns of missing parts keep their values.
    """
    result = enrich(nft["metadata"] or "", limits)
    key, reason, outcome = nft["image"], result.reason, result.outcome
    if result.image:
        try:
            key = services().media.put(result.image.content, "webp", result.image.small)
        except (MediaUnreachable, MediaFull) as error:
            reason, outcome = str(error), Outcome.BUSY
            warn_once_a_minute("An image cannot be stored: %s", error.__cause__ or reason)
    reason = reason and clean_text(reason)
    if reason and reason.startswith(REFUSED):
        warn_once_a_minute(
            "An address that is not public was not asked for %s: %s", id_of(nft), reason
        )
    elif reason:
        warn_once_a_minute("%s lacks its metadata or image: %s", id_of(nft), reason)
    count("images", outcome=result.outcome.value)
    record = {**nft, "image": key} | _describe(nft, result)
    record["missing"] = reason
    return record | _schedule(outcome, nft, record, is_quick=limits is QUICK)


def _describe(nft: NftRow, result: EnrichmentResult) -> Columns:
    """The columns that come from the metadata; none if no metadata was found.

    A host's error message, such as {"description": "Too many requests"}, does not count as metadata.
    """
    if result.description is None or result.description._replace(collection=None) == Description():
        return {}
    seen_type = result.image and result.image.file_type
    return {
        "name": result.description.name or nft["name"],
        "attributes": result.description.attributes,
        "unranked": result.description.unranked,
        "file_type": result.description.file_type or seen_type or nft["file_type"],
        "original_image_url": _without_public_url(result.original_url),
    }


def _without_public_url(url: str | None) -> str | None:
    """The URL of an original image; in the sandbox only its path, to which PUBLIC_URL is added later."""
    public_url = current_app.config["PUBLIC_URL"]
    if url is None or not url.startswith(f"{public_url}/sandbox/"):
        return url
    return url.removeprefix(public_url)


def _schedule(outcome: Outcome, nft: NftRow, record: Columns, *, is_quick: bool) -> Columns:
    """When to try again, after growing pauses of up to a day; after the last try, when to read again."""
    attempts = nft["attempts"]
    if outcome is Outcome.BUSY:
        return try_at(attempts, times.MINUTE)
    attempts += 1
    read_at = {"read_at": times.to_iso(times.now())}
    if is_quick and outcome in (Outcome.SLOW, Outcome.UNREACHABLE):
        return read_at | try_at(attempts, 0)  # with more time
    if outcome is Outcome.COMPLETE or attempts >= MAX_ATTEMPTS:
        reread_at = _schedule_reread(nft, record)
        return read_at | {"attempts": attempts, "retry_at": None, "reread_at": reread_at}
    pause = times.DAY if outcome is Outcome.UNUSABLE else _find_pause(attempts)
    return read_at | try_at(attempts, pause)


def is_redrawn(before: NftRow, after: Mapping[str, Any]) -> bool:
    """Tell whether the metadata or the image that clients see has changed."""
    seen, seen_before = {**after}, {**before}
    return any(seen[name] != seen_before[name] for name in SEEN)


def _schedule_reread(nft: NftRow, record: Columns) -> str | None:
    """When to read metadata again: in a day, or after twice the last pause if nothing changed."""
    if not _may_change(nft["metadata"]):
        return None
    now, pause = times.now(), times.DAY
    if record["missing"]:
        pause = LONGEST_PAUSE
    elif nft["read_at"] and not is_redrawn(nft, record):
        pause = 2 * (now - times.to_nanoseconds(nft["read_at"]))
    return times.to_iso(now + min(max(pause, times.DAY), LONGEST_PAUSE))


def try_at(attempts: int, pause: int) -> Columns:
    return {"attempts": attempts, "retry_at": times.to_iso(times.now() + pause)}


def find_collection_columns(collection: CollectionRow, enrich: Enrich) -> Columns:
    """Read a collection's document and images; returns the new columns. Failed parts keep the old values."""
    pointer = collection["metadata"]
    columns: Columns = {**collection}
    if not pointer:
        return columns | NOTHING | {"describe_attempts": 0}
    result = enrich(pointer, LONG)
    try:
        is_whole = _note_document(result, columns, enrich)
    except (MediaUnreachable, MediaFull):
        is_whole = False
    return columns | _schedule_document(collection, is_whole=is_whole)


def _note_document(result: EnrichmentResult, columns: Columns, enrich: Enrich) -> bool:
    """Write the found facts into the columns. Returns whether nothing is missing."""
    if result.description is None:
        return False
    facts = json.loads(result.description.collection or "{}")
    columns["description"] = facts.get("description")
    columns["links"] = json.dumps(facts["links"]) if facts.get("links") else None
    if not facts:  # the pointer leads to a picture
        facts = {"logo": result.description.image}
    is_whole = True
    for name in ("banner", "logo"):
        uri = facts.get(name)
        image = uri and enrich(json.dumps({"image": uri}), LONG).image
        if image:
            columns[name] = services().media.put(image.content, "webp", image.small)
        elif uri:
            is_whole = False
        else:
            columns[name] = None
    return is_whole


def _schedule_document(collection: CollectionRow, *, is_whole: bool) -> Columns:
    attempts = 0 if is_whole else collection["describe_attempts"] + 1
    if is_whole or attempts >= MAX_ATTEMPTS:
        pause = REREAD_AFTER if _may_change(collection["metadata"]) else None
    else:
        pause = _find_pause(attempts)
    describe_at = None if pause is None else times.to_iso(times.now() + pause)
    return {"describe_attempts": attempts, "describe_at": describe_at}


def _may_change(pointer: str | None) -> bool:
    """Tell whether the metadata that a pointer leads to may be replaced."""
    return bool(MAY_CHANGE.match(pointer or ""))


def _find_pause(attempts: int) -> int:
    """The pause after N failed attempts, in nanoseconds. It grows to a day."""
    return times.growing_pause(attempts, times.MINUTE, times.DAY)
