"""Reads the metadata and fetches the images of several NFTs at once, in a process that the watcher starts.

    python -m marketplace.watcher.strangers.reader

Its standard input is a socket. The settings come first; then, for each NFT, a pipe of its own. That brings
the pointer and the seconds, and takes the answer, a message of enrichment_result.py. A file with the image
follows if the outcome is COMPLETE.
"""

import logging
import os
import resource
import threading
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from typing import BinaryIO

from marketplace.watcher.enrichment_result import EnrichmentResult, Outcome, write_message
from marketplace.watcher.strangers import confine
from marketplace.watcher.strangers.enrich import fetch, make_resolver
from marketplace.watcher.strangers.resolver import Resolver

MAX_DESCRIPTORS = 256
THREAD_BYTES = 1024 * 1024  # of a thread's stack, as the address space is limited


def serve(watcher: Connection) -> None:
    """Answer until the watcher ends."""
    with suppress(EOFError, ConnectionError):
        resolver = make_resolver(*watcher.recv())
        while True:
            pipe = Connection(recv_handle(watcher))
            threading.Thread(target=answer, args=(resolver, pipe), daemon=True).start()


def answer(resolver: Resolver, pipe: Connection) -> None:
    with pipe, suppress(EOFError, ConnectionError):
        result, image = read(resolver, *pipe.recv())
        pipe.send_bytes(write_message(result))
        if image:
            with image:
                send_handle(pipe, image.fileno(), None)


def read(
    resolver: Resolver, pointer: str, seconds: float
) -> tuple[EnrichmentResult, BinaryIO | None]:
    """Read the metadata of an NFT by its pointer. If the outcome is COMPLETE so far, a file has its image."""
    try:
        result, content = fetch(resolver, pointer, seconds)
        return result, _store(content) if result.outcome is Outcome.COMPLETE else None
    except Exception:
        traceback.print_exc()
        return EnrichmentResult(Outcome.UNREACHABLE, "it breaks the process that reads it"), None


def _store(content: bytes) -> BinaryIO:
    """Write an image into a file in memory."""
    image = open(os.memfd_create("image"), "w+b", buffering=0)  # noqa: SIM115
    image.write(content)
    image.seek(0)
    return image


if __name__ == "__main__":
    confine.end_with_parent()
    confine.limit()
    confine.limit_memory()
    # It would log a line for each refused address, without a time. The watcher logs them, once a minute.
    logging.getLogger("requests_hardened.ip_filter").disabled = True
    resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_DESCRIPTORS, MAX_DESCRIPTORS))
    threading.stack_size(THREAD_BYTES)
    serve(Connection(0))
    os._exit(0)  # do not wait for silent hosts
