"""Listings of before following began, of NFTs that nobody has added and sellers never heard of."""

import threading

import pytest

from harness.apps import settings
from harness.cast import CHARLIE, TOKEN
from harness.ledger import Ledger
from marketplace import create_app
from marketplace.hedera import times
from marketplace.services import read, write
from marketplace.store import following, nfts
from marketplace.watcher import follow
from marketplace.watcher.done import Done
from marketplace.watcher.follow import backfill
from tests.actions import shown
from tests.engines import both_engines
from tests.store.released import put
from tests.watcher.conftest import Watcher
from tests.watcher.following import approve, list_rechecks

NFT = (TOKEN, 8)


@pytest.fixture
def listed(ledger, monkeypatch):
    """It was listed ten minutes ago."""
    then = times.now() - 600 * times.SECOND
    with monkeypatch.context() as patch:
        patch.setattr(times, "now", lambda: then)
        ledger.mint(NFT, CHARLIE, times.now())
        approve(ledger, NFT, owner=CHARLIE)


@pytest.fixture
def late(listed, watcher):
    """A watcher that began after the listing."""
    return watcher


def read_all(app):
    with app.app_context():
        while following.get_follow(read())["backfilled_to"]:
            backfill(threading.Event())


def test_a_backfill_finds_listings_of_before(app, client, late):
    assert late.follow() == {}
    read_all(app)
    assert late.recheck() == {Done.LISTED: 1}
    assert shown(client, NFT)["isForSale"] is True
    read_all(app)
    assert list_rechecks(app) == [("account", CHARLIE, 0)]  # once more, later


@both_engines
def test_a_listing_that_ended_since_is_not_stored(app, client, late, ledger):
    ledger.withdraw(NFT, CHARLIE)
    read_all(app)
    assert late.recheck() == {}
    assert client.get(f"/v1/nft/{TOKEN}/8").status_code == 404


@both_engines
def test_it_goes_on_page_by_page(app, late, monkeypatch):
    monkeypatch.setattr("marketplace.ledger.mirror.PAGE", 1)
    monkeypatch.setattr(follow, "WRITING_SECONDS", 0)
    with app.app_context():
        before = following.get_follow(read())["backfilled_to"]
        backfill(threading.Event())
        assert following.get_follow(read())["backfilled_to"] == before  # nothing was asked
    monkeypatch.setattr(follow, "WRITING_SECONDS", 10)
    read_all(app)
    assert late.recheck() == {Done.LISTED: 1}


def test_a_watcher_that_was_hopelessly_behind_reads_what_came_since(app, late, ledger):
    with app.app_context(), write() as db:
        moment = times.to_iso(times.now() - 48 * 3600 * times.SECOND)
        following.mark_followed_from(db, moment, moment)
    late.restart()
    late.read()
    with app.app_context():
        assert following.get_follow(read())["backfilled_to"] == moment
    read_all(app)
    assert late.recheck() == {Done.LISTED: 1}


def test_an_upgraded_database_is_backfilled(tmp_path):
    put(tmp_path)
    app = create_app(**settings(tmp_path))
    ledger = Ledger(app)
    ledger.mint(NFT, CHARLIE, times.now())
    approve(ledger, NFT, owner=CHARLIE)
    watcher = Watcher(app)
    watcher.read()
    read_all(app)
    watcher.recheck()
    with app.app_context():
        assert nfts.get_nft(read(), *NFT)["is_for_sale"]
    watcher.rechecker.close()
