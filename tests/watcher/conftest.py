"""A watcher that is told each step: what it reads, and what it looks at."""

import pytest

from marketplace import times
from marketplace.watcher.follow import Follower
from marketplace.watcher.looker import Looker
from marketplace.watcher.sweep import Sweeper
from marketplace.watcher.work import Done


class Watcher:
    """Follows when it is told to, and then looks at everything that is due."""

    def __init__(self, app):
        self.app = app
        self.follower, self.looker, self.sweeper = Follower(), Looker(app), Sweeper(app)

    def read(self):
        """Read all pages that there are."""
        with self.app.app_context():
            while self.follower.step():
                pass

    def look(self, seconds=0):
        """Look at what is due so many seconds from now; returns what was done, without what was nothing."""
        counts = self.looker.drain(times.now() + seconds * times.SECOND)
        del counts[Done.UNCHANGED], counts[Done.SELLERS], counts[Done.TOKENS]
        return +counts

    def follow(self):
        self.read()
        return self.look()


@pytest.fixture
def watcher(app):
    """A watcher that follows from now on."""
    watcher = Watcher(app)
    watcher.read()
    yield watcher
    watcher.looker.close()
