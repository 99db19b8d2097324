"""When a token was last used: to the hour, and never written on a request's way."""

import time

from harness.apps import authorized_client
from harness.network import PATIENCE_SECONDS
from marketplace.hedera import times
from marketplace.services import services
from marketplace.store import access_tokens, token_usage
from marketplace.store.database import read
from tests.engines import both_engines


def last_used(app):
    with app.app_context():
        [row] = access_tokens.list_access_tokens(read())
    return row["last_used_at"]


def this_hour():
    now = times.now()
    return times.to_iso(now - now % (3600 * times.SECOND))


def listed(app):
    return app.test_cli_runner().invoke(args=["token", "list"]).output


@both_engines
def test_a_use_of_a_token_is_written_after_a_while(app, monkeypatch):
    monkeypatch.setattr(token_usage, "PAUSE_SECONDS", 0.05)
    client = authorized_client(app, "read")
    assert "  never used  expires" in listed(app)
    before = this_hour()
    assert client.get("/v1/orderbook").status_code == 200
    started = time.monotonic()
    while last_used(app) is None:
        assert time.monotonic() - started < PATIENCE_SECONDS
        time.sleep(0.02)
    assert last_used(app) in (before, this_hour())
    assert f"  last used {last_used(app)[:13]}Z  expires" in listed(app)


def test_no_request_writes(app):
    client = authorized_client(app, "read", "write")
    version = services(app).database.data_version()
    for _ in range(3):
        assert client.get("/v1/orderbook").status_code == 200
        assert client.post("/v1/add", json={}).status_code == 422
    assert services(app).database.data_version() == version
    assert last_used(app) is None
    assert token_usage.usage(app).write()
    assert last_used(app) is not None


@both_engines
def test_a_cached_answer_is_a_use_of_a_token(app):
    client = authorized_client(app, "read")
    noted = token_usage.usage(app)
    client.get("/v1/orderbook")
    assert noted.write()
    with app.app_context(), services(app).database.write() as db:
        db.execute("UPDATE access_token SET last_used_at = NULL")
    client.get("/v1/orderbook")
    noted._hours.clear()  # as in the next hour
    client.get("/v1/orderbook")
    assert noted.write()
    assert last_used(app) is not None


@both_engines
def test_a_failed_request_is_no_use_of_a_token(app):
    authorized_client(app, "read")
    app.test_client().get("/v1/orderbook", headers={"Authorization": "Bearer wrong"})
    assert token_usage.usage(app).write()
    assert last_used(app) is None


@both_engines
def test_an_earlier_use_replaces_no_later_one(app):
    authorized_client(app, "read").get("/v1/orderbook")
    token_usage.usage(app).write()
    used_at = last_used(app)
    with app.app_context(), services(app).database.write() as db:
        [row] = access_tokens.list_access_tokens(read())
        assert not access_tokens.mark_access_token_used(
            db, row["hash"], "2020-01-01T00:00:00.000000000Z"
        )
        assert not access_tokens.mark_access_token_used(db, row["hash"], used_at)
    assert last_used(app) == used_at


def test_a_locked_database_loses_nothing(app):
    client = authorized_client(app, "read")
    client.get("/v1/orderbook")
    database = services(app).database
    blocker = database._connect()
    blocker.execute("BEGIN IMMEDIATE")
    database.connection.execute("PRAGMA busy_timeout = 50")
    assert not token_usage.usage(app).write()
    blocker.close()
    assert token_usage.usage(app).write()
    assert last_used(app) is not None
