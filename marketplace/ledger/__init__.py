"""The ledger, as the mirror node tells of it."""

import os
from collections.abc import Mapping
from pathlib import Path

from flask import Flask, current_app
from requests.adapters import BaseAdapter

from marketplace.ledger.deadline import UNHURRIED_SECONDS, Deadline
from marketplace.ledger.mirror import MirrorNode
from marketplace.ledger.mirror_rate_limit import MirrorRateLimit

__all__ = ["UNHURRIED_SECONDS", "Deadline", "init_app", "mirror_node"]


# For the system's resolver: a thread that waits for a silent name server can not be interrupted.
NAME_SERVERS = "timeout:2 attempts:1"


def init_app(app: Flask, adapters: Mapping[str, BaseAdapter]) -> None:
    """Adapters carry the requests to some address prefixes; the network carries all others."""
    os.environ.setdefault("RES_OPTIONS", NAME_SERVERS)
    pace = MirrorRateLimit(Path(app.config["DATA_DIR"]), app.config["MIRROR_NODE_RATE"])
    app.extensions["mirror_node"] = MirrorNode(adapters, pace, app.config["MIRROR_NODE_URL"])


def mirror_node() -> MirrorNode:
    return current_app.extensions["mirror_node"]
