"""Snapshots: copies of the ledger in memory, to restore."""

import itertools
import threading
from collections import OrderedDict
from functools import cache

from flask import Flask, current_app

from hiero_sandbox import conditions, database
from hiero_sandbox.conditions import Conditions
from hiero_sandbox.database import Connection
from hiero_sandbox.ledger import genesis

KEY = "hiero_sandbox.snapshots"  # in app.extensions
MOST = 100  # further ones replace the oldest
_numbers = itertools.count(1)
_lock = threading.RLock()  # requests of several threads change the same conditions


def init_app(app: Flask) -> None:
    app.extensions[KEY] = OrderedDict[int, tuple[Connection, int]]()


def take() -> int:
    """Copy the ledger, and note the clock. Returns the snapshot's number."""
    snapshots, number = current_app.extensions[KEY], next(_numbers)
    with _lock:
        snapshots[number] = database.database().copy(), conditions.conditions().clock_moved
        if len(snapshots) > MOST:
            snapshots.popitem(last=False)
    return number


def restore(number: int) -> bool:
    """Put ledger and clock back, and end lag and faults. False: there is no such snapshot."""
    found = current_app.extensions[KEY].get(number)
    if found:
        _begin(*found)
    return bool(found)


def reset() -> None:
    """Begin anew, with the known accounts, and this machine's time."""
    _begin(_make_first(), clock_moved=0)


@cache
def _make_first() -> Connection:
    made = database.Database()
    with made.write() as db:
        genesis.fill(db)
    return made.copy()


def _begin(content: Connection, clock_moved: int) -> None:
    with _lock:
        current_app.extensions[conditions.KEY] = Conditions(clock_moved)
        database.database().replace(content)
