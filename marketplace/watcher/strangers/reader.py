"""Reads the metadata and the image of one NFT after another, in a process that the watcher starts.

    python -m marketplace.watcher.strangers.reader

Its standard input is a socket. The settings come first; then, again and again, an NFT's pointer with the
limits, for which it sends an answer. decoder.py decodes each image in another process.
"""

import logging
import os
import resource
import signal
import subprocess
import sys
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import BinaryIO

from marketplace.watcher.found import (
    ENDED_BY_OTHERS,
    MAX_MESSAGE_BYTES,
    QUICK,
    Found,
    Limits,
    Outcome,
    read_message,
    write_message,
)
from marketplace.watcher.strangers import confine
from marketplace.watcher.strangers.enrich import fetch, make_resolver
from marketplace.watcher.strangers.resolver import Resolver

# Not imported here: Pillow is the decoder's alone.
DECODER = "marketplace.watcher.strangers.decoder"
MAX_DESCRIPTORS = 64


def serve(watcher: Connection) -> None:
    """Answer until the watcher ends."""
    with suppress(EOFError, ConnectionError):
        resolver = make_resolver(*watcher.recv())
        while True:
            watcher.send_bytes(write_message(read(resolver, *watcher.recv())))


def read(resolver: Resolver, pointer: str, limits: Limits) -> Found:
    """Find the metadata of an NFT by its pointer, and its image."""
    try:
        found, content = fetch(resolver, pointer, limits.fetching)
        if found.outcome is Outcome.COMPLETE:
            return found.with_image_of(decode(content, limits))
        return found
    except Exception:
        traceback.print_exc()
        return Found(Outcome.UNREACHABLE, "it breaks the process that reads it")


def decode(content: bytes, limits: Limits) -> Found:
    """Have an image made small in a process of its own, within the limits. The files are in memory."""
    seconds, parent = str(limits.decoding), str(os.getpid())
    with _memory_file() as image, _memory_file() as answer:
        image.write(content)
        image.seek(0)
        command = [sys.executable, "-m", DECODER, seconds, parent]
        try:
            process = subprocess.run(  # noqa: S603
                command, stdin=image, stdout=answer, timeout=limits.decoder_timeout, check=False
            )
        except subprocess.TimeoutExpired:
            return Found(Outcome.SLOW, "it took too long")
        if process.returncode:
            return _explain_end(process.returncode, limits)
        answer.seek(0)
        try:
            return read_message(answer.read(MAX_MESSAGE_BYTES))
        except (ValueError, TypeError):
            return Found(Outcome.UNUSABLE, "it breaks the image decoder")


def _memory_file() -> BinaryIO:
    return open(os.memfd_create("image"), "w+b", buffering=0)


def _explain_end(code: int, limits: Limits) -> Found:
    if code == -signal.SIGXCPU and limits == QUICK:
        return Found(Outcome.SLOW, "it takes longer to decode: it is tried again with more time")
    if code == -signal.SIGXCPU:
        return Found(Outcome.UNUSABLE, "it takes too long to decode")
    if code in ENDED_BY_OTHERS:
        return Found(Outcome.BUSY, "the process that decodes it was ended")
    if code > 0:  # it printed why
        return Found(Outcome.BUSY, "no process can be started that decodes it")
    return Found(Outcome.UNUSABLE, "it breaks the image decoder")


if __name__ == "__main__":
    confine.end_with_parent()
    confine.limit()
    # It would log a line for each refused address, without a time. The watcher logs them, once a minute.
    logging.getLogger("requests_hardened.ip_filter").disabled = True
    resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_DESCRIPTORS, MAX_DESCRIPTORS))
    os.nice(5)  # the service's readers have priority
    serve(Connection(0))
    os._exit(0)  # do not wait for silent hosts
