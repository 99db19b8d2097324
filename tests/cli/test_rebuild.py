"""``flask rebuild`` restores listings from the ledger alone, after the database was lost."""

import pytest

from harness.apps import authorized_client, completing, settings
from harness.cast import ALICE, BOB, TOKEN
from harness.engines import database_url
from harness.mirror import MISSING, Mirror
from marketplace import create_app
from marketplace.hedera import times
from marketplace.services import read
from marketplace.store import nfts
from tests.engines import both_engines


@pytest.fixture
def lost(app, tmp_path):
    """The service with its database lost: a new one beside the same ledger."""

    def make():
        folders = settings(tmp_path)
        folders["DATABASE_URL"] = database_url(tmp_path, "new.db")
        return create_app(**folders)

    return make


def run(app, *tokens):
    return app.test_cli_runner().invoke(args=["rebuild", *tokens])


def listed(app):
    client = authorized_client(app, "read", "write")
    r = client.get(f"/v1/nftslisted/{TOKEN}")
    assert r.status_code == 200, r.text
    return {nft["serialNo"]: nft for nft in r.json}


@both_engines
def test_it_works(app, client, lister, lost):
    for serial_no, price in ((1, 100), (2, 200), (3, 300)):
        lister((TOKEN, serial_no), listing_price=price)
    lister((TOKEN, 2), listing_price=250)
    before = listed(app)

    new = lost()
    result = run(new, TOKEN)
    assert result.exit_code == 0, result.output
    assert result.output == f"{TOKEN}: added 3, here already 0\nNFTs listed: 3\n"
    completing(new)()
    assert listed(new) == before
    assert run(new, TOKEN).output == f"{TOKEN}: added 0, here already 3\n"


def test_a_rebuild_leaves_out_listings_that_ended(client, lister, ledger, lost):
    lister((TOKEN, 1))
    lister((TOKEN, 2))
    lister((TOKEN, 3))
    ledger.hand_over((TOKEN, 1), BOB)
    ledger.withdraw((TOKEN, 2), ALICE)
    new = lost()
    run(new, TOKEN)
    assert list(listed(new)) == [3]


def test_a_rebuild_lists_nothing_without_a_price(client, ledger, lost):
    ledger.mint((TOKEN, 1), ALICE, times.now())
    ledger.approve((TOKEN, 1), ALICE, "0.0.9001")
    new = lost()
    assert run(new, TOKEN).output == f"{TOKEN}: added 1, here already 0\nNFTs found unchanged: 1\n"
    with new.app_context():
        assert nfts.get_nft(read(), TOKEN, 1)["is_for_sale"] == 0


def test_a_rebuild_finds_listings_that_were_missed(app, client, lister, ledger):
    for serial_no in (1, 2):
        lister((TOKEN, serial_no), listing_price=100)
    ledger.hand_over((TOKEN, 1), BOB)
    assert list(listed(app)) == [1, 2]
    output = run(app, TOKEN).output
    assert output == f"{TOKEN}: added 0, here already 2\nNFTs taken off the order book: 1\n"
    assert list(listed(app)) == [2]


def test_a_rebuild_says_where_the_ledger_contradicts_itself(client, lister, lost):
    lister((TOKEN, 1))
    new = lost()
    Mirror(new).answer("/nfts/1/transactions", MISSING)
    result = run(new, TOKEN)
    assert result.exit_code == 1
    assert "NFTs not decided yet: 1\nError: Not everything was imported" in result.output
