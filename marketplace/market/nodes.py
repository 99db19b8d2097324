"""The consensus nodes that transactions are submitted to: those that are set, or the network's own."""

import itertools
import json

from flask import current_app

from marketplace.store import properties
from marketplace.store.database import read

# An SDK refuses to submit to a node that it does not know, and its own list is older than the network's.
# All lists have the nodes of the lowest numbers. Later nodes have higher ones.
MOST = 6
# Of every network, until its nodes were read.
ALWAYS_THERE = ("0.0.3", "0.0.4", "0.0.7", "0.0.8", "0.0.9")

_turns = itertools.count()


def next_node() -> str:
    """The node that a transaction is submitted to. They take turns: one that is down stops nobody."""
    nodes = list_nodes()
    return nodes[next(_turns) % len(nodes)]


def list_nodes() -> tuple[str, ...]:
    configured: tuple[str, ...] = current_app.config["NODE_ACCOUNT_IDS"]
    return configured or _list_network_nodes()[:MOST] or ALWAYS_THERE


def list_gone_nodes() -> list[str]:
    """The nodes of NODE_ACCOUNT_IDS that the network had no more when the watcher last read its nodes."""
    there = _list_network_nodes()
    return [node for node in current_app.config["NODE_ACCOUNT_IDS"] if there and node not in there]


def _list_network_nodes() -> tuple[str, ...]:
    stored = properties.get_property(read(), properties.NODES)
    return tuple(json.loads(bytes(stored["value"]))) if stored else ()
