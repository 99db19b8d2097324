"""Keeps what the network tells of itself: its exchange rate, and the accounts of its nodes."""

import json

from marketplace import times
from marketplace.ids import numbers
from marketplace.ledger import UNHURRIED_SECONDS, Deadline, mirror_node
from marketplace.store import properties
from marketplace.store.database import write


def store_network() -> None:
    """Read each from the ledger, and store it. Raises the ledger's errors, and keeps what is stored then."""
    deadline = Deadline(UNHURRIED_SECONDS)
    rate = mirror_node().find_exchange_rates(deadline).current
    _store(
        properties.EXCHANGE_RATE,
        {"hbar": rate.hbar, "cents": rate.cents, "date": times.to_iso(times.now())},
    )
    if nodes := sorted(mirror_node().list_nodes(deadline), key=numbers):
        _store(properties.NODES, nodes)


def _store(name: str, value: object) -> None:
    with write() as db:
        properties.mark_property(db, name, json.dumps(value).encode())
