"""Completes stored NFTs: adds the metadata and the images that they lack, for several at once."""

import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from flask import Flask, current_app

from marketplace.errors import MarketplaceError, MediaUnreachable, Unavailable
from marketplace.events import EventKind
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.market import moderation, nft_events
from marketplace.market.moderation import Subject
from marketplace.market.nft_events import Event
from marketplace.market.throttled_log import warn_once_a_minute
from marketplace.metrics import count
from marketplace.services import services
from marketplace.store import nft_collections, nfts, traits
from marketplace.store.connection import explained
from marketplace.store.database import read, write
from marketplace.store.media import MediaFull
from marketplace.store.nft_collections import CollectionRow
from marketplace.store.nfts import NftRow
from marketplace.text import clean_text
from marketplace.watcher import collection_document
from marketplace.watcher.collection_document import Columns
from marketplace.watcher.enrichment_result import (
    LONG,
    QUICK,
    Description,
    Enrich,
    EnrichmentResult,
    Limits,
    Outcome,
)
from marketplace.watcher.metadata_retries import MAX_ATTEMPTS, find_pause, may_change
from marketplace.watcher.tasks import Done, Tasks

PAUSE_SECONDS = 0.25  # between two queries for what is due
COMPLETING_SECONDS = 20  # of one sync
FIRST_AT_ONCE, LATER_AT_ONCE = 8, 3  # in each lane; tries after the first one have more time
LONGEST_PAUSE = 32 * times.DAY
# In the application's extensions, for tests: a replacement for the processes that read metadata and images.
ENRICH = "marketplace.enrich"
REFUSED = "InvalidIPAddress"  # the beginning of the reason if an address is not public

Try = tuple[NftId, int]  # its NFT, and its lane
Record = dict[str, Any]  # the columns of an NFT


def make_enricher(app: Flask) -> "Enricher":
    """Make an enricher with processes of its own. Only they load the code that reads strangers' images."""
    if enrich := app.extensions.get(ENRICH):
        return Enricher(app, enrich)
    from marketplace.watcher.enrichment_processes import EnrichmentProcesses

    sandbox = services(app).sandbox
    make_adapters = sandbox.gateway_adapters if sandbox else dict
    processes = EnrichmentProcesses(app.config, make_adapters)
    return Enricher(app, processes.enrich, processes.close)


class Enricher:
    """Completes the NFTs that are due. Each lane of nfts.LANES has places of its own."""

    def __init__(self, app: Flask, enrich: Enrich, end: Callable[[], None] = lambda: None) -> None:
        """``end`` ends the processes of ``enrich``."""
        self._app, self._enrich, self._end = app, enrich, end
        # Each task returns the NFT's earlier row and its new columns.
        self._tries: Tasks[Try, tuple[NftRow, Record]] = Tasks(
            sum(map(_count_places, nfts.LANES)), "enrich"
        )
        self._descriptions: Tasks[str, Columns] = Tasks(1, "describe")  # of collections
        self._unwritable: set[NftId] = set()

    def run(self) -> float:
        """Store the tries that have ended, begin those that are due, and wait for a change."""
        self.step()
        self._tries.wait(PAUSE_SECONDS)
        return 0

    def drain(self, seconds: float) -> Counter[Done]:
        """Complete due NFTs, and start no attempt after this many seconds. Returns counts of the results."""
        until = time.monotonic() + seconds
        counts = self.step()
        while self._tries or self._descriptions:
            self._tries.wait(PAUSE_SECONDS)
            counts += self.step(begins=time.monotonic() < until)
        return counts

    def step(self, *, begins: bool = True) -> Counter[Done]:
        """Store the tries that have ended, and begin those that are due. Raises the database's errors."""
        with self._app.app_context(), explained():
            counts = Counter(self._store(*ended) for ended in self._tries.take_ended())
            self._store_descriptions()
            if begins:
                for lane in nfts.LANES:
                    self._begin_due(lane)
                self._begin_description()
            return counts

    def _store(self, nft: NftRow, record: Record) -> Done:
        """Store the result of a try. If that fails, this process does not try the NFT again."""
        try:
            self._write(nft, record)
        except (MarketplaceError, OSError):
            raise
        except Exception:
            self._app.logger.exception("%s cannot be stored", _id(nft))
            self._unwritable.add(_id(nft))
            return Done.NOT_CHECKED
        return Done.INCOMPLETE if record["missing"] else Done.COMPLETED

    def _write(self, before: NftRow, record: Record) -> None:
        with explained(), write() as db:
            nft = nfts.mark_enriched(db, record, before)
            if record["image"] and record["image"] != before["image"]:
                moderation.note_image(db, Subject(*_id(before)), record["image"])
            if nft:
                traits.replace_traits(db, before, nft)
            if nft and nft_events.is_redrawn(before, nft):
                nft_events.store(db, {_id(nft): [Event(EventKind.METADATA_CHANGED)]})

    def _begin_due(self, lane: int) -> None:
        """Begin tries in a lane's free places, first for the collections with the fewest tries in progress.

        One collection may have at most half of the places.
        """
        places = _count_places(lane)
        running = Counter(id.token for id, other in self._tries if other == lane)
        if running.total() == places:
            return
        now, limits = times.to_iso(times.now()), LONG if lane else QUICK
        tokens, most = nfts.list_collections_incomplete(read(), now), places // 2
        random.shuffle(tokens)
        # An NFT whose pointer has changed may still have a later try of the old pointer in progress.
        taken = self._unwritable.union(id for id, _ in self._tries)
        for token in sorted(tokens, key=running.__getitem__):
            if running.total() == places:
                return
            at_most = most + len(self._unwritable)
            due = nfts.list_incomplete(read(), token, now, lane, at_most)
            free = [nft for nft in due if _id(nft) not in taken]
            for nft in free[: min(most - running[token], places - running.total())]:
                self._tries.begin((_id(nft), lane), self._complete, nft, limits)
                running[token] += 1

    def _complete(self, nft: NftRow, limits: Limits) -> tuple[NftRow, Record]:
        with self._app.app_context():
            try:
                with explained():
                    return nft, enrich(nft, self._enrich, limits)
            except Unavailable as error:  # the database
                warn_once_a_minute("%s was not completed: %s", _id(nft), error)
            except Exception:
                self._app.logger.exception("%s was not completed", _id(nft))
            return nft, {**nft} | _at(nft["attempts"], times.MINUTE)

    def _begin_description(self) -> None:
        """Read the document of one collection at a time."""
        if not self._descriptions:
            due = nft_collections.list_collections_to_describe(read(), times.to_iso(times.now()), 1)
            for collection in due:
                self._descriptions.begin(collection["token"], self._describe_collection, collection)

    def _describe_collection(self, collection: CollectionRow) -> Columns:
        with self._app.app_context():
            try:
                return collection_document.describe(collection, self._enrich)
            except Exception:
                self._app.logger.exception("%s was not described", collection["token"])
                return {**collection, "describe_at": times.to_iso(times.now() + times.DAY)}

    def _store_descriptions(self) -> None:
        for columns in self._descriptions.take_ended():
            with write() as db:
                nft_collections.mark_collection_described(db, columns)
                for key in filter(None, (columns["logo"], columns["banner"])):
                    moderation.note_image(db, Subject(columns["token"]), key)

    def close(self) -> None:
        """End the tries in progress. They stay due."""
        self._descriptions.close()
        self._tries.close()
        self._end()


