"""One NFT's metadata and image: fetched from strangers' hosts, decoded, and returned as small results."""

import enum
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from requests.adapters import BaseAdapter

from marketplace.ledger.deadline import Deadline
from marketplace.ledger.http_client import FetchError, Unfetchable
from marketplace.ledger.mirror import MirrorNode
from marketplace.ledger.mirror_rate_limit import MirrorRateLimit
from marketplace.watcher.strangers import decoding
from marketplace.watcher.strangers.decoding import ImagesBusy, ImageSlow
from marketplace.watcher.strangers.guarded_fetch import Fetcher
from marketplace.watcher.strangers.images import MAX_IMAGE_BYTES, ImageUnusable, Optimised
from marketplace.watcher.strangers.metadata import Description
from marketplace.watcher.strangers.resolver import Resolver
from marketplace.watcher.strangers.uri import Gateways

# For the hosts to answer, metadata and image together: at the first try, and where there is time.
QUICK_SECONDS = 2
LONG_SECONDS = 15

Decode = Callable[[bytes, float], Optimised]


class Outcome(enum.Enum):
    """The outcome of reading an NFT's metadata and image."""

    COMPLETE = "made"
    UNUSABLE = "unusable"  # final, as far as anybody can tell
    UNREACHABLE = "unreachable"  # it may pass
    SLOW = "slow"  # it may well be done in LONG_SECONDS
    BUSY = "busy"  # this machine's fault


class Found(NamedTuple):
    """The metadata and the image that were found."""

    outcome: Outcome
    reason: str | None = None  # why it is not all
    description: Description | None = None
    original_url: str | None = None  # of the image, for a browser
    image: Optimised | None = None


OUTCOMES = {
    Unfetchable: Outcome.UNUSABLE,
    ImageUnusable: Outcome.UNUSABLE,
    FetchError: Outcome.UNREACHABLE,
    ImageSlow: Outcome.SLOW,
    ImagesBusy: Outcome.BUSY,
}


def make_resolver(
    settings: Mapping[str, Any], make_adapters: Callable[[], Mapping[str, BaseAdapter]]
) -> Resolver:
    """``make_adapters`` makes what carries the requests to some address prefixes."""
    adapters = make_adapters()
    pace = MirrorRateLimit(Path(settings["DATA_DIR"]), settings["MIRROR_NODE_RATE"])
    mirror = MirrorNode(adapters, pace, settings["MIRROR_NODE_URL"])
    gateways = Gateways(settings["IPFS_GATEWAYS"], settings["ARWEAVE_GATEWAYS"])
    return Resolver(Fetcher(adapters), mirror, gateways)


def enrich(
    resolver: Resolver, pointer: str, *, is_quick: bool, decode: Decode = decoding.decode
) -> Found:
    """Find the metadata of an NFT by its pointer, and its image."""
    deadline = Deadline(QUICK_SECONDS if is_quick else LONG_SECONDS)
    seconds = decoding.QUICK_SECONDS if is_quick else decoding.LONG_SECONDS
    description = url = None
    try:
        description = resolver.describe(pointer, deadline)
        url = description.image and resolver.browser_url(description.image)
        if description.image is None:
            raise Unfetchable("the metadata names no image")
        content = resolver.fetch(description.image, MAX_IMAGE_BYTES, deadline)
        return Found(Outcome.COMPLETE, None, description, url, decode(content, seconds))
    except tuple(OUTCOMES) as error:
        return Found(OUTCOMES[type(error)], str(error), description, url)
