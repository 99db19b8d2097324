"""The consensus nodes that transactions are submitted to: the configured ones, or the network's own."""

import itertools
import json

from flask import current_app

from marketplace.store import properties
from marketplace.store.database import read

# An SDK submits only to nodes of its own list, which is older than the network's. The nodes with the lowest
# numbers are on every list: newer nodes have higher numbers.
MOST = 6
# Every network has these. They are used until the network's nodes have been read.
ALWAYS_THERE = ("0.0.3", "0.0.4", "0.0.7", "0.0.8", "0.0.9")

_turns = itertools.count()


def next_node() -> str:
    """The node for the next transaction. Nodes take turns, so that one that is down does not stop all."""
    nodes = list_nodes()
    return nodes[next(_turns) % len(nodes)]


def list_nodes() -> tuple[str, ...]:
    configured: tuple[str, ...] = current_app.config["NODE_ACCOUNT_IDS"]
    return configured or _list_network_nodes()[:MOST] or ALWAYS_THERE


def list_gone_nodes() -> list[str]:
    """The nodes of NODE_ACCOUNT_IDS that the network no longer had when the watcher last read its nodes."""
    there = _list_network_nodes()
    return [node for node in current_app.config["NODE_ACCOUNT_IDS"] if there and node not in there]


def _list_network_nodes() -> tuple[str, ...]:
    stored = properties.get_property(read(), properties.NODES)
    return tuple(json.loads(bytes(stored["value"]))) if stored else ()
