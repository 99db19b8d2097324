"""Fetches one NFT's metadata and image from strangers' hosts, and makes the image small.

run() does so in a process of its own. It sends one message after fetching, and one after decoding.
"""

import os
import resource
import signal
import warnings
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

from marketplace import ledger
from marketplace.ledger.deadline import Deadline
from marketplace.ledger.http_client import FetchError, Unfetchable
from marketplace.watcher.found import Found, Limits, MakeAdapters, Outcome, write_message
from marketplace.watcher.strangers import confine
from marketplace.watcher.strangers.guarded_fetch import Fetcher
from marketplace.watcher.strangers.images import ImageUnusable, optimise
from marketplace.watcher.strangers.resolver import Resolver
from marketplace.watcher.strangers.uri import Gateways

MAX_DESCRIPTORS = 64
MAX_MORE_BYTES = 200_000_000  # in addition to the memory that the process has at the start


def make_resolver(settings: Mapping[str, Any], make_adapters: MakeAdapters) -> Resolver:
    """Make the resolver. ``make_adapters`` makes the adapters of http_client.Session."""
    adapters = make_adapters()
    gateways = Gateways(settings["IPFS_GATEWAYS"], settings["ARWEAVE_GATEWAYS"])
    return Resolver(Fetcher(adapters), ledger.from_config(settings, adapters), gateways)


def fetch(resolver: Resolver, pointer: str, seconds: float) -> tuple[Found, bytes]:
    """Fetch the metadata of an NFT by its pointer, and the bytes of its image."""
    deadline = Deadline(seconds)
    description = url = None
    try:
        description, content = resolver.read_metadata(pointer, deadline)
        url = description.image and resolver.browser_url(description.image)
        if description.image is None:
            raise Unfetchable("the metadata names no image")
        content = content or resolver.read_image(description.image, deadline)
        return Found(Outcome.COMPLETE, None, description, url), content
    except FetchError as error:
        is_final = isinstance(error, Unfetchable)
        outcome = Outcome.UNUSABLE if is_final else Outcome.UNREACHABLE
        return Found(outcome, str(error), description, url), b""


def decode(found: Found, content: bytes) -> Found:
    """Add the image, made small, or the reason why there is none."""
    try:
        return found._replace(image=optimise(content))
    except ImageUnusable as error:
        return found._replace(outcome=Outcome.UNUSABLE, reason=str(error))


def run(
    answers: Connection,
    pointer: str,
    limits: Limits,
    settings: Mapping[str, Any],
    make_adapters: MakeAdapters,
) -> None:
    """Read one NFT's metadata and image, then end this process, which must be its own."""
    confine.end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(5)  # the service's readers have priority
    most = _count_data_bytes() + MAX_MORE_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_DESCRIPTORS, MAX_DESCRIPTORS))
    found, content = fetch(make_resolver(settings, make_adapters), pointer, limits.fetching)
    answers.send_bytes(write_message(found))
    if found.outcome is Outcome.COMPLETE:
        warnings.simplefilter("ignore")  # Pillow's, about a stranger's image
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, limits.decoding)
        confine.confine(answers.fileno())
        answers.send_bytes(write_message(decode(found, content)))
    os._exit(0)  # do not wait for silent gateways


def _count_data_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[5]) * resource.getpagesize()
