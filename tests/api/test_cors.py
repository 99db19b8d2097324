"""Browsers' dApps: pages of the named origins may call the API, and no others. The Fetch standard's CORS."""

import re
from pathlib import Path

import pytest

from harness.apps import authorized_client, on_testnet, settings
from harness.cast import TOKEN
from marketplace import create_app
from marketplace.api import limits
from marketplace.services import services
from tests.answers import assert_error

DAPP = "https://dapp.example"
LOCAL = "http://[::1]:3000"
JSON = {"content_type": "application/json"}
NFT = {"tokenId": "0.0.7008", "serialNo": 7}
METHODS = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"
PREFLIGHT = {
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization, content-type, if-none-match",
}


def serve(folder, origins, **more):
    return create_app(CORS_ORIGINS=origins, **settings(folder), **more)


EXPOSED_BY_SANDBOX = "ETag, Link, Retry-After, X-Request-ID"
EXPOSED = "ETag, Link, Retry-After, WWW-Authenticate, X-Events-Cursor, X-Request-ID"
SANDBOX = [
    ("POST", "/sandbox/sign", {"json": {}}, 422),
    ("POST", "/sandbox/decode", {"data": "{", "content_type": "application/json"}, 400),
    ("POST", "/sandbox/transactions", {"data": b" " * 70_000, **JSON}, 413),
    ("POST", "/sandbox/transfers", {"json": {**NFT, "accountId": "0.0.2002"}}, 200),
    ("DELETE", "/sandbox/transactions", {}, 405),
    ("GET", "/sandbox", {}, 404),
    ("GET", "/sandbox/api/v1/tokens/invalid", {}, 400),
    ("GET", "/sandbox/api/v1/accounts/0.0.1001", {}, 200),
    ("HEAD", "/sandbox/api/v1/blocks", {}, 200),
    ("GET", "/sandbox/ipfs/bafkqacbqfyyc4nzqga3q/7.json", {}, 200),
    ("GET", "/sandbox/openapi.json", {}, 200),
]


@pytest.fixture
def app(tmp_path):
    return serve(tmp_path, f"{DAPP}, {LOCAL}")


def granted(response):
    return {
        name.removeprefix("Access-Control-"): value
        for name, value in response.headers.items()
        if name.startswith("Access-Control-")
    }


def preflight(client, path="/v1/add", origin=DAPP, method="POST", **more):
    """What a browser is granted that asks before it sends a request."""
    asked = {"Origin": origin, **PREFLIGHT, "Access-Control-Request-Method": method, **more}
    r = client.options(path, headers=asked)
    assert r.status_code == 204 or not granted(r), path
    return r


def test_a_preflight_asks_for_no_token(app):
    for path in ("/v1/add", "/v1/list/extwallet", "/v1/comingsoon"):
        r = preflight(app.test_client(), path)
        assert granted(r) == {
            "Allow-Origin": DAPP,
            "Allow-Headers": "authorization, content-type, if-none-match",
            "Allow-Methods": METHODS,
            "Expose-Headers": EXPOSED,
            "Max-Age": "3600",
        }
        assert "Origin" in r.headers["Vary"]


@pytest.mark.parametrize("origin", [DAPP, LOCAL])
def test_a_page_may_read_answers(app, origin):
    r = authorized_client(app, "read").get("/v1/orderbook", headers={"Origin": origin})
    assert r.json == []
    assert granted(r) == {"Allow-Origin": origin, "Expose-Headers": EXPOSED}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        *(
            ("GET", f"/v1{path}", 404)
            for path in ("", "/", "/nowhere", "/nft/0.0.1", "//orderbook")
        ),
        *((method, "/v1/add", 405) for method in ("PUT", "PATCH", "DELETE")),
    ],
)
def test_a_page_reads_that_there_is_nothing_or_no_such_method(app, method, path, status):
    client = app.test_client()
    allowed = granted(preflight(client, path, method=method))
    assert (allowed["Allow-Origin"], allowed["Allow-Methods"]) == (DAPP, METHODS)
    r = client.open(path, method=method, headers={"Origin": DAPP})
    assert_error(r, status)
    assert granted(r)["Allow-Origin"] == DAPP


def test_a_page_of_the_internet_may_call_a_service_of_the_users_own_network(app):
    """Chrome's private network access: the preflight asks for it by name."""
    asked, client = {"Access-Control-Request-Private-Network": "true"}, app.test_client()
    for path in ("/v1/add", "/sandbox/transactions"):
        assert granted(preflight(client, path, **asked))["Allow-Private-Network"] == "true"
    assert not granted(preflight(client, origin="https://evil.example", **asked))


def test_an_options_that_is_no_preflight_is_a_request_like_others(app):
    client = app.test_client()
    assert "POST" in client.options("/v1/add").headers["Allow"]
    assert_error(client.options("/v1/nowhere"), 404)


