"""Snapshots: copies of the ledger in memory, to restore."""

import itertools
import threading
from collections import OrderedDict
from functools import cache

from flask import Flask, current_app

from hiero_sandbox import conditions, database
from hiero_sandbox.conditions import Conditions
from hiero_sandbox.ledger import genesis
from hiero_sandbox.storage import Connection, Database

KEY = "hiero_sandbox.snapshots"  # in app.extensions
MOST = 100  # further ones replace the oldest
_numbers = itertools.count(1)
_lock = threading.RLock()  # requests of several threads change the same conditions


def init_app(app: Flask) -> None:
    app.extensions[KEY] = OrderedDict[int, tuple[Connection, int]]()


def take() -> int:
    """Copy the ledger, and note the clock. Returns the snapshot's number."""
    snapshots, number = _taken(), next(_numbers)
    with _lock:
        snapshots[number] = database.database().copy(), conditions.conditions().clock_moved
        if len(snapshots) > MOST:
            drop(next(iter(snapshots)))
    return number


def restore(number: int) -> bool:
    """Put ledger and clock back, and end lag, delay and faults. False: there is no such snapshot."""
    with _lock:
        found = _taken().get(number)
        if found:
            _begin(*found)
    return bool(found)


def drop(number: int) -> bool:
    """Give back a snapshot's memory. False: there is no such snapshot."""
    with _lock:
        found = _taken().pop(number, None)
        if found:
            found[0].close()
    return bool(found)


def reset() -> None:
    """Begin again, with the known accounts, this machine's time and no snapshots."""
    with _lock:
        for number in [*_taken()]:
            drop(number)
        _begin(_make_first(current_app.config["ACCOUNTS"]), clock_moved=0)


def _taken() -> OrderedDict[int, tuple[Connection, int]]:
    """The current application's snapshots by their numbers: a copy of the ledger, and the clock."""
    found: OrderedDict[int, tuple[Connection, int]] = current_app.extensions[KEY]
    return found


@cache
def _make_first(network: str) -> Connection:
    made = Database()
    with made.write() as db:
        genesis.fill(db, network)
    return made.copy()


def _begin(content: Connection, clock_moved: int) -> None:
    with _lock:
        current_app.extensions[conditions.KEY] = Conditions(clock_moved)
        database.database().replace(content)
