"""The processes that meet strangers, for the watcher's threads.

First tries share a reader. A later one has a reader of its own, which no other NFT can break.
"""

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from marketplace.watcher.decoder_process import Decoders
from marketplace.watcher.enrichment_result import (
    QUICK,
    EnrichmentResult,
    Limits,
    MakeAdapters,
    Outcome,
)
from marketplace.watcher.reader_process import Reader

IDLE_SECONDS = 30  # then an idle reader is ended
NEEDED = ("ARWEAVE_GATEWAYS", "DATA_DIR", "IPFS_GATEWAYS", "MIRROR_NODE_RATE", "MIRROR_NODE_URL")


class EnrichmentProcesses:
    """Readers, and decoders of the images that they fetch."""

    def __init__(self, settings: Mapping[str, Any], make_adapters: MakeAdapters) -> None:
        self._arguments = {name: settings[name] for name in NEEDED}, make_adapters
        # The kernel kills a reader when the thread ends that started it, so one thread starts them all.
        self._starter = ThreadPoolExecutor(1, "reader")
        self._lock = threading.Lock()
        self._readers: set[Reader] = set()
        self._shared: Reader | None = None
        self._timer: threading.Timer | None = None
        self._decoders = Decoders()

    def enrich(self, pointer: str, limits: Limits) -> EnrichmentResult:
        """Find the metadata and the image of an NFT."""
        try:
            reader = self._take(is_shared=limits == QUICK)
        except (OSError, RuntimeError) as error:  # RuntimeError: after close()
            return EnrichmentResult(
                Outcome.BUSY, f"nothing can be read now: {type(error).__name__}"
            )
        try:
            result, image = reader.read(pointer, limits.fetching)
        finally:
            self._put_back(reader)
        if image is None:
            return result
        with image:
            return result.with_image_of(self._decoders.decode(image, limits))

    def _take(self, *, is_shared: bool) -> Reader:
        """Take the shared reader, or start one."""
        with self._lock:
            reader = self._shared if is_shared else None
            if reader is None or not reader.is_usable():
                reader = self._starter.submit(Reader, *self._arguments).result()
                self._readers.add(reader)
            if is_shared:
                self._shared = reader
            reader.users += 1
            return reader

    def _put_back(self, reader: Reader) -> None:
        with self._lock:
            reader.users -= 1
            if reader.users:
                return
            if reader is not self._shared or not reader.is_usable():
                self._end(reader)
            elif not self._timer:
                self._timer = threading.Timer(IDLE_SECONDS, self._end_idle)
                self._timer.daemon = True
                self._timer.start()

    def _end_idle(self) -> None:
        with self._lock:
            self._timer = None
            if self._shared and not self._shared.users:
                self._end(self._shared)

    def _end(self, reader: Reader) -> None:
        reader.end()
        self._readers.discard(reader)
        if reader is self._shared:
            self._shared = None

    def close(self) -> None:
        """Kill all processes. What they read is not lost: it is due again."""
        with self._lock:
            self._starter.shutdown()
            for reader in self._readers:
                reader.process.kill()
        self._decoders.close()
        self._end_idle()
