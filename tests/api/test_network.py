"""The network's facts: what the watcher has read of the exchange rate."""

import pytest

from harness.mirror import Mirror
from marketplace.errors import LedgerUnreachable
from marketplace.watcher.maintenance import store_network


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


def test_the_rate_does_not_wait_for_the_nodes(app, client):
    Mirror(app).fail("/network/nodes")
    with app.app_context(), pytest.raises(LedgerUnreachable):
        store_network()
    assert client.get("/v1/network").json["exchangeRate"]["hbar"]
