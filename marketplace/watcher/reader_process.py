"""Runs strangers/reader.py, a process that reads the metadata of NFTs and fetches their images."""

import os
import threading
import time
from multiprocessing import Pipe
from multiprocessing.reduction import recv_handle, send_handle
from typing import Any, BinaryIO

from marketplace.watcher.child_process import ENDED_BY_OTHERS, start
from marketplace.watcher.enrichment_result import (
    MAX_MESSAGE_BYTES,
    EnrichmentResult,
    Outcome,
    read_message,
)

READER = "marketplace.watcher.strangers.reader"  # not imported: it takes 20 MB
SPARE_SECONDS = 10  # to start, and beyond the limit for hosts. Then it is killed
MAX_THREADS = 64  # with more, it gets no other NFT: most of them wait for silent hosts


class Reader:
    """A process that reads for several threads."""

    def __init__(self, *arguments: Any) -> None:
        """Start it. The kernel kills it when this thread ends. Raises OSError."""
        self._connection, theirs = Pipe()
        with theirs:
            self.process = start(READER, stdin=theirs.fileno())
        self._connection.send(arguments)
        self.users = 0

    def read(self, pointer: str, seconds: float) -> tuple[EnrichmentResult, BinaryIO | None]:
        """Read the metadata of an NFT. If the outcome is COMPLETE so far, a file has its image."""
        timeout = seconds + SPARE_SECONDS
        until = time.monotonic() + timeout
        timer = threading.Timer(timeout, self.process.kill)
        timer.start()
        try:
            return self._ask(pointer, seconds)
        except (EOFError, ConnectionError):
            self.process.kill()
            code = self.process.wait()
        except (OSError, ValueError, TypeError, RuntimeError):  # an answer that makes no sense
            self.process.kill()
            return EnrichmentResult(
                Outcome.UNREACHABLE, "it breaks the process that reads it"
            ), None
        finally:
            timer.cancel()
        if time.monotonic() >= until:
            return EnrichmentResult(Outcome.SLOW, "it took too long"), None
        if code in ENDED_BY_OTHERS or code >= 0:  # 1: it could not start, and printed why
            return EnrichmentResult(Outcome.BUSY, "the process that reads it was ended"), None
        return EnrichmentResult(Outcome.UNREACHABLE, "it breaks the process that reads it"), None

    def _ask(self, pointer: str, seconds: float) -> tuple[EnrichmentResult, BinaryIO | None]:
        """Ask through a pipe for this NFT alone, which the process gets first."""
        ours, theirs = Pipe()
        with ours:
            with theirs:
                send_handle(self._connection, theirs.fileno(), self.process.pid)
            ours.send((pointer, seconds))
            result = read_message(ours.recv_bytes(MAX_MESSAGE_BYTES))
            if result.outcome is not Outcome.COMPLETE:
                return result, None
            image = open(recv_handle(ours), "rb", buffering=0)  # noqa: SIM115
            return result, image

    def is_usable(self) -> bool:
        """Whether it can read another NFT."""
        if self.process.poll() is not None:
            return False
        return len(os.listdir(f"/proc/{self.process.pid}/task")) <= MAX_THREADS

    def end(self) -> None:
        """Kill it, and forget it."""
        self.process.kill()
        self.process.wait()
        self._connection.close()
