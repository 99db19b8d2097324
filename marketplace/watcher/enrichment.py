"""Completes the metadata and the images that stored NFTs lack: many tries at once.

There are eight places for first tries, and four for later ones, which have more time. At most half of either
is for one collection.
"""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from flask import Flask, current_app

from marketplace import times
from marketplace.cli.systemd import notify_alive
from marketplace.counts import count
from marketplace.errors import MarketplaceError, MediaFull, MediaUnreachable
from marketplace.ids import EventKind
from marketplace.ledger.clean_text import clean_text
from marketplace.market import events
from marketplace.market.events import Event
from marketplace.services import services
from marketplace.store import nfts, properties, traits
from marketplace.store.database import read, write
from marketplace.store.database_errors import explained
from marketplace.store.rows import NftRow
from marketplace.watcher.work import Done

if TYPE_CHECKING:
    from marketplace.watcher.strangers.found import Found

MEDIA_BYTES = "media_bytes"  # the property that says what all images take
PAUSE_SECONDS = 0.25  # between two queries for what is due
COMPLETING_SECONDS = 20  # of one sync
FIRST_AT_ONCE, LATER_AT_ONCE = 8, 4
AT_ONCE = FIRST_AT_ONCE + LATER_AT_ONCE
MINUTE = 60 * times.SECOND
DAY = 24 * 60 * MINUTE
MAX_ATTEMPTS = 20

Key = tuple[str, int]
Record = dict[str, Any]  # the columns of an NFT


def make_enricher(app: Flask) -> "Enricher":
    """Make an enricher with processes of its own. Only they load what reads strangers' images."""
    if enrich := services(app).enrich:
        return Enricher(app, enrich)
    from marketplace.watcher.enrichment_processes import EnrichmentProcesses
    from marketplace.watcher.strangers import confine

    if not confine.is_filtered():
        app.logger.warning(
            "Images are decoded without seccomp: this kernel has none, or we do not know this machine's"
            " system calls. docs/metadata.md says what that means"
        )
    sandbox = services(app).sandbox
    make_adapters = sandbox.gateway_adapters if sandbox else dict
    processes = EnrichmentProcesses(app.config, make_adapters)
    return Enricher(app, processes.enrich, processes.close)


class Enrich(Protocol):
    """Finds the metadata and the image of an NFT: watcher/enrichment_processes.py."""

    def __call__(self, pointer: str, *, is_quick: bool) -> "Found": ...


class Try(NamedTuple):
    """A try to complete an NFT, which is in progress."""

    nft: NftRow  # as it was stored
    is_first: bool
    record: Future[Record]


