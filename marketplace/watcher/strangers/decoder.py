"""Makes one image small, in a fork of the reader that keeps only memory, the image and its answer pipe."""

import multiprocessing
import os
import signal
from multiprocessing.connection import Connection

from marketplace.watcher.enrichment_result import (
    ENDED_BY_OTHERS,
    MAX_MESSAGE_BYTES,
    QUICK,
    EnrichmentResult,
    Limits,
    Outcome,
    write_message,
)
from marketplace.watcher.strangers import confine
from marketplace.watcher.strangers.images import ImageUnusable, optimise

FORKED = multiprocessing.get_context("fork")


def decode(image: bytes, limits: Limits) -> bytes:
    """Make an image small within the limits. Returns a message of enrichment_result.py.

    The message stays unparsed here: a stranger's image may have written it.
    """
    ours, theirs = FORKED.Pipe(duplex=False)
    process = FORKED.Process(target=_answer, args=(theirs, image, limits.decoding, os.getpid()))
    with ours:
        try:
            with theirs:
                process.start()
        except OSError as error:
            busy = f"nothing can be decoded: {type(error).__name__}"
            return write_message(EnrichmentResult(Outcome.BUSY, busy))
        message = _receive(ours, limits)
    process.kill()
    process.join()
    return message or write_message(_explain_end(process.exitcode or 0, limits))


def _receive(answer: Connection, limits: Limits) -> bytes:
    """The process's answer; nothing if it ended without one."""
    try:
        if answer.poll(limits.decoder_timeout):
            return answer.recv_bytes(MAX_MESSAGE_BYTES)
        return write_message(EnrichmentResult(Outcome.SLOW, "it took too long"))
    except EOFError:
        return b""
    except OSError:  # it is too long
        return write_message(BROKEN)


BROKEN = EnrichmentResult(Outcome.UNUSABLE, "it breaks the image decoder")


def _explain_end(code: int, limits: Limits) -> EnrichmentResult:
    if code == -signal.SIGXCPU and limits == QUICK:
        return EnrichmentResult(
            Outcome.SLOW, "it takes longer to decode: it is tried again with more time"
        )
    if code == -signal.SIGXCPU:
        return EnrichmentResult(Outcome.UNUSABLE, "it takes too long to decode")
    if code in ENDED_BY_OTHERS:
        return EnrichmentResult(Outcome.BUSY, "the process that decodes it was ended")
    return BROKEN


def _answer(answer: Connection, image: bytes, seconds: int, parent: int) -> None:
    """Be the process: decode, answer, and end."""
    confine.confine(seconds, answer.fileno(), parent, len(image))
    answer.send_bytes(write_message(make_small(image)))
    os._exit(0)


def make_small(image: bytes) -> EnrichmentResult:
    """Decode an image in this process."""
    try:
        return EnrichmentResult(Outcome.COMPLETE, image=optimise(image))
    except ImageUnusable as error:
        return EnrichmentResult(Outcome.UNUSABLE, str(error))
