"""The services of an application: one typed object for each, in ``app.extensions["marketplace"]``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakSet
from wsgiref.types import WSGIApplication

from flask import Flask, current_app, g

if TYPE_CHECKING:
    from requests.adapters import BaseAdapter

    from marketplace.ledger.mirror import MirrorNode
    from marketplace.market.buying.signer import Signer
    from marketplace.store.connection import Connection
    from marketplace.store.engine import Engine
    from marketplace.store.media import MediaStore

KEY = "marketplace"
# All applications of this process: a server finds here which ones its host has mounted.
applications: WeakSet[Flask] = WeakSet()


@dataclass(kw_only=True)
class Services:
    """The services of the marketplace's application. What only one module needs, that module keeps."""

    database: Engine
    media: MediaStore
    mirror_node: MirrorNode
    signer: Signer | None  # None: nothing can be bought
    sandbox: Sandbox | None


@dataclass(kw_only=True)
class Sandbox:
    """The sandbox, and what it gives the marketplace's application."""

    app: Flask
    guard: Callable[[WSGIApplication], WSGIApplication]  # refuses foreign hosts
    serve: Callable[[WSGIApplication], WSGIApplication]  # serves it before the marketplace
    adapters: Mapping[str, BaseAdapter]  # carry requests to its URL within this process
    gateway_adapters: Callable[[], Mapping[str, BaseAdapter]]  # the same for its IPFS gateway
    find_key: Callable[[str], bytes]  # the demo wallet's public key of an account: ED25519
    # Hands the bytes of a HAPI Transaction to its node, and returns those of the TransactionResponse.
    submit: Callable[[bytes], bytes]
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


def read() -> Connection:
    """Return the connection for reads. Each statement sees all earlier commits.

    Marks the request as reading: its response is valid only until the next commit.
    """
    g.reads_freely = True
    return services().database.connection


def write() -> AbstractContextManager[Connection]:
    """Open a write transaction: ``with write() as db:``. Keep it short: use no network and no SDK inside."""
    return services().database.write()


def application() -> Flask:
    """The current application itself, for threads that have no application context."""
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]
    return app
