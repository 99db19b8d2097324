"""All that comes from outside: the mirror node, metadata, images, and the guard on every fetch."""

import os
from collections.abc import Mapping
from pathlib import Path

from flask import Flask, current_app
from requests.adapters import BaseAdapter

from marketplace.ledger.deadline import Deadline
from marketplace.ledger.decoder import Decoder
from marketplace.ledger.fetch import Fetcher, FetchError
from marketplace.ledger.locations import Gateways
from marketplace.ledger.mirror import MirrorNode
from marketplace.ledger.pace import Pace
from marketplace.ledger.resolver import Resolver

__all__ = ["Deadline", "FetchError", "init_app", "mirror_node", "resolver"]


# For the system's resolver: a thread that waits for a silent name server can not be interrupted.
NAME_SERVERS = "timeout:2 attempts:1"


def init_app(app: Flask, adapters: Mapping[str, BaseAdapter]) -> None:
    """Adapters carry the requests to some address prefixes; the network carries all others."""
    os.environ.setdefault("RES_OPTIONS", NAME_SERVERS)
    fetcher = Fetcher(adapters)
    pace = Pace(Path(app.config["MIRROR_NODE_PACE_FILE"]), app.config["MIRROR_NODE_RATE"])
    mirror = MirrorNode(fetcher, pace, app.config["MIRROR_NODE_URL"])
    gateways = Gateways(app.config["IPFS_GATEWAYS"], app.config["ARWEAVE_GATEWAYS"])
    app.extensions["mirror_node"] = mirror
    app.extensions["decoder"] = Decoder()
    app.extensions["resolver"] = Resolver(fetcher, mirror, gateways)


def mirror_node() -> MirrorNode:
    return current_app.extensions["mirror_node"]


def resolver() -> Resolver:
    return current_app.extensions["resolver"]
