"""Reads never touch the ledger or the network; only add, list and report do."""

import socket

import pytest

from tests.conftest import ALICE, TOKEN

pytestmark = pytest.mark.once("it counts what the ledger is asked")

READS = [
    "/v1/orderbook",
    f"/v1/nft/{TOKEN}/7",
    f"/v1/nftslisted/{TOKEN}",
    f"/v1/user/{ALICE}/listed",
    f"/v1/collection/{TOKEN}",
    f"/v1/nft/{TOKEN}/7/events",
]


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.parametrize("url", [*READS, "/openapi.json", "/status"])
def test_reads_ask_nobody(client, nft, lister, url, no_network, asked):
    lister(nft, add=False)
    asked.clear()
    assert client.get(url).status_code == 200
    assert asked == []


def test_adding_a_stored_nft_asks_nobody(client, nft, no_network, asked):
    body = {"accountId": ALICE, "tokenId": TOKEN, "serialNo": 7}
    assert client.post("/v1/add", json=body).json == {"result": "OK"}
    assert asked == []


def test_the_owner_can_prepare_a_listing_without_the_ledger(client, nft, no_network, asked):
    body = {"accountId": ALICE, "tokenId": TOKEN, "serialNo": 7, "listingPrice": 5}
    assert client.post("/v1/list/extwallet", json=body).status_code == 200
    assert asked == []


def test_the_whole_sandbox_opens_no_socket(client, lister, no_network):
    lister((TOKEN, 9))
