"""All that comes from outside: the mirror node, metadata, images, and the guard on every fetch."""

from collections.abc import Mapping

from flask import Flask, current_app
from requests.adapters import BaseAdapter

from marketplace.ledger.fetch import Deadline, Fetcher
from marketplace.ledger.metadata import Gateways, Resolver
from marketplace.ledger.mirror import MirrorNode

__all__ = ["Deadline", "init_app", "mirror_node", "resolver"]


def init_app(app: Flask, adapters: Mapping[str, BaseAdapter]) -> None:
    """Adapters carry the requests to some address prefixes; the network carries all others."""
    gateways = Gateways(app.config["IPFS_GATEWAYS"], app.config["ARWEAVE_GATEWAYS"])
    mirror_node_url = app.config["MIRROR_NODE_URL"]
    fetcher = Fetcher((f"{mirror_node_url}/", *gateways.ipfs, *gateways.arweave), adapters)
    app.extensions["mirror_node"] = MirrorNode(fetcher, mirror_node_url)
    app.extensions["resolver"] = Resolver(fetcher, gateways)


def mirror_node() -> MirrorNode:
    return current_app.extensions["mirror_node"]


def resolver() -> Resolver:
    return current_app.extensions["resolver"]
