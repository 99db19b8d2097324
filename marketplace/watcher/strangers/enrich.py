"""Fetches one NFT's metadata and image from strangers' hosts."""

from collections.abc import Mapping
from typing import Any

from marketplace import ledger
from marketplace.ledger.http import Deadline, FetchError, Unfetchable
from marketplace.watcher.enrichment_result import EnrichmentResult, MakeAdapters, Outcome
from marketplace.watcher.strangers.guarded_fetch import Fetcher
from marketplace.watcher.strangers.resolver import Resolver
from marketplace.watcher.strangers.uri import Gateways


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