def _count_places(lane: int) -> int:
    return LATER_AT_ONCE if lane else FIRST_AT_ONCE


def _id(nft: NftRow) -> NftId:
    return NftId(nft["token"], nft["serial_no"])


def enrich(nft: NftRow, enrich: Enrich, limits: Limits) -> Record:
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
            "An address that is not public was not asked for %s: %s", _id(nft), reason
        )
    elif reason:
        warn_once_a_minute("%s lacks its metadata or image: %s", _id(nft), reason)
    count("images", outcome=result.outcome.value)
    record = {**nft, "image": key} | _describe(nft, result)
    record["missing"] = reason
    return record | _schedule(outcome, nft, record, is_quick=limits is QUICK)


def _describe(nft: NftRow, result: EnrichmentResult) -> Record:
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


def _schedule(outcome: Outcome, nft: NftRow, record: Record, *, is_quick: bool) -> Record:
    """When to try again, after growing pauses of up to a day; after the last try, when to read again."""
    attempts = nft["attempts"]
    if outcome is Outcome.BUSY:
        return _at(attempts, times.MINUTE)
    attempts += 1
    read_at = {"read_at": times.to_iso(times.now())}
    if is_quick and outcome in (Outcome.SLOW, Outcome.UNREACHABLE):
        return read_at | _at(attempts, 0)  # with more time
    if outcome is Outcome.COMPLETE or attempts >= MAX_ATTEMPTS:
        reread_at = _schedule_reread(nft, record)
        return read_at | {"attempts": attempts, "retry_at": None, "reread_at": reread_at}
    pause = times.DAY if outcome is Outcome.UNUSABLE else find_pause(attempts)
    return read_at | _at(attempts, pause)


def _schedule_reread(nft: NftRow, record: Record) -> str | None:
    """When to read metadata again: in a day, or after twice the last pause if nothing changed."""
    if not may_change(nft["metadata"]):
        return None
    now, pause = times.now(), times.DAY
    if record["missing"]:
        pause = LONGEST_PAUSE
    elif nft["read_at"] and not nft_events.is_redrawn(nft, record):
        pause = 2 * (now - times.to_nanoseconds(nft["read_at"]))
    return times.to_iso(now + min(max(pause, times.DAY), LONGEST_PAUSE))


def _at(attempts: int, pause: int) -> Record:
    return {"attempts": attempts, "retry_at": times.to_iso(times.now() + pause)}
