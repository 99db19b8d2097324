"""What happens on the sandbox's ledger shows in the order book, though nobody reports it."""

import pytest

from marketplace.operator import rounds
from marketplace.sandbox.follower import ATTEMPTS, Follower
from marketplace.store.database import write
from tests.conftest import ALICE, BOB, TOKEN

MARKET = "0.0.9001"
NFT = (TOKEN, 7)


def memo(price, serial_no=7):
    return f"Listing NFT with {TOKEN} and Serial Number {serial_no} for {price} HBAR on a desk"


@pytest.fixture
def follower(app):
    follower = Follower(app, app.extensions["sandbox"])
    follower.look()
    return follower


@pytest.fixture
def book(client):
    """What the order book shows, by serial number."""

    def book():
        rows = client.get("/v1/orderbook").json
        return {row["serialNo"]: (row["listingPrice"], row["owner"]["accountId"]) for row in rows}

    return book


def test_a_listing_a_new_price_a_withdrawal_and_a_sale(nft, ledger, follower, book):
    ledger.approve(nft, ALICE, MARKET, memo(250))
    assert book() == {}
    follower.look()
    assert book() == {7: (250, ALICE)}

    ledger.approve(nft, ALICE, MARKET, memo(199))
    follower.look()
    assert book() == {7: (199, ALICE)}

    ledger.withdraw(nft, ALICE)
    follower.look()
    assert book() == {}

    ledger.approve(nft, ALICE, MARKET, memo(50))
    follower.look()
    ledger.hand_over(nft, BOB)
    follower.look()
    assert book() == {}


def test_an_nft_that_was_never_added(client, ledger, follower, book):
    ledger.mint(NFT, ALICE, 1)
    ledger.approve(NFT, ALICE, MARKET, memo(250))
    follower.look()
    assert book() == {7: (250, ALICE)}
    assert client.get(f"/v1/nft/{TOKEN}/7").json["imageUrl"].endswith(".webp")


def test_what_does_not_concern_the_market_is_not_stored(client, ledger, follower):
    ledger.mint(NFT, ALICE, 1)
    ledger.approve(NFT, ALICE, BOB, memo(250))
    follower.look()
    assert client.get(f"/v1/nft/{TOKEN}/7").status_code == 404


def test_what_happened_before_it_began(app, nft, ledger, book):
    ledger.approve(nft, ALICE, MARKET, memo(250))
    Follower(app, app.extensions["sandbox"]).look()
    assert book() == {7: (250, ALICE)}


def test_where_nothing_changed_nothing_is_asked(nft, lister, follower, asked):
    lister(nft, add=False)
    follower.look()
    del asked[:]
    for _ in range(3):
        follower.look()
    assert asked == []


def test_one_that_can_not_be_looked_at_keeps_no_other_waiting(client, ledger, follower, book):
    for token in ("0.0.6999", TOKEN):
        ledger.mint((token, 7), ALICE, 1)
        ledger.approve((token, 7), ALICE, MARKET, memo(250))
    oddity = {"tokenId": "0.0.6999", "serialNo": 7, "oddity": "IMPOSSIBLE_ID"}
    assert client.post("/sandbox/oddities", json=oddity).status_code == 200
    follower.look()
    assert book() == {7: (250, ALICE)}
    for _ in range(ATTEMPTS):
        follower.look()
    assert follower._waiting == {}


def test_it_does_what_a_watcher_does_until_nothing_has_changed_for_a_while(
    app, client, nft, follower, monkeypatch
):
    monkeypatch.setattr("marketplace.sandbox.follower.SYNC_SECONDS", 0)
    assert client.get("/status").json["lastSync"] is None
    follower._sync_at_times()
    first = client.get("/status").json["lastSync"]
    assert first is not None

    follower._sync_at_times()
    second = client.get("/status").json["lastSync"]
    assert second > first

    monkeypatch.setattr("marketplace.sandbox.follower.AWAKE_SECONDS", 0)
    follower._sync_at_times()
    assert client.get("/status").json["lastSync"] == second


def test_nothing_that_is_slow_to_complete_keeps_the_order_book_waiting(
    app, client, nft, ledger, follower, book, monkeypatch
):
    """As where many NFTs were minted whose gateways are silent."""
    for serial_no in (1, 2, 3):
        keys = {"accountId": BOB, "tokenId": TOKEN, "serialNo": serial_no}
        assert client.post("/v1/add", json=keys).status_code == 200
    with app.app_context(), write() as db:
        db.execute("UPDATE nft SET retry_at = '2026', missing = 'x' WHERE serial_no < 4")
    completed = []

    def complete(row):
        if not completed:
            ledger.approve(nft, ALICE, MARKET, memo(250))
        completed.append(book())

    monkeypatch.setattr(rounds, "complete", complete)
    follower.look()
    assert completed == [{}]
    follower.look()
    assert completed[1:] == [{7: (250, ALICE)}] * 3
