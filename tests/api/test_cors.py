"""Browsers' dApps: pages of the named origins may call the API, and no others. The Fetch standard's CORS."""

import pytest

from marketplace import create_app
from tests.conftest import assert_error, authorized_client, settings

pytestmark = pytest.mark.once("headers alone")

DAPP = "https://dapp.example"
LOCAL = "http://[::1]:3000"
PREFLIGHT = {
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization, content-type, if-none-match",
}


def serve(folder, origins, **more):
    return create_app(CORS_ORIGINS=origins, **settings(folder), **more)


@pytest.fixture
def app(tmp_path):
    return serve(tmp_path, f"{DAPP}, {LOCAL}")


def granted(response):
    return {
        name.removeprefix("Access-Control-"): value
        for name, value in response.headers.items()
        if name.startswith("Access-Control-")
    }


def test_a_preflight_asks_for_no_token(app):
    for path in ("/v1/add", "/v1/list/extwallet", "/v1/comingsoon"):
        r = app.test_client().options(path, headers={"Origin": DAPP, **PREFLIGHT})
        assert r.status_code == 200
        assert granted(r) == {
            "Allow-Origin": DAPP,
            "Allow-Headers": "authorization, content-type, if-none-match",
            "Allow-Methods": "GET, HEAD, POST",
            "Expose-Headers": "ETag, Link, Retry-After, WWW-Authenticate, X-Request-ID",
            "Max-Age": "3600",
        }
        assert "Origin" in r.headers["Vary"]


def test_a_page_may_read_answers_and_refusals(app):
    client = authorized_client(app, "read")
    r = client.get("/v1/orderbook", headers={"Origin": DAPP})
    assert r.json == []
    assert granted(r)["Allow-Origin"] == DAPP
    r = client.post("/v1/add", json={}, headers={"Origin": DAPP})
    assert_error(r, 403)
    assert granted(r)["Allow-Origin"] == DAPP
    assert "WWW-Authenticate" in granted(r)["Expose-Headers"]
    assert "Allow-Credentials" not in granted(r)


def test_only_the_api_its_document_and_the_status_are_opened(app):
    client = app.test_client()
    for path in ("/v1/orderbook", "/openapi.json", "/status"):
        assert granted(client.get(path, headers={"Origin": DAPP})), path
    for path in ("/reference", "/", "/media/placeholder.webp", "/statusx", "/sandbox/openapi.json"):
        with client.get(path, headers={"Origin": DAPP}) as r:
            assert not granted(r), path


@pytest.mark.parametrize(
    "origin",
    [
        "https://dapp.example.evil.example",
        "https://dappxexample",
        "http://dapp.example",
        "https://dapp.example:8443",
        "https://evil.example",
        "http://:",
        "null",
    ],
)
def test_another_origin_is_let_in_nowhere(app, origin):
    client = app.test_client()
    assert not granted(client.get("/status", headers={"Origin": origin}))
    assert not granted(client.options("/v1/add", headers={"Origin": origin, **PREFLIGHT}))


def test_an_ipv6_origin_is_an_address_and_no_pattern(app):
    r = app.test_client().get("/status", headers={"Origin": LOCAL})
    assert granted(r)["Allow-Origin"] == LOCAL


def test_a_call_from_no_page_gets_no_such_header(app):
    assert not granted(app.test_client().get("/status"))


def test_it_is_off_by_default(tmp_path):
    client = create_app(**settings(tmp_path)).test_client()
    assert not granted(client.get("/status", headers={"Origin": DAPP}))
    assert not granted(client.options("/v1/add", headers={"Origin": DAPP, **PREFLIGHT}))


def test_it_may_be_open_to_every_page(tmp_path):
    r = serve(tmp_path, "*").test_client().get("/status", headers={"Origin": "https://any.example"})
    assert granted(r)["Allow-Origin"] == "*"
    assert "Allow-Credentials" not in granted(r)


def test_it_follows_the_api_prefix(tmp_path):
    client = serve(tmp_path, DAPP, API_PREFIX="/api").test_client()
    assert granted(client.options("/api/v1/add", headers={"Origin": DAPP, **PREFLIGHT}))
    assert granted(client.get("/api/openapi.json", headers={"Origin": DAPP}))
