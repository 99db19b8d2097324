"""A network that was reset is reported as that, and one command begins with an empty market."""

import pytest

from harness.apps import authorized_client, on_testnet
from harness.cast import TOKEN
from marketplace.errors import NetworkReset
from marketplace.hedera import times
from marketplace.market import collection_facts
from marketplace.services import read, services
from marketplace.store import access_tokens
from tests.engines import both_engines
from tests.metrics import scrape


def count(app, table):
    with app.app_context():
        return read().execute(f"SELECT COUNT(*) AS n FROM {table}").fetchone()["n"]


def assert_reported(app, client, watcher, words):
    """As that, and not as lag for ever."""
    with pytest.raises(NetworkReset, match=words):
        watcher.read()
    assert words in client.get("/status").json["networkReset"]
    assert scrape(authorized_client(app, "metrics"))["marketplace_network_reset",] == 1
    shown = app.test_cli_runner().invoke(args=["status"]).output
    assert "The mirror node shows another ledger" in shown and "reset-network" in shown


def assert_followed(app, client, watcher):
    watcher.read()
    assert client.get("/status").json["networkReset"] is None
    assert scrape(authorized_client(app, "metrics"))["marketplace_network_reset",] == 0


@both_engines
def test_a_block_that_is_older_than_what_was_followed(app, client, watcher, mirror):
    assert_followed(app, client, watcher)
    mirror.set_present(times.now() - 2 * times.HOUR)
    watcher.restart()
    assert_reported(app, client, watcher, "its newest block is of")
    mirror.heal()
    watcher.restart()
    assert_followed(app, client, watcher)


def test_replicas_that_lag_are_no_reset(app, client, watcher, mirror):
    mirror.set_present(times.now() - 10 * times.MINUTE)
    watcher.restart()
    assert_followed(app, client, watcher)


def forget(document):
    document.clear()
    document["_status"] = {"messages": [{"message": "Not found"}]}


@both_engines
def test_a_ledger_that_knows_none_of_the_tokens(app, client, watcher, nft, mirror):
    with app.app_context():
        assert collection_facts.refresh(TOKEN)
    watcher.restart()
    assert_followed(app, client, watcher)
    mirror.alter(f"/tokens/{TOKEN}$", forget, status=404)
    watcher.read()  # it looks every ten minutes
    watcher.restart()
    assert_reported(app, client, watcher, f"it knows no token of {TOKEN}")
    mirror.heal()
    assert_followed(app, client, watcher)


@both_engines
def test_the_command_keeps_tokens_and_nothing_of_the_old_ledger(app, client, listed):
    before = client.get("/v1/orderbook").headers["X-Events-Cursor"]
    ended = app.test_cli_runner().invoke(args=["reset-network"], input="n\n")
    assert ended.exit_code == 1 and count(app, "nft") == 1
    ended = app.test_cli_runner().invoke(args=["reset-network", "--yes"])
    assert ended.exit_code == 0, ended.output
    assert "the old content is in" in ended.output
    for table in ("nft", "collection", "event", "follow", "recheck", "prepared_transaction"):
        assert count(app, table) == 0
    assert client.get("/v1/orderbook").json == []
    assert client.get(f"/v1/events?after={before}").status_code == 410
    assert (
        client.post(
            "/v1/add", json={"accountId": "0.0.1001", "tokenId": TOKEN, "serialNo": 7}
        ).status_code
        == 200
    )


@both_engines
def test_a_new_account_is_stored(tmp_path):
    app = on_testnet(tmp_path)
    with app.app_context():
        access_tokens.create("kept", ("read",), None)
    ended = app.test_cli_runner().invoke(args=["reset-network", "--yes", "--account-id", "0.0.99"])
    assert ended.exit_code == 0, ended.output
    assert "Set MARKETPLACE_ACCOUNT_ID=0.0.99" in ended.output
    services(app).database.close()
    again = on_testnet(tmp_path, ACCOUNT_ID="0.0.99")
    assert count(again, "access_token") == 1
    services(again).database.close()


def test_mainnet_is_never_reset(tmp_path):
    app = on_testnet(tmp_path, NETWORK="mainnet")
    ended = app.test_cli_runner().invoke(args=["reset-network", "--yes"])
    assert ended.exit_code == 1 and "mainnet is never reset" in ended.stderr
    services(app).database.close()
