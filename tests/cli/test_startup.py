"""What is said when the server starts."""

from pathlib import Path

from harness.apps import settings
from marketplace import create_app
from marketplace.hedera import times
from marketplace.sandbox import node, seed
from marketplace.services import write
from marketplace.serving import startup
from marketplace.store import following
from tests.engines import both_engines

ADDRESSES = [("127.0.0.1", 8000)]


@both_engines
def test_the_start_says_what_it_means_that_no_watcher_runs(tmp_path):
    app = create_app(**settings(tmp_path), NETWORK="testnet", ACCOUNT_ID="0.0.4321")
    said = startup.describe(app, ADDRESSES)
    assert "No watcher has run in the last minute: start one (flask" in said
    assert "only reports change the order book" in said
    now = times.to_iso(times.now())
    with app.app_context(), write() as db:
        following.mark_followed_from(db, now, now)
    assert "No watcher" not in startup.describe(app, ADDRESSES)


def test_it_says_how_to_fill_the_sandbox_and_to_watch(app, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where flask finds no application by itself
    said = startup.describe(app, ADDRESSES)
    assert "for sale yet: flask --app marketplace sandbox seed adds sample collections" in said
    assert "start one (flask --app marketplace watch)" in said
    with app.app_context():
        seed.fill(node.sandbox_of(app))
    assert "for sale yet" not in startup.describe(app, ADDRESSES)


def test_a_server_of_the_sandbox_has_its_token_from_the_start(tmp_path, monkeypatch):
    monkeypatch.delenv("FLASK_RUN_FROM_CLI", raising=False)  # a command's, of another test
    served = startup.make_served(lambda: create_app(**settings(tmp_path)))
    token = Path(served.config["DATA_DIR"], "sandbox-token").read_text()
    called = served.test_client().get("/v1/orderbook", headers={"Authorization": f"Bearer {token}"})
    assert called.json == []


def test_make_run_watches_itself(app):
    said = startup.describe(app, ADDRESSES, watches=True)
    assert "for sale yet" not in said
    assert "No watcher" not in said
