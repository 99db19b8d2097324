"""The reader processes, which connect to strangers' hosts. Each reads one NFT at a time."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pipe
from typing import Any

from marketplace.watcher.enrichment_result import (
    ENDED_BY_OTHERS,
    MAX_MESSAGE_BYTES,
    EnrichmentResult,
    Limits,
    MakeAdapters,
    Outcome,
    read_message,
)

READER = "marketplace.watcher.strangers.reader"  # not imported: it takes 20 MB
SPARE_SECONDS = 10  # to start, and beyond the limits. Then a reader is killed
BUSY_SECONDS = 0.5  # to wait for a busy reader: starting another one takes as long
IDLE_SECONDS = 30  # then an idle reader is ended
NEEDED = ("ARWEAVE_GATEWAYS", "DATA_DIR", "IPFS_GATEWAYS", "MIRROR_NODE_RATE", "MIRROR_NODE_URL")
# The only variables of a reader's environment: proxies, certificates, and where our code is.
PASSED_ON = {"http_proxy", "https_proxy", "no_proxy", "all_proxy", "ssl_cert_file", "ssl_cert_dir"}
PASSED_ON |= {"requests_ca_bundle", "curl_ca_bundle", "res_options", "ld_library_path"}
# Freed memory goes back to the system at once.
ALLOCATOR = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}


class Reader:
    """A process that reads one NFT after the other. Our environment is withheld: it may hold passwords."""

    def __init__(self, *arguments: Any) -> None:
        """Start it. The kernel kills it when this thread ends. Raises OSError."""
        kept = {name: value for name, value in os.environ.items() if name.lower() in PASSED_ON}
        kept["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self._connection, theirs = Pipe()
        with theirs:
            self.process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", READER],
                stdin=theirs.fileno(),
                env=kept | ALLOCATOR,
                start_new_session=True,
            )
        self.idle_since = 0.0
        try:
            self._connection.send(arguments)
        except OSError:  # it has ended already
            self.end()
            raise

    def read(self, pointer: str, limits: Limits) -> EnrichmentResult:
        """Read the metadata of an NFT. If the outcome is COMPLETE so far, decode() can follow."""
        return self._ask((pointer, limits), limits.fetching)

    def decode(self, limits: Limits) -> EnrichmentResult:
        """Have the fetched image made small."""
        return self._ask(None, limits.decoder_timeout)

    def _ask(self, question: object, seconds: float) -> EnrichmentResult:
        """Ask, and kill the process if its answer is late or invalid."""
        timeout = seconds + SPARE_SECONDS
        until = time.monotonic() + timeout
        timer = threading.Timer(timeout, self.process.kill)
        timer.start()
        try:
            self._connection.send(question)
            return read_message(self._connection.recv_bytes(MAX_MESSAGE_BYTES))
        except (EOFError, ConnectionError):
            self.process.kill()
            code = self.process.wait()
        except (OSError, ValueError, TypeError):
            self.process.kill()
            self.process.wait()
            return EnrichmentResult(Outcome.UNREACHABLE, "it breaks the process that reads it")
        finally:
            timer.cancel()
        if time.monotonic() >= until:
            return EnrichmentResult(Outcome.SLOW, "it took too long")
        if code in ENDED_BY_OTHERS or code >= 0:  # 1: it could not start, and printed why
            return EnrichmentResult(Outcome.BUSY, "the process that reads it was ended")
        return EnrichmentResult(Outcome.UNREACHABLE, "it breaks the process that reads it")

    def is_usable(self) -> bool:
        return self.process.poll() is None

    def end(self) -> None:
        """Kill it, and forget it."""
        self.process.kill()
        self.process.wait()
        self._connection.close()


class EnrichmentProcesses:
    """The readers. A new one is started when all others are busy. Any reader can read any NFT."""

    def __init__(self, settings: Mapping[str, Any], make_adapters: MakeAdapters) -> None:
        self._arguments = {name: settings[name] for name in NEEDED}, make_adapters
        # The kernel kills a reader when its starting thread ends, so one thread starts all readers.
        self._starter = ThreadPoolExecutor(1, "reader")
        self._readers: set[Reader] = set()
        self._idle: list[Reader] = []
        self._changed = threading.Condition()
        self._timer: threading.Timer | None = None
        self._is_closed = False
        # An image keeps a processor busy, and more images would only take memory.
        self._processors = threading.Semaphore(os.cpu_count() or 1)

    def enrich(self, pointer: str, limits: Limits) -> EnrichmentResult:
        """Find the metadata and the image of an NFT."""
        try:
            reader = self._take()
        except (OSError, RuntimeError) as error:  # RuntimeError: after close()
            return EnrichmentResult(
                Outcome.BUSY, f"nothing can be read now: {type(error).__name__}"
            )
        try:
            result = reader.read(pointer, limits)
            if result.outcome is not Outcome.COMPLETE:
                return result
            with self._processors:
                return result.with_image_of(reader.decode(limits))
        finally:
            self._put_back(reader)

    def _take(self) -> Reader:
        """Take an idle reader, or start one."""
        with self._changed:
            if self._readers:
                self._changed.wait_for(lambda: self._idle, BUSY_SECONDS)
            while self._idle:
                reader = self._idle.pop()
                if reader.is_usable():
                    return reader
                self._end(reader)
            reader = self._starter.submit(Reader, *self._arguments).result()
            self._readers.add(reader)
            return reader

    def _put_back(self, reader: Reader) -> None:
        with self._changed:
            if self._is_closed or not reader.is_usable():
                self._end(reader)
                return
            reader.idle_since = time.monotonic()
            self._idle.append(reader)
            self._changed.notify()
            self._end_idle()

    def _end_idle(self) -> None:
        """End the readers that were idle for long, now and later."""
        with self._changed:
            idle, now = [*self._idle], time.monotonic()
            self._idle = [each for each in idle if now < each.idle_since + IDLE_SECONDS]
            for reader in {*idle}.difference(self._idle):
                self._end(reader)
            if self._timer:
                self._timer.cancel()
            if self._idle:
                self._timer = threading.Timer(IDLE_SECONDS, self._end_idle)
                self._timer.daemon = True
                self._timer.start()

    def _end(self, reader: Reader) -> None:
        reader.end()
        self._readers.discard(reader)

    def close(self) -> None:
        """Kill all readers. Their NFTs stay due."""
        with self._changed:
            self._is_closed = True
            self._starter.shutdown()
            for reader in self._readers:
                reader.process.kill()
            for reader in self._idle:
                self._end(reader)
            self._idle.clear()
