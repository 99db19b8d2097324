"""/status tells ready from alive: whether the service answers, and whether it should be asked."""

from contextlib import closing

import pytest

from harness.engines import move_database
from marketplace.api import status
from marketplace.errors import LedgerUnreachable
from marketplace.hedera import times
from marketplace.market import freshness
from marketplace.services import write
from marketplace.store import following, properties
from marketplace.watcher.follow import Follower
from marketplace.watcher.sweep import Sweep
from tests.answers import assert_error
from tests.engines import both_engines


@pytest.fixture
def client(app):
    return app.test_client()


def finish_round(app, seconds_ago):
    with app.app_context(), write() as db:
        finished = times.to_iso(times.now() - seconds_ago * times.SECOND)
        properties.mark_property(db, properties.LAST_SWEEP, finished.encode())


@pytest.mark.parametrize("query", ["?ready", "?ready=1", ""])
def test_it_is_ready_without_a_watcher_where_nothing_else_was_set(client, query):
    answer = client.get(f"/status{query}")
    assert answer.status_code == 200
    assert answer.json["database"] == "reachable"


def test_an_order_book_that_is_too_old_is_not_ready(app, client):
    assert_error(client.get("/status?ready&maxAge=600"), 503, "never followed")
    finish_round(app, 700)
    assert_error(client.get("/status?ready&maxAge=600"), 503, "79", "s ago", "within 600 s")
    assert client.get("/status").status_code == 200
    assert client.get("/status?alive").status_code == 200
    finish_round(app, 10)
    assert client.get("/status?ready&maxAge=600").status_code == 200


def follow(app, seconds_ago):
    then = times.to_iso(times.now() - seconds_ago * times.SECOND)
    with app.app_context(), write() as db:
        following.mark_followed_from(db, then, then)


def test_a_date_in_the_future_hides_no_dead_watcher(app, client):
    """Of a clock that was ahead for a while: /status was ready, and no alert came, until that date."""
    follow(app, -3600)
    finish_round(app, -7200)
    assert client.get("/status").json["watcher"] == "silent"
    assert client.get("/status").json["lastSync"] is None
    assert_error(client.get("/status?ready&maxAge=600"), 503, "never followed")
    follow(app, 700)
    assert_error(client.get("/status?ready&maxAge=600"), 503, "70", "s ago")
    follow(app, 10)
    assert client.get("/status?ready&maxAge=600").status_code == 200
    assert client.get("/status").json["watcher"] == "running"


def test_a_sweep_does_not_wait_for_a_date_in_the_future(app):
    follow(app, 10)
    finish_round(app, -7200)
    with app.app_context(), closing(Sweep(app)) as sweep:
        while sweep.step() == 0:
            pass
        assert times.to_iso(times.now() - times.HOUR) < freshness.find_last_sweep()
        assert freshness.find_last_sweep() < times.to_iso(times.now())


def test_a_sweep_of_nothing_waits_for_a_ledger_that_does_not_answer(app, mirror):
    follow(app, 10)
    mirror.fail("/")
    with app.app_context(), closing(Sweep(app)) as sweep:
        with pytest.raises(LedgerUnreachable):
            sweep.step()
        assert not freshness.find_last_sweep()
        mirror.heal()
        while sweep.step() == 0:
            pass
        assert freshness.find_last_sweep()


def test_a_full_disk_is_not_ready(client, monkeypatch):
    monkeypatch.setattr(status, "MIN_FREE_BYTES", 10**18)
    answer = client.get("/status?ready")
    assert_error(answer, 503, "the disk of MARKETPLACE_DATABASE_URL is full")
    assert answer.headers["Retry-After"] == "30"
    assert client.get("/status").status_code == 200


def test_it_is_alive_without_its_database(client, tmp_path):
    move_database(tmp_path / "marketplace.db", tmp_path / "elsewhere.db")
    assert_error(client.get("/status?ready"), 503, "vanished")
    assert_error(client.get("/status"), 503, "vanished")
    answer = client.get("/status?alive")
    assert answer.status_code == 200
    assert answer.json["database"] == "not asked"
    (tmp_path / "elsewhere.db").rename(tmp_path / "marketplace.db")
    assert client.get("/status?ready").status_code == 200


@both_engines
def test_it_shows_how_old_the_newest_block_is(app, client):
    """A mirror node that stands still answers as before: only the age of its newest block tells."""
    assert client.get("/status").json["newestBlockAge"] is None
    with app.app_context():
        follower = Follower()
        follower.step()
        follower.step()
        assert 0 <= client.get("/status").json["newestBlockAge"] < 60
        an_hour_ago = times.to_iso(times.now() - times.HOUR).encode()
        with write() as db:
            properties.mark_property(db, properties.NEWEST_BLOCK, an_hour_ago)
    assert 3600 <= client.get("/status").json["newestBlockAge"] < 3700
    assert client.get("/status?alive").json["newestBlockAge"] is None
