"""Reads never touch the ledger or the network; only add, list and report do."""

import socket

import pytest

from harness.apps import authorized_client
from harness.cast import KEYS, TOKEN
from tests.api.documented import call, operations


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_reads_ask_nobody(app, lister, no_network, mirror):
    lister(("0.0.5001", 7))
    mirror.asked.clear()
    client = authorized_client(app, "read", "metrics")
    for operation in operations(client):
        if operation[0] == "get":
            is_stored = "offerId" not in operation[1]
            status = 200 if is_stored else 404
            assert call(client, *operation).status_code == status, operation
    assert mirror.asked == []


def test_adding_a_stored_nft_asks_nobody(client, nft, no_network, mirror):
    assert client.post("/v1/add", json=KEYS).json == {"result": "OK"}
    assert mirror.asked == []


def test_the_owner_can_prepare_a_listing_without_the_ledger(client, nft, no_network, mirror):
    listing = KEYS | {"listingPrice": 5}
    mirror.asked.clear()
    assert client.post("/v1/list/extwallet", json=listing).status_code == 200
    assert mirror.asked == ["/blocks"]
    mirror.fail("/")
    assert client.post("/v1/list/extwallet", json=listing).status_code == 200


def test_the_whole_sandbox_opens_no_socket(client, lister, no_network):
    lister((TOKEN, 9))
