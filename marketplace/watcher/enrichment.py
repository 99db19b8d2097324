"""Completes the metadata and the images that stored NFTs lack: many tries at once.

There are eight places for first tries, and four for later ones, which have more time. At most half of either
is for one collection or stranger's host, and half for all those that failed or took long twice in a row.
"""

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
from marketplace.store import nfts, properties
from marketplace.store.database import read, write
from marketplace.store.database_errors import explained
from marketplace.store.rows import NftRow
from marketplace.watcher.work import Done

if TYPE_CHECKING:
    from marketplace.watcher.strangers.enrich import Found

MEDIA_BYTES = "media_bytes"  # the property that says what all images take
PAUSE_SECONDS = 0.25  # between two queries for what is due
COMPLETING_SECONDS = 20  # of one sync
FIRST_AT_ONCE, LATER_AT_ONCE = 8, 4
AT_ONCE = FIRST_AT_ONCE + LATER_AT_ONCE
SLOW_AFTER = 2  # tries in a row that failed or took long
LONG_SECONDS = 3  # of a try
MAX_SLOW_SOURCES = 10_000  # remembered
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
    from marketplace.watcher.strangers.uri import Gateways

    if not confine.is_filtered():
        app.logger.warning(
            "Images are decoded without seccomp: this kernel has none, or we do not know this machine's"
            " system calls. docs/metadata.md says what that means"
        )
    sandbox = services(app).sandbox
    make_adapters = sandbox.gateway_adapters if sandbox else dict
    processes = EnrichmentProcesses(app.config, make_adapters, AT_ONCE)
    gateways = Gateways(app.config["IPFS_GATEWAYS"], app.config["ARWEAVE_GATEWAYS"])
    return Enricher(app, processes.enrich, gateways.find_strangers_host, processes.close)


class Enrich(Protocol):
    """Finds the metadata and the image of an NFT: watcher/enrichment_processes.py."""

    def __call__(self, pointer: str, *, is_quick: bool) -> "Found": ...


class Try(NamedTuple):
    """A try to complete an NFT, which is in progress."""

    nft: NftRow  # as it was stored
    sources: frozenset[str]
    is_first: bool
    is_slow: bool
    began: float
    record: Future[Record]


class Enricher:
    """Completes what is due: the collections first that have failed least often in a row."""

    def __init__(
        self,
        app: Flask,
        enrich: Enrich,
        find_host: Callable[[str], str | None] = lambda uri: None,
        end: Callable[[], None] = lambda: None,
    ) -> None:
        """``find_host`` says which stranger's host a URI leads to; ``end`` ends what enriches."""
        self._app, self._enrich, self._find_host, self._end = app, enrich, find_host, end
        self._media = services(app).media
        self._tries: dict[Key, Try] = {}
        self._unwritable: set[Key] = set()
        # A collection or a host is a source. How often each was slow, or failed, in a row:
        self._slow: dict[str, int] = {}
        self._image_hosts: dict[str, str] = {}  # by collection, as they were seen last
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="enrich")
        self._changed = threading.Event()

    def run(self, stop: threading.Event, leads: threading.Event) -> None:
        """Complete what is due while this watcher leads, until told to stop."""
        # In a thread of its own: a bucket takes minutes to list.
        threading.Thread(target=self._measure, daemon=True).start()
        while not stop.is_set():
            try:
                self.step(begins=leads.is_set())
            except (MarketplaceError, OSError) as error:
                self._app.logger.warning("Nothing was completed: %s", error)
                stop.wait(1)
            except Exception:
                self._app.logger.exception("Nothing was completed")
                stop.wait(1)
            self._changed.wait(PAUSE_SECONDS)
            self._changed.clear()

    def _measure(self) -> None:
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
            self._changed.wait(PAUSE_SECONDS)
            self._changed.clear()
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
                done = self._store(key, each)
                counts[done] += 1
                del self._tries[key]
                self._note_speed(each, is_complete=done is Done.COMPLETED)
        return counts

    def _store(self, key: Key, ended: Try) -> Done:
        """Store one; where it can not be written, it is left alone from then on."""
        record = ended.record.result()
        if host := self._find_host(record["original_image_url"] or ""):
            self._image_hosts[key[0]] = host
        try:
            with explained(), write() as db:
                nft = nfts.mark_enriched(db, record, ended.nft)
                properties.mark_property(db, MEDIA_BYTES, str(self._media.bytes).encode())
                if nft and events.is_redrawn(ended.nft, nft):
                    events.store(db, {key: [Event(EventKind.METADATA_CHANGED)]})
        except (MarketplaceError, OSError):
            raise
        except Exception:
            self._app.logger.exception("%s #%s can not be stored", *key)
            self._unwritable.add(key)
            return Done.NOT_CHECKED
        return Done.INCOMPLETE if record["missing"] else Done.COMPLETED

    def _note_speed(self, ended: Try, *, is_complete: bool) -> None:
        is_slow = not is_complete or time.monotonic() - ended.began > LONG_SECONDS
        for source in ended.sources:
            times_slow = self._slow.pop(source, 0)
            if is_slow:
                self._slow[source] = times_slow + 1
        if len(self._slow) > MAX_SLOW_SOURCES:
            del self._slow[next(iter(self._slow))]

    def _begin_due(self) -> None:
        if len(self._tries) == AT_ONCE:
            return
        now, running = times.to_iso(times.now()), Counter(token for token, _ in self._tries)
        tokens = [row["token"] for row in nfts.list_collections_incomplete(read(), now)]
        for token in sorted(tokens, key=lambda each: (self._slow.get(each, 0), running[each])):
            others = {key for key in {*self._tries, *self._unwritable} if key[0] == token}
            at_most = FIRST_AT_ONCE // 2 + len(others)
            for is_first in (True, False):
                for nft in nfts.list_incomplete(read(), token, now, is_first, at_most):
                    if (token, nft["serial_no"]) not in others:
                        self._begin(nft)

    def _begin(self, nft: NftRow) -> None:
        """Begin a try, if there is room for it."""
        is_first, token = nft["attempts"] == 0, nft["token"]
        hosts = {self._find_host(nft["metadata"] or ""), self._image_hosts.get(token)}
        sources = frozenset({token, *filter(None, hosts)})
        is_slow = any(self._slow.get(source, 0) >= SLOW_AFTER for source in sources)
        if not self._has_room(sources, is_first, is_slow):
            return
        record = self._threads.submit(self._complete, nft, is_first)
        record.add_done_callback(lambda _: self._changed.set())
        begun = Try(nft, sources, is_first, is_slow, time.monotonic(), record)
        self._tries[token, nft["serial_no"]] = begun

    def _has_room(self, sources: frozenset[str], is_first: bool, is_slow: bool) -> bool:
        alike = [each for each in self._tries.values() if each.is_first == is_first]
        places = FIRST_AT_ONCE if is_first else LATER_AT_ONCE
        if is_slow and sum(each.is_slow for each in alike) >= places // 2:
            return False
        running = Counter(source for each in alike for source in each.sources)
        return len(alike) < places and all(running[each] < places // 2 for each in sources)

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
    """Make what is to be stored of an NFT, and keep its image. What can't be had stays as it was."""
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
