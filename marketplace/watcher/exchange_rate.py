"""Keeps the ledger's own exchange rate, which front ends show prices by."""

import json

from marketplace import times
from marketplace.ledger import UNHURRIED_SECONDS, Deadline, mirror_node
from marketplace.store import properties
from marketplace.store.database import write


def store_exchange_rate() -> None:
    """Read it from the ledger, and store it. Raises the ledger's errors."""
    rate = mirror_node().find_exchange_rates(Deadline(UNHURRIED_SECONDS)).current
    stored = {"hbar": rate.hbar, "cents": rate.cents, "date": times.to_iso(times.now())}
    with write() as db:
        properties.mark_property(db, properties.EXCHANGE_RATE, json.dumps(stored).encode())
