"""Reads the metadata and the image of one NFT after the other, in a process that the watcher starts.

    python -m marketplace.watcher.strangers.reader

Its standard input is a socket. The settings come first; then, for each NFT, its pointer and its limits. The
answer is a message of enrichment_result.py. If its outcome is COMPLETE, the watcher asks for the image, made
small, as soon as a processor is free: that is a second message. The process has no threads, as it forks.
"""

import logging
import resource
import traceback
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from marketplace import ledger
from marketplace.ledger.http import FetchError, Unfetchable
from marketplace.ledger.rate import Deadline
from marketplace.watcher.enrichment_result import (
    EnrichmentResult,
    MakeAdapters,
    Outcome,
    write_message,
)
from marketplace.watcher.strangers import confine, decoder
from marketplace.watcher.strangers.guarded_fetch import Fetcher
from marketplace.watcher.strangers.resolver import Resolver
from marketplace.watcher.strangers.uri import Gateways

MAX_DESCRIPTORS = 256


def serve(watcher: Connection) -> None:
    """Answer until the watcher ends."""
    resolver = make_resolver(*watcher.recv())
    while True:
        pointer, limits = watcher.recv()
        result, image = read(resolver, pointer, limits.fetching)
        watcher.send_bytes(write_message(result))
        if result.outcome is Outcome.COMPLETE:
            watcher.recv()
            watcher.send_bytes(decoder.decode(image, limits))


def read(resolver: Resolver, pointer: str, seconds: float) -> tuple[EnrichmentResult, bytes]:
    """Read the metadata of an NFT by its pointer, and its image if the outcome is COMPLETE."""
    try:
        return fetch(resolver, pointer, seconds)
    except Exception:
        traceback.print_exc()
        return EnrichmentResult(Outcome.UNREACHABLE, "it breaks the process that reads it"), b""


def make_resolver(settings: Mapping[str, Any], make_adapters: MakeAdapters) -> Resolver:
    """Make the resolver. ``make_adapters`` makes the adapters of http.HttpSession."""
    adapters = make_adapters()
    gateways = Gateways(settings["IPFS_GATEWAYS"], settings["ARWEAVE_GATEWAYS"])
    return Resolver(Fetcher(adapters), ledger.from_config(settings, adapters, _ignore), gateways)


def _ignore(name: str, number: float = 1, **labels: str) -> None:
    """Leave the mirror node's metrics uncounted: only a service has any."""


def fetch(resolver: Resolver, pointer: str, seconds: float) -> tuple[EnrichmentResult, bytes]:
    """Fetch the metadata of an NFT by its pointer, and the bytes of its image."""
    deadline = Deadline(seconds)
    description = url = None
    try:
        description, content = resolver.read_metadata(pointer, deadline)
        url = description.image and resolver.browser_url(description.image)
        if description.image is None:
            raise Unfetchable("the metadata names no image")
        content = content or resolver.read_image(description.image, deadline)
        return EnrichmentResult(Outcome.COMPLETE, None, description, url), content
    except FetchError as error:
        is_final = isinstance(error, Unfetchable)
        outcome = Outcome.UNUSABLE if is_final else Outcome.UNREACHABLE
        return EnrichmentResult(outcome, str(error), description, url), b""


if __name__ == "__main__":
    confine.end_with_parent()
    confine.limit()
    # Otherwise, each refused address is logged here, without a time. The watcher logs them once a minute.
    logging.getLogger("requests_hardened.ip_filter").disabled = True
    resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_DESCRIPTORS, MAX_DESCRIPTORS))
    with suppress(EOFError, ConnectionError):
        serve(Connection(0))
