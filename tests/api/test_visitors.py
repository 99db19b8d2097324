"""Visitors: pages of the service call the API with a token that is signed and not stored."""

import pytest

from harness.apps import on_testnet, settings
from harness.cast import SHOP
from marketplace import create_app
from marketplace.errors import StartRefused
from marketplace.hedera import times
from marketplace.services import write
from marketplace.store import properties
from tests.answers import assert_error
from tests.engines import both_engines


@pytest.fixture
def shop(tmp_path):
    return on_testnet(tmp_path, **SHOP, WRITE_LIMIT="3/h")


def ask_for_token(app):
    response = app.test_client().get("/visitor-token")
    assert response.headers["Cache-Control"] == "no-store"
    return response.json["token"]


def call(app, method, path, token, address="192.0.2.1", **headers):
    headers["Authorization"] = f"Bearer {token}"
    options = {"json": {}} if method == "POST" else {}
    environ = {"REMOTE_ADDR": address}
    client = app.test_client()
    return client.open(path, method=method, headers=headers, environ_overrides=environ, **options)


def read(app, token):
    return call(app, "GET", "/v1/orderbook", token)


def write_something(app, token, address):
    """A write that the service lets through, and refuses for its body."""
    return call(app, "POST", "/v1/add", token, address)


@both_engines
def test_a_visitor_reads_and_writes_for_an_hour(shop, monkeypatch):
    token = ask_for_token(shop)
    assert read(shop, token).json == []
    assert write_something(shop, token, "192.0.2.1").status_code == 422
    assert_error(call(shop, "GET", "/metrics", token), 403, 'lacks the scope "metrics"')

    now = times.now()
    monkeypatch.setattr(times, "now", lambda: now + times.HOUR)
    assert_error(read(shop, token), 401, "This access token expired at")
    assert read(shop, ask_for_token(shop)).status_code == 200


@both_engines
def test_all_machines_accept_the_token_and_no_other_service_does(tmp_path, shop):
    token = ask_for_token(shop)
    assert read(on_testnet(tmp_path, **SHOP), token).status_code == 200
    other = on_testnet(tmp_path / "other", **SHOP)
    assert_error(read(other, token), 401, "is unknown")
    assert ask_for_token(other) != token
    assert_error(read(other, token), 401, "is unknown")


def test_it_rejects_a_token_that_was_changed(shop):
    token = ask_for_token(shop)
    number = token.removeprefix("nftv_").partition(".")[0]
    for changed in (token.replace(number, str(int(number) + times.DAY)), token[:-1], "nftv_"):
        assert_error(read(shop, changed), 401, "is unknown")


@both_engines
def test_a_new_secret_ends_all_tokens_at_once(shop):
    token = ask_for_token(shop)
    assert read(shop, token).status_code == 200
    with shop.app_context(), write() as db:
        properties.mark_property(db, properties.VISITORS_SECRET, b"another")
    assert_error(read(shop, token), 401, "is unknown")


def test_visitors_are_limited_by_their_addresses_alone(shop):
    token = ask_for_token(shop)
    for _ in range(3):
        assert write_something(shop, token, "192.0.2.1").status_code == 422
    r = write_something(shop, token, "192.0.2.1")
    assert_error(r, 429, "The address 192.0.2.1 may write 3 times an hour")
    assert write_something(shop, token, "192.0.2.2").status_code == 422


def test_a_page_of_another_origin_gets_no_token(tmp_path):
    app = on_testnet(tmp_path, **SHOP, CORS_ORIGINS="https://dapp.example")
    r = app.test_client().get("/visitor-token", headers={"Origin": "https://dapp.example"})
    assert "Access-Control-Allow-Origin" not in r.headers
    r = call(app, "GET", "/v1/orderbook", r.json["token"], Origin="https://evil.example")
    assert "Access-Control-Allow-Origin" not in r.headers


def test_without_a_storefront_there_are_no_visitors(tmp_path, shop):
    token = ask_for_token(shop)
    app = on_testnet(tmp_path)
    assert app.test_client().get("/visitor-token").status_code == 404
    assert_error(read(app, token), 401, "is unknown")


def test_the_sandbox_always_has_its_pages(tmp_path):
    with pytest.raises(StartRefused, match="STOREFRONT is off, but the sandbox"):
        create_app(STOREFRONT="off", **settings(tmp_path))


def test_no_access_token_is_called_as_visitors_are(shop):
    result = shop.test_cli_runner().invoke(args=["token", "create", "visitors"])
    assert result.exit_code == 1
    assert "stands for all visitors" in result.output
