"""One NFT's metadata and image: fetched from strangers' hosts, decoded, and returned as small results.

run() does so in a process of its own, and answers with messages: what was found, and then the image.
"""

import enum
import json
import os
import resource
import signal
import warnings
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from requests.adapters import BaseAdapter

from marketplace import ledger
from marketplace.ledger.deadline import Deadline
from marketplace.ledger.http_client import FetchError, Unfetchable
from marketplace.watcher.strangers import confine
from marketplace.watcher.strangers.guarded_fetch import Fetcher
from marketplace.watcher.strangers.images import (
    MAX_IMAGE_BYTES,
    MAX_KEPT_BYTES,
    ImageUnusable,
    Optimised,
    optimise,
)
from marketplace.watcher.strangers.metadata import Description
from marketplace.watcher.strangers.resolver import Resolver
from marketplace.watcher.strangers.uri import Gateways

MAX_DESCRIPTORS = 64
MAX_MORE_BYTES = 200_000_000  # beyond what the process has when it begins
MAX_MESSAGE_BYTES = MAX_KEPT_BYTES + 100_000

MakeAdapters = Callable[[], Mapping[str, BaseAdapter]]


class Limits(NamedTuple):
    """Seconds for the hosts to answer, metadata and image together; and of the processor, to decode."""

    fetching: float
    decoding: float


QUICK, LONG = Limits(2, 1), Limits(15, 5)


class Outcome(enum.StrEnum):
    """The outcome of reading an NFT's metadata and image."""

    COMPLETE = "made"
    UNUSABLE = "unusable"  # final, as far as anybody can tell
    UNREACHABLE = "unreachable"  # it may pass
    SLOW = "slow"  # it may well be done within the limits LONG
    BUSY = "busy"  # this machine's fault


class Found(NamedTuple):
    """The metadata and the image that were found."""

    outcome: Outcome
    reason: str | None = None  # why it is not all
    description: Description | None = None
    original_url: str | None = None  # of the image, for a browser
    image: Optimised | None = None


def make_resolver(settings: Mapping[str, Any], make_adapters: MakeAdapters) -> Resolver:
    """``make_adapters`` makes what carries the requests to some address prefixes."""
    adapters = make_adapters()
    gateways = Gateways(settings["IPFS_GATEWAYS"], settings["ARWEAVE_GATEWAYS"])
    return Resolver(Fetcher(adapters), ledger.from_config(settings, adapters), gateways)


def fetch(resolver: Resolver, pointer: str, seconds: float) -> tuple[Found, bytes]:
    """Fetch the metadata of an NFT by its pointer, and its image as it is."""
    deadline = Deadline(seconds)
    description = url = None
    try:
        description = resolver.describe(pointer, deadline)
        url = description.image and resolver.browser_url(description.image)
        if description.image is None:
            raise Unfetchable("the metadata names no image")
        content = resolver.fetch(description.image, MAX_IMAGE_BYTES, deadline)
        return Found(Outcome.COMPLETE, None, description, url), content
    except FetchError as error:
        is_final = isinstance(error, Unfetchable)
        outcome = Outcome.UNUSABLE if is_final else Outcome.UNREACHABLE
        return Found(outcome, str(error), description, url), b""


def decode(found: Found, content: bytes) -> Found:
    """Add the image, made small; or the reason why there is none."""
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
    """Read one NFT's metadata and image in a process of its own, and end it."""
    confine.end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(5)  # readers go first
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
    os._exit(0)  # without waiting for gateways that are silent


def _count_data_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[5]) * resource.getpagesize()


def write_message(found: Found) -> bytes:
    content, file_type = found.image or (b"", None)
    return json.dumps([*found[:4], file_type]).encode() + b"\n" + content


def read_message(message: bytes) -> Found:
    """Raises ValueError or TypeError."""
    header, _, content = message.partition(b"\n")
    outcome, reason, description, url, file_type = json.loads(header)
    return Found(
        Outcome(outcome),
        reason,
        description and Description(*description),
        url,
        Optimised(content, file_type) if content else None,
    )
