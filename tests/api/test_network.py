"""The network's facts: what the watcher has read of the exchange rate."""

from marketplace.watcher.network import store_network


def test_it_works(app, client):
    assert client.get("/v1/network").json == {
        "network": "sandbox", "accountId": "0.0.9001", "exchangeRate": None,
    }  # fmt: skip
    with app.app_context():
        store_network()
    r = client.get("/v1/network")
    rate = r.json["exchangeRate"]
    assert rate["cents"] / rate["hbar"] == 10
    assert rate["date"].endswith("Z")
    again = client.get("/v1/network", headers={"If-None-Match": r.headers["ETag"]})
    assert again.status_code == 304
