"""Completes the metadata and the images that stored NFTs lack: many at once, bounded for each collection."""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

from flask import Flask, current_app

from marketplace import times
from marketplace.cli.systemd import notify_alive
from marketplace.counts import count
from marketplace.errors import MarketplaceError, MediaFull, MediaUnreachable
from marketplace.ledger.clean_text import clean_text
from marketplace.services import services
from marketplace.store import nfts, properties
from marketplace.store.database import read, write
from marketplace.store.database_errors import explained
from marketplace.watcher.work import Done

MEDIA_BYTES = "media_bytes"  # the property that says what all images take
PAUSE_SECONDS = 0.25  # between two looks at what is due
HALF_LIFE_SECONDS = 60  # after which the time that a collection has taken counts half
COMPLETING_SECONDS = 20  # of one sync
MINUTE = 60 * times.SECOND
DAY = 24 * 60 * MINUTE
MAX_ATTEMPTS = 20


class Lane(NamedTuple):
    """NFTs that are tried in the same way: how many at once, and how many of one collection."""

    at_once: int
    of_collection: int


# The first try of an NFT is short, and a second one, with more time, does not keep others from their first.
QUICK, SLOW = Lane(8, 4), Lane(4, 2)
AT_ONCE = QUICK.at_once + SLOW.at_once
# Places of each lane that are not for collections which have lately taken more than so many seconds.
LEFT_FREE, SLOW_SECONDS = 2, 3
USUAL_SECONDS = 1  # of an NFT that was completed: they do not count


def make_enricher(app: Flask) -> "Enricher":
    """Make it with processes of its own. They load what reads strangers' images, which nothing else does.

    Where the application has something else that enriches, that is asked.
    """
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
    processes = EnrichmentProcesses(app.config, make_adapters, AT_ONCE)
    return Enricher(app, processes.enrich, end=processes.close)


class Enrich(Protocol):
    """What finds the metadata and the image of an NFT: watcher/enrichment_processes.py."""

    def __call__(self, pointer: str, *, is_quick: bool) -> Any: ...


class Task(NamedTuple):
    """An NFT that is being completed."""

    nft: Any  # as it was stored
    lane: Lane
    began: float
    record: Future


