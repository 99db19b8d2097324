"""What is said when the server starts."""

from harness.apps import settings
from marketplace import create_app
from marketplace.cli import startup
from marketplace.hedera import times
from marketplace.store import following
from marketplace.store.database import write
from tests.engines import both_engines

pytestmark = both_engines

ADDRESSES = [("127.0.0.1", 8000)]


def test_the_start_says_what_it_means_that_no_watcher_runs(tmp_path):
    app = create_app(**settings(tmp_path), NETWORK="testnet", ACCOUNT_ID="0.0.4321")
    said = startup.describe(app, ADDRESSES)
    assert "No watcher works yet: start one (flask" in said
    assert "only reports change the order book" in said
    now = times.to_iso(times.now())
    with app.app_context(), write() as db:
        following.mark_followed_from(db, now, now)
    assert "No watcher" not in startup.describe(app, ADDRESSES)


def test_beside_the_sandbox_a_watcher_starts_as_well(app):
    assert "No watcher" not in startup.describe(app, ADDRESSES)
