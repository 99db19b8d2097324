"""The services of an application: one typed object for each, in ``app.extensions["marketplace"]``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flask import Flask, Request, current_app

if TYPE_CHECKING:
    from requests.adapters import BaseAdapter

    from marketplace.api.concurrency_limit import ConcurrencyLimit
    from marketplace.api.rate_limit import RateLimits
    from marketplace.ledger.mirror import MirrorNode
    from marketplace.market.signer import Signer
    from marketplace.store.engine import Engine
    from marketplace.store.media import MediaStore
    from marketplace.store.token_usage import TokenUsage
    from marketplace.watcher.enrichment_result import Enrich

KEY = "marketplace"


@dataclass(kw_only=True)
class Services:
    """The services of the marketplace's application."""

    database: Engine
    media: MediaStore
    mirror_node: MirrorNode
    signer: Signer | None  # None: nothing can be bought
    authenticate: Callable[[Request, str], bool | str]
    rate_limits: RateLimits
    writes: ConcurrencyLimit
    image_reads: ConcurrencyLimit
    token_usage: TokenUsage
    sandbox: Sandbox | None
    # Replaces the watcher's processes for metadata and images, if set.
    enrich: Enrich | None = None
    # By message: when it was logged, on the monotonic clock, and how many were left out since.
    warned: dict[str, tuple[float, int]] = field(default_factory=dict)


@dataclass(kw_only=True)
class Sandbox:
    """The sandbox, and what it gives the marketplace's application."""

    app: Flask
    adapters: Mapping[str, BaseAdapter]  # carry requests to its URL within this process
    gateway_adapters: Callable[[], Mapping[str, BaseAdapter]]  # the same for its IPFS gateway
    sign: Callable[[bytes], tuple[bytes, bytes]]  # the demo wallet, for the marketplace's account
    describe: Callable[[Flask, str], str]  # explains how to try it at this URL
    make_token: Callable[[Flask], None]  # the sandbox's own, for which describe() asks, too


def services(app: Flask | None = None) -> Services:
    """The services of an application, by default of the current one."""
    own: Services = (app or current_app).extensions[KEY]
    return own


def mirror_node() -> MirrorNode:
    """The ledger, as the mirror node of the current application shows it."""
    return services().mirror_node


def application() -> Flask:
    """The current application itself, for threads that have no application context."""
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]
    return app


def database(app: Flask | None = None) -> Engine:
    """The database of an application, by default of the current one."""
    return services(app).database
