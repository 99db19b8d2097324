"""Completes stored NFTs: adds the metadata and the images that they lack, for several at once."""

import random
import time
from collections import Counter
from collections.abc import Callable

from flask import Flask

from marketplace.errors import MarketplaceError, Unavailable
from marketplace.events import EventKind
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.market import moderation
from marketplace.market.history import Event, store_events
from marketplace.market.moderation import Subject
from marketplace.market.throttled_log import warn_once_a_minute
from marketplace.services import read, services, write
from marketplace.store import nft_collections, nfts, traits
from marketplace.store.connection import explained
from marketplace.store.nft_collections import CollectionRow
from marketplace.store.nfts import NftRow, id_of
from marketplace.watcher.done import Done
from marketplace.watcher.enrichment_result import LONG, QUICK, Enrich, Limits
from marketplace.watcher.metadata_columns import (
    Columns,
    find_collection_columns,
    find_columns,
    is_redrawn,
    try_at,
)
from marketplace.watcher.tasks import Tasks

PAUSE_SECONDS = 0.25  # between two queries for what is due
COMPLETING_SECONDS = 20  # of one sync
FIRST_AT_ONCE, LATER_AT_ONCE = 8, 3  # in each lane; tries after the first one have more time
# In the application's extensions, for tests: a replacement for the processes that read metadata and images.
ENRICH = "marketplace.enrich"

Try = tuple[NftId, int]  # its NFT, and its lane


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
        self._tries: Tasks[Try, tuple[NftRow, Columns]] = Tasks(
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

    def _store(self, nft: NftRow, record: Columns) -> Done:
        """Store the result of a try. If that fails, this process does not try the NFT again."""
        try:
            self._write(nft, record)
        except (MarketplaceError, OSError):
            raise
        except Exception:
            self._app.logger.exception("%s cannot be stored", id_of(nft))
            self._unwritable.add(id_of(nft))
            return Done.NOT_CHECKED
        return Done.INCOMPLETE if record["missing"] else Done.COMPLETED

    def _write(self, before: NftRow, record: Columns) -> None:
        with explained(), write() as db:
            nft = nfts.mark_enriched(db, record, before)
            if record["image"] and record["image"] != before["image"]:
                moderation.note_image(db, Subject(*id_of(before)), record["image"])
            if nft:
                traits.replace_traits(db, before, nft)
            if nft and is_redrawn(before, nft):
                store_events(db, {id_of(nft): [Event(EventKind.METADATA_CHANGED)]})

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
            free = [nft for nft in due if id_of(nft) not in taken]
            for nft in free[: min(most - running[token], places - running.total())]:
                self._tries.begin((id_of(nft), lane), self._complete, nft, limits)
                running[token] += 1

    def _complete(self, nft: NftRow, limits: Limits) -> tuple[NftRow, Columns]:
        with self._app.app_context():
            try:
                with explained():
                    return nft, find_columns(nft, self._enrich, limits)
            except Unavailable as error:  # the database
                warn_once_a_minute("%s was not completed: %s", id_of(nft), error)
            except Exception:
                self._app.logger.exception("%s was not completed", id_of(nft))
            return nft, {**nft} | try_at(nft["attempts"], times.MINUTE)

    def _begin_description(self) -> None:
        """Read the document of one collection at a time."""
        if not self._descriptions:
            due = nft_collections.list_collections_to_describe(read(), times.to_iso(times.now()), 1)
            for collection in due:
                self._descriptions.begin(collection["token"], self._describe_collection, collection)

    def _describe_collection(self, collection: CollectionRow) -> Columns:
        with self._app.app_context():
            try:
                return find_collection_columns(collection, self._enrich)
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
