"""A watcher that tests step: when it reads, and when it rechecks."""

from contextlib import closing

import pytest

from harness.cast import TOKEN
from marketplace.hedera import times
from marketplace.services import read
from marketplace.watcher.done import Done
from marketplace.watcher.follow import Follower
from marketplace.watcher.recheck import Rechecker
from marketplace.watcher.sweep import Sweep


class Watcher:
    """Follows on call, and then rechecks everything that is due."""

    def __init__(self, app):
        self.app = app
        self.follower, self.rechecker = Follower(), Rechecker(app)

    def restart(self):
        """Be another watcher, after this one was killed."""
        self.rechecker.close()
        self.follower, self.rechecker = Follower(), Rechecker(self.app)

    def read(self):
        """Read all pages that there are."""
        with self.app.app_context():
            while self.follower.step():
                pass

    def recheck(self, seconds=0):
        """Recheck what is due within this many seconds. Returns what changed something."""
        counts = self.rechecker.drain(times.now() + seconds * times.SECOND)
        del counts[Done.UNCHANGED], counts[Done.SELLERS], counts[Done.TOKENS]
        return +counts

    def follow(self):
        self.read()
        return self.recheck()

    def sweep(self, seconds=0):
        """Begin a sweep if one is due, and compare what is due of it within this many seconds."""
        with self.app.app_context(), closing(Sweep(self.app)) as sweep:
            while sweep.step(times.now() + seconds * times.SECOND) == 0:
                pass


@pytest.fixture
def watcher(app):
    """A watcher that follows from now on."""
    watcher = Watcher(app)
    watcher.read()
    yield watcher
    watcher.rechecker.close()


def list_after(id):
    sql = "SELECT * FROM event WHERE id > :id ORDER BY id LIMIT 1000"
    return read().execute(sql, {"id": id}).fetchall()


@pytest.fixture
def new_events(app):
    """The events of one NFT since this was asked last: kind, from, to, price, previous price."""
    seen = 0

    def new_events():
        nonlocal seen
        with app.app_context():
            rows = list_after(seen)
        seen = rows[-1]["id"] if rows else seen
        columns = ("kind", "from_account", "to_account", "price", "previous_price")
        return [
            tuple(row[column] for column in columns)
            for row in rows
            if (row["token"], row["serial_no"]) == (TOKEN, 7)
        ]

    return new_events


def newest(app):
    with app.app_context():
        row = list_after(0)[-1]
    return row