def test_a_page_reads_every_refusal_and_failure(tmp_path, monkeypatch):
    """The layers in front have a hand in some; that no room is left for a write is in test_waiting.py."""
    monkeypatch.setattr(limits, "FAILED_LIMIT", "1/h")
    app = serve(tmp_path, DAPP, WRITE_LIMIT="1/h")

    @app.get("/v1/broken")
    def broken():
        raise RuntimeError

    client = authorized_client(app, "read", "write")

    def refused(status, *arguments, **options):
        r = client.open(*arguments, headers={"Origin": DAPP}, **options)
        assert_error(r, status)
        assert granted(r)["Allow-Origin"] == DAPP
        assert granted(r)["Expose-Headers"] == EXPOSED

    refused(422, "/v1/orderbook?limit=21")
    refused(415, "/v1/add", method="POST", data="{}")
    refused(429, "/v1/add", method="POST", json={})
    token = client.environ_base.pop("HTTP_AUTHORIZATION")
    refused(401, "/v1/orderbook")
    refused(429, "/v1/orderbook")
    client.environ_base["HTTP_AUTHORIZATION"] = token

    refused(500, "/v1/broken")
    Path(app.config["DATABASE_URL"]).write_bytes(b"no database" * 1000)
    services(app).database.close()
    refused(503, "/v1/orderbook")


def test_images_are_for_pages_of_any_origin(client, nft):
    """A canvas, and three.js, ask for them with an origin, whatever CORS_ORIGINS names."""
    path = client.get(f"/v1/nft/{TOKEN}/7").json["imageUrl"].removeprefix("http://127.0.0.1:8000")
    for address in (path, "/media/placeholder.webp"):
        with client.get(address, headers={"Origin": "https://any.example"}) as r:
            assert (r.status_code, r.headers["Access-Control-Allow-Origin"]) == (200, "*")


def test_only_the_api_its_document_and_the_status_are_opened(app):
    client = app.test_client()
    for path in ("/v1/orderbook", "/openapi.json", "/status"):
        assert granted(client.get(path, headers={"Origin": DAPP})), path
    for path in ("/reference", "/", "/statusx", "/v1x", "/metrics"):
        with client.get(path, headers={"Origin": DAPP}) as r:
            assert not granted(r), path
        assert not granted(preflight(client, path)), path


@pytest.mark.parametrize("prefix", ["", "/market", "/demo"])
def test_no_page_of_another_origin_reads_the_sandboxs_token(tmp_path, prefix):
    app = create_app(API_PREFIX=prefix, **settings(tmp_path))
    client = app.test_client()
    wants_page = {"Origin": "https://evil.example", "Accept": "text/html"}
    known = {re.sub("<[^>]*>", "x", rule.rule) for rule in app.url_map.iter_rules()}
    below = ("/v1", "/v1/", "/v1/x", "/v1//", "/openapi.json/", "/media", "/media/x", "/status/x")
    unknown = {start + path for path in below for start in ("", prefix)}
    assert client.get("/").status_code == 200  # which makes the token
    token = (tmp_path / "sandbox-token").read_text()
    for path in known | unknown | {"/nowhere", "/v1%2f", "/sandbox", "/sandbox/x", "/api/v1/x"}:
        for method in ("GET", "POST"):
            with client.open(path, method=method, headers=wants_page) as r:
                assert token not in r.text or not granted(r), path


@pytest.mark.parametrize(
    "origin",
    [
        "https://dapp.example.evil.example",
        "http://dapp.example",
        "https://dapp.example:8443",
        "null",
    ],
)
def test_it_allows_no_other_origin(app, origin):
    client = app.test_client()
    assert not granted(client.get("/status", headers={"Origin": origin}))
    assert not granted(preflight(client, origin=origin))
    assert not granted(client.get("/status"))  # a call from no page


def test_it_is_off_by_default(tmp_path):
    client = on_testnet(tmp_path).test_client()
    assert not granted(client.get("/status", headers={"Origin": DAPP}))
    assert not granted(preflight(client))


def test_in_the_sandbox_a_dapp_under_development_needs_no_setting(tmp_path):
    client = create_app(**settings(tmp_path)).test_client()
    origin = {"Origin": "http://localhost:5173"}
    shown = granted(client.get("/status", headers=origin))
    assert shown["Allow-Origin"] == "*" and "Allow-Credentials" not in shown
    asked = granted(preflight(client, origin=origin["Origin"]))
    assert asked["Allow-Origin"] == "*"
    assert asked["Allow-Headers"] == PREFLIGHT["Access-Control-Request-Headers"]
    for path in ("/", "/list"):  # they hold the sandbox's token
        assert not granted(client.get(path, headers=origin))


@pytest.mark.parametrize("origin", [DAPP, "https://any.example", "null"])
def test_the_sandbox_may_be_called_from_any_page(app, origin):
    client, headers = app.test_client(), {"Origin": origin}
    for method, path, options, status in SANDBOX:
        allowed = granted(preflight(client, path, origin, method))
        assert (allowed["Allow-Origin"], allowed["Allow-Methods"]) == ("*", METHODS), path
        r = client.open(path, method=method, headers=headers, **options)
        assert r.status_code == status, r.text
        assert granted(r) == {"Allow-Origin": "*", "Expose-Headers": EXPOSED_BY_SANDBOX}, path


def test_the_sandboxs_artwork_is_a_scripts_after_it_was_an_images(app):
    """A browser keeps what an <img> loaded, and gives it to a script that names its origin."""
    r = app.test_client().get("/sandbox/ipfs/bafkqacbqfyyc4nzqga3q/7.png")
    assert "immutable" in r.headers["Cache-Control"]
    assert granted(r)["Allow-Origin"] == "*"


def test_it_follows_the_api_prefix(tmp_path):
    client = serve(tmp_path, DAPP, API_PREFIX="/api").test_client()
    assert granted(preflight(client, "/api/v1/add"))
    assert granted(client.get("/api/openapi.json", headers={"Origin": DAPP}))
