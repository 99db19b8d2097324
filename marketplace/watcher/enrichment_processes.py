"""Processes that read from strangers, without our environment and with a time limit: strangers/reader.py."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pipe
from typing import Any

from marketplace.watcher.found import (
    ENDED_BY_OTHERS,
    MAX_MESSAGE_BYTES,
    Found,
    Limits,
    MakeAdapters,
    Outcome,
    read_message,
)

# The watcher itself does not import it: it takes 30 MB.
READER = "marketplace.watcher.strangers.reader"
SPARE_SECONDS = (
    10  # to start, and beyond the limits for hosts and processor. Then a reader is killed
)
IDLE_SECONDS = 30  # then the idle readers are ended
MAX_THREADS = 8  # of a reader that is used again: the others wait for silent hosts
NEEDED = ("ARWEAVE_GATEWAYS", "DATA_DIR", "IPFS_GATEWAYS", "MIRROR_NODE_RATE", "MIRROR_NODE_URL")
# The only variables of their environment: proxies, certificates, and where our code is.
PASSED_ON = {"http_proxy", "https_proxy", "no_proxy", "all_proxy", "ssl_cert_file", "ssl_cert_dir"}
PASSED_ON |= {"requests_ca_bundle", "curl_ca_bundle", "res_options", "ld_library_path"}
# Freed memory goes back to the system at once.
ALLOCATOR = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}


class Reader:
    """A process that reads one NFT after another."""

    def __init__(self, *arguments: Any) -> None:
        """Start it without our environment, which may hold passwords and keys. Raises OSError."""
        kept = {name: value for name, value in os.environ.items() if name.lower() in PASSED_ON}
        kept["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
        command = [sys.executable, "-m", READER]
        self._connection, theirs = Pipe()
        with theirs:
            self.process = subprocess.Popen(  # noqa: S603
                command, stdin=theirs.fileno(), env=kept | ALLOCATOR, start_new_session=True
            )
        self._connection.send(arguments)
        self.is_busy = False

    def read(self, pointer: str, limits: Limits) -> Found:
        """Find the metadata and the image of an NFT."""
        seconds = limits.fetching + limits.decoder_timeout + SPARE_SECONDS
        until = time.monotonic() + seconds
        timer = threading.Timer(seconds, self.process.kill)
        timer.start()
        try:
            self._connection.send((pointer, limits))
            return read_message(self._connection.recv_bytes(MAX_MESSAGE_BYTES))
        except (EOFError, ConnectionError):
            code = self.end()
        except (OSError, ValueError, TypeError):  # an answer that is too long, or invalid
            self.end()
            return Found(Outcome.UNREACHABLE, "it breaks the process that reads it")
        finally:
            timer.cancel()
        if time.monotonic() >= until:
            return Found(Outcome.SLOW, "it took too long")
        if code in ENDED_BY_OTHERS or code >= 0:  # 1: it could not start, and printed why
            return Found(Outcome.BUSY, "the process that reads it was ended")
        return Found(Outcome.UNREACHABLE, "it breaks the process that reads it")

    def is_usable(self) -> bool:
        """Whether it can read another NFT."""
        if self._connection.closed or self.process.poll() is not None:
            return False
        return len(os.listdir(f"/proc/{self.process.pid}/task")) <= MAX_THREADS

    def end(self) -> int:
        """Kill it, unless it has ended. Returns its exit code."""
        self.process.kill()
        self._connection.close()
        return self.process.wait()


class EnrichmentProcesses:
    """Readers for several threads: each has one of its own while it reads an NFT."""

    def __init__(self, settings: Mapping[str, Any], make_adapters: MakeAdapters) -> None:
        self._arguments = {name: settings[name] for name in NEEDED}, make_adapters
        # The kernel kills a reader when the thread ends that started it, so one thread starts them all.
        self._starter = ThreadPoolExecutor(1, "reader")
        self._lock = threading.Lock()
        self._readers: list[Reader] = []
        self._timer: threading.Timer | None = None

    def enrich(self, pointer: str, limits: Limits) -> Found:
        """Find the metadata and the image of an NFT."""
        try:
            reader = self._take()
        except (OSError, RuntimeError) as error:  # RuntimeError: after close()
            return Found(Outcome.BUSY, f"nothing can be read now: {type(error).__name__}")
        try:
            return reader.read(pointer, limits)
        finally:
            self._put_back(reader)

    def _take(self) -> Reader:
        """Take an idle reader, or start one."""
        with self._lock:
            reader = next((reader for reader in self._readers if not reader.is_busy), None)
            if reader is None:
                reader = self._starter.submit(Reader, *self._arguments).result()
                self._readers.append(reader)
            reader.is_busy = True
            return reader

    def _put_back(self, reader: Reader) -> None:
        with self._lock:
            reader.is_busy = False
            if not reader.is_usable():
                self._readers.remove(reader)
                reader.end()
            elif not self._timer:
                self._timer = threading.Timer(IDLE_SECONDS, self._end_idle)
                self._timer.daemon = True
                self._timer.start()

    def _end_idle(self) -> None:
        with self._lock:
            self._timer = None
            for reader in [reader for reader in self._readers if not reader.is_busy]:
                self._readers.remove(reader)
                reader.end()

    def close(self) -> None:
        """Kill all processes. What they read is not lost: it is due again."""
        with self._lock:
            self._starter.shutdown()
            for reader in self._readers:
                reader.process.kill()
        self._end_idle()