class Enricher:
    """Takes what is due, the collections first that have taken the least time lately."""

    def __init__(self, app: Flask, enrich: Enrich, end: Callable[[], None] = lambda: None) -> None:
        """``end`` ends what enriches, whatever it does."""
        self._app = app
        self._end = end
        self._media = services(app).media
        self._enrich = enrich
        self._tasks: dict[tuple[str, int], Task] = {}
        self._unwritable: set[tuple[str, int]] = set()
        self._seconds: defaultdict[str, float] = defaultdict(float)  # taken lately, by collection
        self._halved_at = time.monotonic()
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="complete")
        self._changed = threading.Event()

    def run(self, stop: threading.Event, leads: threading.Event) -> None:
        """Complete whatever is due while this watcher leads, until told to stop."""
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
            self._app.logger.warning("It is not known what all images take: %s", error.__cause__)

    def drain(self, stop: threading.Event, seconds: float) -> Counter[Done]:
        """Complete what is due, for so long at most, and count what became of it."""
        until = time.monotonic() + seconds
        counts: Counter[Done] = Counter()
        while not stop.is_set():
            counts += self.step(begins=time.monotonic() < until)
            if not self._tasks:
                return counts
            notify_alive()
            self._changed.wait(PAUSE_SECONDS)
            self._changed.clear()
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
        for key, task in [*self._tasks.items()]:
            if task.record.done():
                done = self._store(key, task)
                counts[done] += 1
                del self._tasks[key]
                seconds = time.monotonic() - task.began
                usual = USUAL_SECONDS if done is Done.COMPLETED else 0
                self._seconds[key[0]] += max(seconds - usual, 0)
        self._halve()
        return counts

    def _store(self, key: tuple[str, int], task: Task) -> Done:
        """Store one; where it can not be written, it is left alone from then on."""
        record = task.record.result()
        try:
            with explained(), write() as db:
                nfts.mark_enriched(db, record, task.nft)
                properties.mark_property(db, MEDIA_BYTES, str(self._media.bytes).encode())
        except (MarketplaceError, OSError):
            raise
        except Exception:
            self._app.logger.exception("%s #%s can not be stored", *key)
            self._unwritable.add(key)
            return Done.NOT_CHECKED
        return Done.INCOMPLETE if record["missing"] else Done.COMPLETED

    def _halve(self) -> None:
        if time.monotonic() - self._halved_at > HALF_LIFE_SECONDS:
            self._halved_at = time.monotonic()
            kept = {token: each / 2 for token, each in self._seconds.items() if each > 0.1}
            self._seconds = defaultdict(float, kept)

    def _begin_due(self) -> None:
        lanes = Counter(task.lane for task in self._tasks.values())
        if lanes[QUICK] < QUICK.at_once or lanes[SLOW] < SLOW.at_once:
            for nft in self._list_due():
                self._begin(nft)

    def _list_due(self) -> Iterator[Any]:
        """NFTs that are due and have room, one after the other: what was yielded is counted as begun."""
        now = times.to_iso(times.now())
        tokens = [row["token"] for row in nfts.list_collections_incomplete(read(), now)]
        running = Counter(token for token, _ in self._tasks)
        for token in sorted(tokens, key=lambda each: (running[each], self._seconds[each])):
            for lane in (QUICK, SLOW):
                yield from self._list_due_of(token, lane, now)

    def _list_due_of(self, token: str, lane: Lane, now: str) -> Iterator[Any]:
        in_lane = [key for key, task in self._tasks.items() if task.lane == lane]
        of_token = sum(key[0] == token for key in in_lane)
        is_slow = self._seconds[token] > SLOW_SECONDS
        at_once = lane.at_once - LEFT_FREE if is_slow else lane.at_once
        room = min(at_once - len(in_lane), lane.of_collection - of_token)
        if room <= 0:
            return
        is_first = lane is QUICK
        left_out = {*self._tasks, *self._unwritable}
        at_most = room + sum(key[0] == token for key in left_out)
        due = nfts.list_incomplete(read(), token, now, is_first, at_most)
        new = [nft for nft in due if (token, nft["serial_no"]) not in left_out]
        yield from new[:room]

    def _begin(self, nft: Any) -> None:
        lane = SLOW if nft["attempts"] else QUICK
        record = self._threads.submit(self._complete, nft, lane is QUICK)
        record.add_done_callback(lambda _: self._changed.set())
        self._tasks[nft["token"], nft["serial_no"]] = Task(nft, lane, time.monotonic(), record)

    def _complete(self, nft: Any, is_quick: bool) -> dict:
        with self._app.app_context():
            try:
                return enrich(nft, self._enrich, is_quick=is_quick)
            except Exception:
                record = dict(nft)
                self._app.logger.exception("%(token)s #%(serial_no)s was not completed", record)
                return record | _at(nft["attempts"], MINUTE)

    def close(self) -> None:
        """End what is under way: it is due as before."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._end()


def enrich(nft: Any, enrich: Enrich, *, is_quick: bool) -> dict:
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
    record = {name: nft[name] for name in ("token", "serial_no", "name", "attributes", "file_type")}
    record |= {"original_image_url": nft["original_image_url"], "image": key}
    return record | _describe(nft, found) | {"missing": reason and clean_text(reason)} | schedule


def _describe(nft: Any, found: Any) -> dict:
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


def _schedule(outcome: str, attempts: int, *, is_quick: bool, is_ours: bool) -> dict:
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


def _at(attempts: int, pause: int) -> dict:
    return {"attempts": attempts, "retry_at": times.to_iso(times.now() + pause)}
