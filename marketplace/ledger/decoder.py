"""Decodes strangers' images in a process of its own, which is ended when an image takes it too long."""

import json
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path

from marketplace.ledger.deadline import Deadline
from marketplace.ledger.images import LENGTH, ImageUnusable, Optimised

PROGRAM = Path(__file__).with_name("images.py")
PATIENCE_SECONDS = 3  # with the images of others


class ImagesBusy(Exception):
    """Others' images are being decoded: try again later."""


class Decoder:
    """One decoding process, begun when it is first needed, in whichever process of the service needs it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen | None = None
        self._owner = 0

    def optimise(self, content: bytes, deadline: Deadline) -> Optimised:
        """As images.optimise(), before the deadline. Raises ImageUnusable, ImagesBusy or TimeIsUp."""
        seconds = deadline.remaining()
        if not self._lock.acquire(timeout=min(PATIENCE_SECONDS, seconds)):
            raise ImagesBusy("too many images are being decoded")
        try:
            process = self._started()
            killer = threading.Timer(deadline.remaining(), process.kill)
            killer.daemon = True
            killer.start()
            try:
                return self._ask(process, content)
            except (OSError, EOFError):
                self.close()
                raise ImageUnusable("it takes too long, or too much memory, to decode") from None
            finally:
                killer.cancel()
        finally:
            self._lock.release()

    def _started(self) -> subprocess.Popen:
        if self._process is None or self._owner != os.getpid() or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(  # noqa: S603 (our own program)
                [sys.executable, "-I", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            self._owner = os.getpid()
            self._finalizer = weakref.finalize(self, _end, self._process, self._owner)
        return self._process

    def _ask(self, process: subprocess.Popen, content: bytes) -> Optimised:
        process.stdin.write(LENGTH.pack(len(content)) + content)
        process.stdin.flush()
        outcome = json.loads(_read(process))
        content = _read(process)
        if "reason" in outcome:
            raise ImageUnusable(outcome["reason"])
        return Optimised(content, outcome["extension"], outcome["file_type"])

    def close(self) -> None:
        """End the process, where it is ours."""
        if self._process is not None:
            self._finalizer()
            self._process = None


def _end(process: subprocess.Popen, owner: int) -> None:
    if owner == os.getpid():
        process.kill()
        process.communicate()


def _read(process: subprocess.Popen) -> bytes:
    header = process.stdout.read(LENGTH.size)
    length = LENGTH.unpack(header)[0] if len(header) == LENGTH.size else 0
    content = process.stdout.read(length)
    if len(header) < LENGTH.size or len(content) < length:
        raise EOFError
    return content
