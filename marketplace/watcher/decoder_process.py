"""Runs strangers/decoder.py, a process for each image that is made small."""

import os
import signal
import subprocess
import threading
from typing import BinaryIO

from marketplace.watcher.child_process import ENDED_BY_OTHERS, start
from marketplace.watcher.enrichment_result import (
    MAX_MESSAGE_BYTES,
    QUICK,
    EnrichmentResult,
    Limits,
    Outcome,
    read_message,
)

DECODER = "marketplace.watcher.strangers.decoder"  # not imported: Pillow is its alone


class Decoders:
    """The decoders of several threads: one for each processor, as more would only take memory."""

    def __init__(self) -> None:
        self._places = threading.Semaphore(os.cpu_count() or 1)
        self._lock = threading.Lock()
        self.running: set[subprocess.Popen[bytes]] = set()
        self._is_closed = False

    def decode(self, image: BinaryIO, limits: Limits) -> EnrichmentResult:
        """Have an image made small, within the limits."""
        with self._places, open(os.memfd_create("answer"), "w+b", buffering=0) as answer:
            try:
                code = self._run(image, answer, limits)
            except subprocess.TimeoutExpired:
                return EnrichmentResult(Outcome.SLOW, "it took too long")
            except OSError as error:
                return EnrichmentResult(
                    Outcome.BUSY, f"nothing can be decoded: {type(error).__name__}"
                )
            if code:
                return _explain_end(code, limits)
            answer.seek(0)
            try:
                return read_message(answer.read(MAX_MESSAGE_BYTES))
            except (ValueError, TypeError):
                return EnrichmentResult(Outcome.UNUSABLE, "it breaks the image decoder")

    def _run(self, image: BinaryIO, answer: BinaryIO, limits: Limits) -> int:
        """Run a decoder, and return its exit code. Raises TimeoutExpired or OSError."""
        seconds, parent = str(limits.decoding), str(os.getpid())
        with self._lock:
            if self._is_closed:
                return -signal.SIGTERM
            process = start(DECODER, seconds, parent, stdin=image, stdout=answer)
            self.running.add(process)
        try:
            return process.wait(limits.decoder_timeout)
        finally:
            with self._lock:
                self.running.remove(process)
            process.kill()
            process.wait()

    def close(self) -> None:
        """Kill those that run, and start no more."""
        with self._lock:
            self._is_closed = True
            for process in self.running:
                process.kill()


def _explain_end(code: int, limits: Limits) -> EnrichmentResult:
    if code == -signal.SIGXCPU and limits == QUICK:
        return EnrichmentResult(
            Outcome.SLOW, "it takes longer to decode: it is tried again with more time"
        )
    if code == -signal.SIGXCPU:
        return EnrichmentResult(Outcome.UNUSABLE, "it takes too long to decode")
    if code in ENDED_BY_OTHERS:
        return EnrichmentResult(Outcome.BUSY, "the process that decodes it was ended")
    if code > 0:  # it printed why
        return EnrichmentResult(Outcome.BUSY, "no process can be started that decodes it")
    return EnrichmentResult(Outcome.UNUSABLE, "it breaks the image decoder")
