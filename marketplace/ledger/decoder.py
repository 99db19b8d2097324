"""Decodes strangers' images in a process of its own, which is ended when an image takes it too long."""

import json
import math
import os
import signal
import subprocess
import sys
import threading
import weakref
from pathlib import Path

from marketplace.counts import count
from marketplace.ledger.deadline import Deadline, TimeIsUp
from marketplace.ledger.images import LENGTH, SECONDS, ImageUnusable, Optimised
from marketplace.ledger.turns import Turns

PROGRAM = Path(__file__).with_name("images.py")
# Of the processor, for an image: while a client waits, and while nobody does.
QUICK_SECONDS = 1.0
LONG_SECONDS = 5.0
# While a client waits: for an image however busy the machine is, and, longer, with the images of others.
TURN_SECONDS = 2
PATIENCE_SECONDS = 3
# Ends of the process that are not the image's doing: the system is out of memory, or is stopping us.
ENDED_BY_OTHERS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
OUR_SHORTAGES = (
    OSError,
    RuntimeError,
    TimeIsUp,
)  # of descriptors, memory, processes, threads, time
# What is freed goes back to the system at once, and is not kept in pieces.
ALLOCATOR = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}


class ImagesBusy(Exception):
    """It is not the image's fault: others' are being decoded, or this machine is short of something."""


class ImageSlow(Exception):
    """It takes longer than it was given, and may well be done by who gives it LONG_SECONDS."""


OUTCOMES = {ImageUnusable: "unusable", ImagesBusy: "busy", ImageSlow: "slow", TimeIsUp: "slow"}


class Decoder:
    """One decoding process, begun when it is first needed, in whichever process of the service needs it."""

    def __init__(self) -> None:
        self._turns = Turns()
        self._process: subprocess.Popen | None = None
        self._owner = 0

    def optimise(
        self, content: bytes, deadline: Deadline, key: str = "", seconds: float = LONG_SECONDS
    ) -> Optimised:
        """As images.optimise(), before the deadline, within so many seconds of the processor.

        Whoever's images, by their key, have taken the least time lately, has the next turn. Raises
        ImageUnusable, which is final, or ImagesBusy, ImageSlow and TimeIsUp, which are not.
        """
        is_quick = seconds < LONG_SECONDS
        patience = min(PATIENCE_SECONDS if is_quick else math.inf, deadline.remaining())
        with self._turns.turn(key, patience) as is_ours:
            if not is_ours:
                count("images", outcome="busy")
                raise ImagesBusy("too many images are being decoded")
            try:
                at_most = TURN_SECONDS if is_quick else math.inf
                optimised = self._decode(content, deadline, seconds, at_most)
            except tuple(OUTCOMES) as error:
                count("images", outcome=OUTCOMES[type(error)])
                raise
            count("images", outcome="made")
            return optimised

    def _decode(
        self, content: bytes, deadline: Deadline, seconds: float, at_most: float
    ) -> Optimised:
        is_late = threading.Event()
        try:
            process = self._started()
            patience = min(deadline.remaining(), at_most)
            killer = threading.Timer(patience, _kill, (process, is_late))
            killer.daemon = True
            killer.start()
        except OUR_SHORTAGES as error:
            raise ImagesBusy(f"no image can be decoded now: {type(error).__name__}") from error
        try:
            outcome, answer = self._ask(process, content, seconds)
        except (OSError, EOFError):
            raise self._why_it_ended(process, seconds, is_late=is_late.is_set()) from None
        finally:
            killer.cancel()
            if is_late.is_set():
                self.close()
        if "reason" in outcome:
            raise ImageUnusable(outcome["reason"])
        answer = content if outcome["is_as_it_was"] else answer
        return Optimised(answer, outcome["extension"], outcome["file_type"])

    def _started(self) -> subprocess.Popen:
        if self._process is None or self._owner != os.getpid() or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(  # noqa: S603 (our own program)
                [sys.executable, "-I", PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=os.environ | ALLOCATOR,
                # Ctrl-C concerns whoever began it: it ends with its input.
                process_group=0,
            )
            self._owner = os.getpid()
            count("decoders")
            self._finalizer = weakref.finalize(self, _end, self._process, self._owner)
        return self._process

    def _ask(self, process: subprocess.Popen, content: bytes, seconds: float) -> tuple[dict, bytes]:
        process.stdin.write(SECONDS.pack(seconds) + LENGTH.pack(len(content)))
        process.stdin.write(content)  # by itself: together they would be one more copy
        process.stdin.flush()
        return json.loads(_read(process)), _read(process)

    def _why_it_ended(
        self, process: subprocess.Popen, seconds: float, *, is_late: bool
    ) -> Exception:
        try:
            signal_number = -process.wait(1)  # it has closed its pipes: it ends
        except subprocess.TimeoutExpired:
            signal_number = signal.SIGKILL
        self.close()
        if signal_number == signal.SIGPROF and seconds >= LONG_SECONDS:
            return ImageUnusable("it takes too long to decode")
        if is_late or signal_number == signal.SIGPROF:
            return ImageSlow("it takes longer to decode: it is made later")
        if signal_number in ENDED_BY_OTHERS or signal_number <= 0:
            return ImagesBusy("the process that decodes images was ended")
        return ImageUnusable("it breaks what decodes images")

    def close(self) -> None:
        """End the process, where it is ours."""
        if self._process is not None:
            self._finalizer()
            self._process = None
            if self._owner == os.getpid():
                count("decoders", -1)


def _kill(process: subprocess.Popen, is_late: threading.Event) -> None:
    is_late.set()
    process.kill()


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
