"""What is said when the server starts."""

from marketplace import times
from marketplace.cli import startup
from marketplace.store import following
from marketplace.store.database import write

ADDRESSES = [("127.0.0.1", 8000)]


def test_it_says_what_it_means_that_no_watcher_runs(app):
    said = startup.describe(app, ADDRESSES)
    assert "No watcher is at work (flask --app" in said
    assert "nothing that is not reported is found" in said


def test_it_says_nothing_of_a_watcher_that_runs(app):
    now = times.to_iso(times.now())
    with app.app_context(), write() as db:
        following.mark_followed_from(db, now, now)
    assert "No watcher" not in startup.describe(app, ADDRESSES)