class Enricher:
    """Completes what is due: first the collections with the fewest tries in progress."""

    def __init__(self, app: Flask, enrich: Enrich, end: Callable[[], None] = lambda: None) -> None:
        """``end`` ends what enriches."""
        self._app, self._enrich, self._end = app, enrich, end
        self._media = services(app).media
        self._tries: dict[Key, Try] = {}
        self._unwritable: set[Key] = set()
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="enrich")
        self._changed = threading.Event()

    def run(self) -> float:
        """Store what has ended, begin what is due, and wait a moment."""
        self.step()
        self._wait()
        return 0

    def _wait(self) -> None:
        self._changed.wait(PAUSE_SECONDS)
        self._changed.clear()

    def measure(self) -> None:
        """Measure what all images take. A bucket takes minutes to list."""
        try:
            self._media.measure()
        except MediaUnreachable as error:
            self._app.logger.warning("The size of all images is not known: %s", error.__cause__)

    def drain(self, seconds: float) -> Counter[Done]:
        """Complete what is due, for so long at most. Returns how often what was done."""
        until = time.monotonic() + seconds
        counts = self.step()
        while self._tries:
            notify_alive()
            self._wait()
            counts += self.step(begins=time.monotonic() < until)
        return counts

    def step(self, *, begins: bool = True) -> Counter[Done]:
        """Store what has ended, and begin what is due. Raises the database's errors."""
        with self._app.app_context(), explained():
            counts = self._store_ended()
            if begins:
                self._begin_due()
            return counts

    def _store_ended(self) -> Counter[Done]:
        counts: Counter[Done] = Counter()
        for key, each in [*self._tries.items()]:
            if each.record.done():
                counts[self._store(key, each)] += 1
                del self._tries[key]
        return counts

    def _store(self, key: Key, ended: Try) -> Done:
        """Store one; where it can not be written, it is left alone from then on."""
        record = ended.record.result()
        try:
            with explained(), write() as db:
                nft = nfts.mark_enriched(db, record, ended.nft)
                properties.mark_property(db, MEDIA_BYTES, str(self._media.bytes).encode())
                if nft:
                    traits.replace_traits(db, ended.nft, nft)
                if nft and events.is_redrawn(ended.nft, nft):
                    events.store(db, {key: [Event(EventKind.METADATA_CHANGED)]})
        except (MarketplaceError, OSError):
            raise
        except Exception:
            self._app.logger.exception("%s #%s can not be stored", *key)
            self._unwritable.add(key)
            return Done.NOT_CHECKED
        return Done.INCOMPLETE if record["missing"] else Done.COMPLETED

    def _begin_due(self) -> None:
        if len(self._tries) == AT_ONCE:
            return
        now, running = times.to_iso(times.now()), Counter(token for token, _ in self._tries)
        tokens = nfts.list_collections_incomplete(read(), now)
        random.shuffle(tokens)
        for token in sorted(tokens, key=running.__getitem__):
            others = {key for key in {*self._tries, *self._unwritable} if key[0] == token}
            at_most = FIRST_AT_ONCE // 2 + len(others)
            for is_first in (True, False):
                for nft in nfts.list_incomplete(read(), token, now, is_first, at_most):
                    if (token, nft["serial_no"]) not in others:
                        self._begin(nft)

    def _begin(self, nft: NftRow) -> None:
        """Begin a try, if there is room for it."""
        is_first, token = nft["attempts"] == 0, nft["token"]
        alike = [key[0] for key, each in self._tries.items() if each.is_first == is_first]
        places = FIRST_AT_ONCE if is_first else LATER_AT_ONCE
        if len(alike) == places or alike.count(token) == places // 2:
            return
        record = self._threads.submit(self._complete, nft, is_first)
        record.add_done_callback(lambda _: self._changed.set())
        self._tries[token, nft["serial_no"]] = Try(nft, is_first, record)

    def _complete(self, nft: NftRow, is_quick: bool) -> Record:
        with self._app.app_context():
            try:
                return enrich(nft, self._enrich, is_quick=is_quick)
            except Exception:
                name = f"{nft['token']} #{nft['serial_no']}"
                self._app.logger.exception("%s was not completed", name)
                return {**nft} | _at(nft["attempts"], MINUTE)

    def close(self) -> None:
        """End the tries in progress: they are due as before."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._end()


def enrich(nft: NftRow, enrich: Enrich, *, is_quick: bool) -> Record:
    """Make what is to be stored of an NFT, and keep its image. Missing parts stay as they were."""
    found = enrich(nft["metadata"] or "", is_quick=is_quick)
    key, reason, is_ours = nft["image"], found.reason, found.outcome.name == "BUSY"
    if found.image:
        try:
            key = services().media.put(found.image.content, "webp")
        except (MediaUnreachable, MediaFull) as error:
            reason, is_ours = error.message, True
    count("images", outcome=found.outcome.value)
    schedule = _schedule(found.outcome.name, nft["attempts"], is_quick=is_quick, is_ours=is_ours)
    record = {**nft, "image": key} | _describe(nft, found)
    return record | {"missing": reason and clean_text(reason)} | schedule


def _describe(nft: NftRow, found: "Found") -> Record:
    """The columns that the metadata says; none where it could not be had."""
    if found.description is None:
        return {}
    seen_type = found.image and found.image.file_type
    return {
        "name": found.description.name or nft["name"],
        "attributes": found.description.attributes,
        "file_type": found.description.file_type or seen_type or nft["file_type"],
        "original_image_url": _without_public_url(found.original_url),
    }


def _without_public_url(url: str | None) -> str | None:
    """The address of an original; in the sandbox its path alone, which PUBLIC_URL is put before."""
    public_url = current_app.config["PUBLIC_URL"]
    if url is None or not url.startswith(f"{public_url}/sandbox/"):
        return url
    return url.removeprefix(public_url)


def _schedule(outcome: str, attempts: int, *, is_quick: bool, is_ours: bool) -> Record:
    """When to try again: ever later, at least once a day where there is hope, and not for ever."""
    if is_ours:
        return _at(attempts, MINUTE)
    attempts += 1
    if outcome == "COMPLETE":
        return {"attempts": attempts, "retry_at": None}
    if is_quick and outcome != "UNUSABLE":
        return _at(attempts, 0)  # with more time
    if attempts >= MAX_ATTEMPTS:
        return {"attempts": attempts, "retry_at": None}
    return _at(attempts, DAY if outcome == "UNUSABLE" else min(2**attempts * MINUTE, DAY))


def _at(attempts: int, pause: int) -> Record:
    return {"attempts": attempts, "retry_at": times.to_iso(times.now() + pause)}
