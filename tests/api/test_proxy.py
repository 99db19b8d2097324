"""Behind proxies: their headers are believed as far as the operator says, and nobody's by default."""

import pytest

from marketplace import create_app
from tests.conftest import list_nft, settings

pytestmark = pytest.mark.once("HTTP's own means")

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


def test_it_works_behind_a_proxy_that_strips_a_prefix(tmp_path):
    client, seen = serve(tmp_path, 1)
    for serial_no in (1, 2):
        list_nft(client, serialNo=serial_no)
    r = client.get("/v1/orderbook?limit=1", headers=FORWARDED)
    assert r.headers["Link"].startswith("</market/v1/orderbook?limit=1&page=")
    assert seen == {
        "url": "https://shop.example/market/v1/orderbook?limit=1",
        "client": "203.0.113.7",
    }
    assert 'href="/market/reference"' in client.get("/", headers=FORWARDED).text
    assert client.get("/openapi.json", headers=FORWARDED).json["servers"] == [
        {"url": "https://shop.example/market"}
    ]
    page = client.get("/reference", headers=FORWARDED).text
    assert 'data-document="/market/openapi.json"' in page
    assert 'data-sandbox="/market/sandbox/openapi.json"' in page
    document = client.get("/sandbox/openapi.json", headers=FORWARDED).json
    assert document["servers"] == [{"url": "https://shop.example/market/sandbox"}]


def test_nobody_is_believed_by_default(tmp_path):
    client, seen = serve(tmp_path, 0)
    for serial_no in (1, 2):
        list_nft(client, serialNo=serial_no)
    r = client.get("/v1/orderbook?limit=1", headers=FORWARDED)
    assert r.headers["Link"].startswith("</v1/orderbook?limit=1&page=")
    assert seen == {"url": "http://localhost/v1/orderbook?limit=1", "client": "127.0.0.1"}
    assert 'href="/reference"' in client.get("/", headers=FORWARDED).text
    assert client.get("/openapi.json", headers=FORWARDED).json["servers"] == [
        {"url": "https://shop.example"}
    ]


@pytest.mark.parametrize(
    ("trusted", "client_address"), [(1, "198.51.100.2"), (2, "203.0.113.7"), (3, "127.0.0.1")]
)
def test_as_many_proxies_are_believed_as_there_are(tmp_path, trusted, client_address):
    # What a client wrote itself stands further left than what the trusted proxies added.
    client, seen = serve(tmp_path, trusted)
    client.get("/v1/orderbook", headers={"X-Forwarded-For": "203.0.113.7, 198.51.100.2"})
    assert seen["client"] == client_address
