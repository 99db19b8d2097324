"""/status tells ready from alive: whether the service answers, and whether it should be asked."""

import pytest

from marketplace.api import status
from marketplace.hedera import times
from marketplace.store import properties
from marketplace.store.database import write
from tests.conftest import assert_error
from tests.engines import move_database


@pytest.fixture
def client(app):
    return app.test_client()


def finish_round(app, seconds_ago):
    with app.app_context(), write() as db:
        finished = times.to_iso(times.now() - seconds_ago * times.SECOND)
        properties.mark_job_finished(db, "sync", finished)


@pytest.mark.parametrize("query", ["?ready", "?ready=1", ""])
def test_it_is_ready_without_a_watcher_where_nothing_else_was_set(client, query):
    answer = client.get(f"/status{query}")
    assert answer.status_code == 200
    assert answer.json["database"] == "reachable"


def test_an_order_book_that_is_too_old_is_not_ready(app, client):
    assert_error(client.get("/status?ready&maxAge=600"), 503, "never followed")
    finish_round(app, 700)
    assert_error(client.get("/status?ready&maxAge=600"), 503, "70", "s ago", "within 600 s")
    assert client.get("/status").status_code == 200
    assert client.get("/status?alive").status_code == 200
    finish_round(app, 10)
    assert client.get("/status?ready&maxAge=600").status_code == 200


@pytest.mark.once("its folders")
def test_a_full_disk_is_not_ready(client, monkeypatch):
    monkeypatch.setattr(status, "MIN_FREE_BYTES", 10**18)
    answer = client.get("/status?ready")
    assert_error(answer, 503, "the disk of MARKETPLACE_DATABASE_URL is full")
    assert answer.headers["Retry-After"] == "30"
    assert client.get("/status").status_code == 200


@pytest.mark.once("its file")
def test_it_is_alive_without_its_database(client, tmp_path):
    move_database(tmp_path / "marketplace.db", tmp_path / "elsewhere.db")
    assert_error(client.get("/status?ready"), 503, "vanished")
    assert_error(client.get("/status"), 503, "vanished")
    answer = client.get("/status?alive")
    assert answer.status_code == 200
    assert answer.json["database"] == "not asked"
    (tmp_path / "elsewhere.db").rename(tmp_path / "marketplace.db")
    assert client.get("/status?ready").status_code == 200
