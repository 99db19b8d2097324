"""Has a stranger's image made small by the program of images.py, in a process of its own."""

import json
import signal
import subprocess
import sys
from pathlib import Path

from marketplace.watcher.strangers.images import MAX_KEPT_BYTES, ImageUnusable, Optimised

BROKEN = "it breaks what decodes images"
PROGRAM = Path(__file__).with_name("images.py")
# Seconds of the processor for one image: for the first try, and where there is time.
QUICK_SECONDS = 1.0
LONG_SECONDS = 5.0
# Ends of the process that are not the image's doing: the system is out of memory, or is stopping us.
ENDED_BY_OTHERS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# All of its environment. What is freed goes back to the system at once, and is not kept in pieces.
ALLOCATOR = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}


class ImagesBusy(Exception):
    """It is not the image's fault: this machine is short of something."""


class ImageSlow(Exception):
    """It takes longer than it was given, and may well be done within LONG_SECONDS."""


def decode(content: bytes, seconds: float = LONG_SECONDS) -> Optimised:
    """As images.optimise(), within so many seconds of the processor.

    Raises ImageUnusable, which is final, or ImagesBusy and ImageSlow, which are not.
    """
    try:
        run = subprocess.run(  # noqa: S603 (our own program)
            [sys.executable, "-I", PROGRAM, str(seconds)],
            input=content,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=ALLOCATOR,
            check=False,
        )
    except (OSError, MemoryError) as error:
        raise ImagesBusy(f"no image can be decoded now: {type(error).__name__}") from error
    if run.returncode:
        raise _why_it_ended(run.returncode, seconds)
    header, _, made = run.stdout.partition(b"\n")
    try:
        outcome = json.loads(header)
    except ValueError:
        raise ImageUnusable(BROKEN) from None
    if len(made) > MAX_KEPT_BYTES:
        raise ImageUnusable(BROKEN)
    if "reason" in outcome:
        raise ImageUnusable(outcome["reason"])
    return Optimised(made, outcome["file_type"])


def _why_it_ended(returncode: int, seconds: float) -> Exception:
    if returncode == -signal.SIGPROF and seconds >= LONG_SECONDS:
        return ImageUnusable("it takes too long to decode")
    if returncode == -signal.SIGPROF:
        return ImageSlow("it takes longer to decode: it is made later")
    if returncode > 0 or -returncode in ENDED_BY_OTHERS:
        return ImagesBusy("the process that decodes images was ended")
    return ImageUnusable(BROKEN)
