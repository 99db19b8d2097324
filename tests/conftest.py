"""The fixtures of the service's tests. Each test has a new database and a new sandbox of its own."""

import pytest

from harness.apps import authorized_client, completing, copy_app, settings
from harness.cast import ALICE, BOB, TOKEN
from harness.engines import databases, running_on
from harness.ledger import Ledger
from harness.mirror import Mirror
from marketplace import create_app, metrics
from marketplace.hedera.ids import NftId
from marketplace.ledger import mirror as ledger_mirror
from marketplace.market import nfts
from marketplace.market.requests import MarketRequest
from tests.actions import list_nft


@pytest.fixture(scope="module", autouse=True)
def engine(request):
    """The engine of this test: "sqlite", or "postgresql", too, with tests.engines.both_engines."""
    engine = getattr(request, "param", "sqlite")
    with running_on(engine):
        yield engine


@pytest.fixture(autouse=True)
def own_databases(engine):
    """Drop the databases that a test has made, after it."""
    with databases():
        yield


@pytest.fixture(autouse=True)
def counts_begin_at_0(monkeypatch):
    """Applications of one process count together: without this, a test would see what others counted."""
    monkeypatch.setattr(metrics, "_metrics", metrics.Metrics())


@pytest.fixture
def app(tmp_path):
    """The service with its sandbox, in ``tmp_path``."""
    return copy_app(tmp_path)


@pytest.fixture
def client(app):
    """A client of that service with an access token that may read and write."""
    return authorized_client(app, "read", "write")


@pytest.fixture(scope="module")
def idle_client(tmp_path_factory, engine):
    """A client of one service for a whole module: for requests that change nothing."""
    app = create_app(**settings(tmp_path_factory.mktemp("idle")))
    return authorized_client(app, "read", "write")


@pytest.fixture
def ledger(app):
    """The sandbox's ledger, where people act behind the service's back."""
    return Ledger(app)


@pytest.fixture
def mirror(app, monkeypatch):
    """The mirror node, whose answers can be altered, and which tells what it was asked.

    It is asked again at once if it fails.
    """
    monkeypatch.setattr(ledger_mirror, "FIRST_PAUSE_SECONDS", 0.01)
    return Mirror(app)


@pytest.fixture
def complete(app):
    """Complete the NFTs that are due, as the watcher does."""
    return completing(app)


@pytest.fixture
def nft(app, complete):
    """An NFT of Alice's, stored, complete and not listed."""
    with app.app_context():
        nfts.add(MarketRequest(ALICE, [NftId(TOKEN, 7)]))
    complete()
    return TOKEN, 7


@pytest.fixture
def listed(nft, lister):
    """That NFT, for sale at 250 HBAR."""
    lister(nft, add=False)
    return nft


@pytest.fixture
def lister(client, complete):
    """List an NFT the whole way; returns the transaction id."""

    def lister(nft, listing_price=250, account_id=ALICE, add=True):
        keys = {"accountId": account_id, "tokenId": nft[0], "serialNo": nft[1]}
        if add:
            assert client.post("/v1/add", json=keys).status_code == 200
            complete()
        return list_nft(client, listing_price, **keys)

    return lister


@pytest.fixture
def buy(client):
    """Ask for the transaction by which an account buys an NFT."""

    def buy(nft=(TOKEN, 7), account_id=BOB, client=client, **fields):
        keys = {"accountId": account_id, "tokenId": nft[0], "serialNo": nft[1]}
        return client.post("/v1/buy/extwallet", json=keys | fields)

    return buy
