"""The names that the sandbox answers to: a rebound name reads no page, and uses no token."""

import pytest

from harness.apps import on_testnet, settings
from marketplace import create_app

OWN = [
    "localhost",
    "app.localhost:8000",
    "127.0.0.1:8000",
    "[::1]:8000",
    "10.0.0.7",
    "service:8000",
    "",
]
FOREIGN = [
    "evil.example",
    "evil.example:8000",
    "127.0.0.1.evil.example",
    "127.0.0.1@evil.example",
    "evil.example#localhost",
    "[::1",
]


@pytest.mark.parametrize("host", OWN)
@pytest.mark.parametrize("path", ["/", "/status", "/sandbox/api/v1/blocks"])
def test_it_answers_to_its_own_names(idle_client, host, path):
    r = idle_client.get(path, headers={"Host": host}, follow_redirects=False)
    assert r.status_code in (200, 302, 308)


@pytest.mark.parametrize("host", FOREIGN)
@pytest.mark.parametrize("path", ["/", "/status", "/v1/orderbook", "/sandbox/api/v1/blocks"])
def test_it_refuses_foreign_names(idle_client, host, path):
    for cached in ("/v1/network", path):
        idle_client.get(cached)
        r = idle_client.get(path, headers={"Host": host})
        assert (r.status_code, r.json["code"], r.json["reason"]) == (421, 421, "BAD_HOST")
        assert "does not answer to" in r.json["message"]
        assert "MARKETPLACE_PUBLIC_URL" in r.json["message"]


def test_it_answers_to_its_public_url(tmp_path):
    own = settings(tmp_path) | {"PUBLIC_URL": "https://market.example"}
    client = create_app(**own).test_client()
    for host, status in (("market.example", 200), ("market.example:80", 200), ("x.example", 421)):
        assert client.get("/status", headers={"Host": host}).status_code == status


def test_the_name_that_a_trusted_proxy_tells_counts(tmp_path):
    client = create_app(**settings(tmp_path), TRUSTED_PROXIES="1").test_client()
    headers = {"Host": "localhost", "X-Forwarded-Host": "evil.example"}
    assert client.get("/status", headers=headers).status_code == 421


def test_a_real_network_answers_to_any_name(tmp_path):
    client = on_testnet(tmp_path).test_client()
    assert client.get("/status", headers={"Host": "x.example"}).status_code == 200
