"""When a token was last used: the day, which its first request of the day stores after its answer."""

from harness.apps import authorized_client
from marketplace.hedera import times
from marketplace.services import read, services
from marketplace.store import access_tokens
from tests.engines import both_engines


def last_used(app):
    with app.app_context():
        [row] = access_tokens.list_access_tokens(read())
    return row["last_used_at"]


def set_last_used(app, used_at):
    with app.app_context(), services(app).database.write() as db:
        db.execute("UPDATE access_token SET last_used_at = :used_at", {"used_at": used_at})


def last_written(app):
    """What each write of a token changes. On PostgreSQL, data_version() counts other databases, too."""
    if not app.config["DATABASE_URL"].startswith("postgresql"):
        return services(app).database.data_version()
    with app.app_context():
        return read().execute("SELECT xmin FROM access_token").fetchone()["xmin"]


def today():
    return times.to_iso(times.now() // times.DAY * times.DAY)


def listed(app):
    return app.test_cli_runner().invoke(args=["token", "list"]).output


@both_engines
def test_the_first_use_of_a_day_is_stored(app):
    client = authorized_client(app, "read")
    assert "  never used  expires" in listed(app)
    client.get("/v1/orderbook").close()
    assert last_used(app) == today()
    assert f"  last used {last_used(app)[:10]}  expires" in listed(app)
    written = last_written(app)
    for _ in range(3):
        client.get("/v1/orderbook").close()
        client.post("/v1/add", json={}).close()
    assert last_written(app) == written


@both_engines
def test_a_cached_answer_is_a_use_on_the_next_day(app, monkeypatch):
    client = authorized_client(app, "read")
    for _ in range(3):
        client.get("/v1/orderbook").close()
    tomorrow = times.now() + times.DAY
    monkeypatch.setattr(times, "now", lambda: tomorrow)
    client.get("/v1/orderbook").close()
    assert last_used(app) == today()


@both_engines
def test_a_failed_request_is_no_use_of_a_token(app):
    authorized_client(app, "read")
    app.test_client().get("/v1/orderbook", headers={"Authorization": "Bearer wrong"}).close()
    assert last_used(app) is None


@both_engines
def test_an_earlier_use_replaces_no_later_one(app):
    client = authorized_client(app, "read")
    set_last_used(app, "2099-01-01T00:00:00.000000000Z")
    client.get("/v1/orderbook").close()
    assert last_used(app) == "2099-01-01T00:00:00.000000000Z"


def test_a_locked_database_delays_no_answer(app, monkeypatch):
    monkeypatch.setattr("marketplace.store.sqlite_files.BUSY_TIMEOUT_SECONDS", 0.05)
    client = authorized_client(app, "read")
    with services(app).database.write():
        r = client.get("/v1/orderbook")
        assert r.status_code == 200
        r.close()
    assert last_used(app) is None
    later = times.now() + times.MINUTE
    monkeypatch.setattr(times, "now", lambda: later)
    client.get("/v1/nft/0.0.7001/9").close()
    assert last_used(app) == today()
