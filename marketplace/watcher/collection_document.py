"""Reads collections' own documents (HIP-766), in the same way as NFTs' metadata."""

import json
from typing import Any

from marketplace.errors import MediaUnreachable
from marketplace.hedera import times
from marketplace.services import services
from marketplace.store.media import MediaFull
from marketplace.store.nft_collections import CollectionRow
from marketplace.watcher.enrichment_result import LONG, Enrich, EnrichmentResult
from marketplace.watcher.metadata_retries import MAX_ATTEMPTS, find_pause, may_change

REREAD_AFTER = 7 * times.DAY  # for a document that may be replaced at its address

Columns = dict[str, Any]
NOTHING = dict.fromkeys(("description", "banner", "logo", "links", "describe_at"))


def describe(collection: CollectionRow, enrich: Enrich) -> Columns:
    """Read a collection's document and images; returns the new columns. Failed parts keep the old values."""
    pointer = collection["metadata"]
    columns: Columns = {**collection}
    if not pointer:
        return columns | NOTHING | {"describe_attempts": 0}
    result = enrich(pointer, LONG)
    try:
        is_whole = _read(result, columns, enrich)
    except (MediaUnreachable, MediaFull):
        is_whole = False
    return columns | _schedule(collection, is_whole=is_whole)


def _read(result: EnrichmentResult, columns: Columns, enrich: Enrich) -> bool:
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


def _schedule(collection: CollectionRow, *, is_whole: bool) -> Columns:
    attempts = 0 if is_whole else collection["describe_attempts"] + 1
    if is_whole or attempts >= MAX_ATTEMPTS:
        pause = REREAD_AFTER if may_change(collection["metadata"]) else None
    else:
        pause = find_pause(attempts)
    describe_at = None if pause is None else times.to_iso(times.now() + pause)
    return {"describe_attempts": attempts, "describe_at": describe_at}
