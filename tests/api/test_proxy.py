"""Behind proxies: their headers are believed as far as the operator says, and nobody's by default."""

import pytest

from harness.apps import settings
from marketplace import create_app
from tests.actions import list_nft

FORWARDED = {
    "X-Forwarded-For": "203.0.113.7",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "shop.example",
    "X-Forwarded-Prefix": "/market",
}


def serve(folder, trusted):
    """The service behind proxies; its authenticate() keeps what it saw of the client."""

    def authenticate(request, scope):
        seen.update(url=request.url, client=request.remote_addr)
        return True

    seen = {}
    more = {"TRUSTED_PROXIES": trusted, "PUBLIC_URL": "https://shop.example"}
    app = create_app(authenticate=authenticate, **more, **settings(folder))
    return app.test_client(), seen


@pytest.mark.parametrize(
    ("trusted", "host", "mount", "address"),
    [
        (1, "https://shop.example", "/market", "203.0.113.7"),
        (0, "http://localhost", "", "127.0.0.1"),
    ],
)
def test_a_proxy_that_strips_a_prefix_is_believed_where_it_is_trusted(
    tmp_path, trusted, host, mount, address
):
    client, seen = serve(tmp_path, trusted)
    for serial_no in (1, 2):
        list_nft(client, serialNo=serial_no)
    r = client.get("/v1/orderbook?limit=1", headers=FORWARDED)
    assert r.headers["Link"].startswith(f"<{mount}/v1/orderbook?limit=1&page=")
    assert seen == {"url": f"{host}{mount}/v1/orderbook?limit=1", "client": address}
    assert f'href="{mount}/reference"' in client.get("/", headers=FORWARDED).text
    page = client.get("/reference", headers=FORWARDED).text
    for name, path in (("document", ""), ("sandbox", "/sandbox")):
        assert f'data-{name}="{mount}{path}/openapi.json"' in page
        [server] = client.get(f"{path}/openapi.json", headers=FORWARDED).json["servers"]
        assert server["url"] == f"https://shop.example{mount}{path}"


@pytest.mark.parametrize(
    ("trusted", "client_address"), [(1, "198.51.100.2"), (2, "203.0.113.7"), (3, "127.0.0.1")]
)
def test_as_many_proxies_are_believed_as_there_are(tmp_path, trusted, client_address):
    # What a client wrote itself stands further left than what the trusted proxies added.
    client, seen = serve(tmp_path, trusted)
    client.get("/v1/orderbook", headers={"X-Forwarded-For": "203.0.113.7, 198.51.100.2"})
    assert seen["client"] == client_address
