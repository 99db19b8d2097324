"""What the operator decided outlives a restore, a move to PostgreSQL, and a rebuild."""

import json

import pytest

from harness.apps import authorized_client, settings
from harness.cast import ALICE, BOB, TOKEN
from harness.postgresql import new_database
from harness.serving import run_flask
from marketplace import create_app
from marketplace.services import services

NFT = f"{TOKEN}:7"


@pytest.fixture
def run(app, tmp_path):
    """Run a command while no service is up; returns what it prints."""

    def run(*words):
        services(app).database.close()
        result = run_flask(tmp_path, *words)
        assert result.exit_code == 0, result.output
        return result.output

    return run


def list_decided(run):
    return {
        (row["kind"], row["what"], row["reason"]) for row in json.loads(run("hidden", "--json"))
    }


DECIDED = {("hidden", NFT, "stolen"), ("blocked", BOB, "fraud"), ("verified", TOKEN, "known")}


def decide(run):
    run("hide", NFT, "--reason", "stolen")
    run("block", BOB, "--reason", "fraud")
    run("verify", TOKEN, "--reason", "known")
    assert list_decided(run) == DECIDED


def assert_kept(client):
    assert client.get(f"/v1/nft/{TOKEN}/7").status_code == 451
    assert client.get("/v1/orderbook").json == []
    assert client.get(f"/v1/collection/{TOKEN}").json["verified"]


def test_a_restore_keeps_what_was_decided_since_the_backup(client, run, listed, tmp_path):
    run("backup", str(tmp_path / "before.db"))
    decide(run)
    since = json.loads(run("hidden", "--json"))
    run("backup", str(tmp_path / "after.db"))
    assert "Still hidden: 0.0.7001:7" in run("restore", str(tmp_path / "before.db"))
    assert json.loads(run("hidden", "--json")) == since
    assert_kept(client)
    run("unhide", NFT)
    assert "Still" not in run("restore", str(tmp_path / "after.db"))
    assert list_decided(run) == DECIDED
    assert_kept(client)


def test_a_move_to_postgresql_takes_it_along(run, listed, tmp_path):
    decide(run)
    with new_database() as url:
        run("move", url)
        app = create_app(**settings(tmp_path) | {"DATABASE_URL": url})
        assert_kept(authorized_client(app, "read"))
        services(app).database.close()


def test_a_rebuild_of_a_stored_collection_keeps_it(client, run, listed):
    run("hide", TOKEN, "--reason", "spam")
    run("block", ALICE, "--reason", "fraud")
    run("rebuild", TOKEN)
    assert client.get("/v1/orderbook").json == []
    run("unhide", TOKEN)
    nft = client.get(f"/v1/nft/{TOKEN}/7").json
    assert not nft["isForSale"]
    run("unblock", ALICE)
    assert len(client.get("/v1/orderbook").json) == 1
