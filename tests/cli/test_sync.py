"""What ``flask sync`` and ``flask watch`` keep true, without anybody reporting anything."""

import pytest
from werkzeug import Response

from harness.apps import settings
from harness.cast import ALICE, BOB, KEYS, TOKEN
from marketplace import create_app
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.ledger import mirror as mirror_client
from marketplace.market import report as reports
from marketplace.market.listing import prepare_listing
from marketplace.market.memos import listing_memo
from marketplace.market.requests import MarketRequest
from marketplace.services import read, write
from marketplace.store import nfts
from tests.cli.listings import prepare
from tests.engines import both_engines


@pytest.fixture
def sync(app):
    def run():
        result = app.test_cli_runner().invoke(args=["sync"])
        assert result.exit_code == 0, result.output
        return result.output

    return run


def shown(client):
    return client.get(f"/v1/nft/{TOKEN}/7").json


def prepared(app):
    with app.app_context():
        sql = """
            SELECT price FROM prepared_transaction JOIN prepared_nft USING (transaction_id)
            ORDER BY prepared_at DESC
        """
        rows = read().execute(sql)
        return [row["price"] for row in rows.fetchall()]


def test_a_sync_of_nothing(client, sync):
    assert client.get("/status").json["lastSync"] is None
    assert sync() == "Nothing to do\n"
    assert client.get("/status").json["lastSync"].startswith("20")


def test_sync_fails_if_the_ledger_never_answered(app, client, mirror):
    mirror.fail("/")
    result = app.test_cli_runner().invoke(args=["sync"])
    assert result.exit_code == 1
    assert result.output.startswith("Error: The ledger's mirror node did not answer: ")
    assert client.get("/status").json["lastSync"] is None


def test_a_sync_confirms_listings_that_nobody_reported(client, nft, ledger, sync):
    ledger.sign_and_submit(prepare(client))
    assert "NFTs listed: 1" in sync()
    assert shown(client)["listingPrice"] == 250
    assert [listed["serialNo"] for listed in client.get("/v1/orderbook").json] == [7]


def test_a_sync_asks_once_an_account_and_once_a_token(client, nft, sync, mirror):
    for price in range(1, 5):
        prepare(client, price)
    mirror.asked.clear()
    assert sync() == "sellers checked: 1\n"
    assert sorted(mirror.asked) == [
        f"/accounts/{ALICE}/nfts",
        f"/tokens/{TOKEN}/nfts/7",
        "/transactions",
    ]


@both_engines
def test_a_prepared_transaction_that_was_never_signed_is_deleted_after_hours(
    app, client, nft, sync
):
    with app.app_context():
        for hours, price in ((1, 10), (4, 40)):
            then = times.now() - hours * 3600 * times.SECOND
            prepare_listing(MarketRequest(ALICE, [NftId(*nft)]), price, then)
    sync()
    assert prepared(app) == [10]


@pytest.mark.parametrize(
    ("end", "owner"),
    [
        (lambda ledger, nft: ledger.hand_over(nft, BOB), BOB),
        (lambda ledger, nft: ledger.withdraw(nft, ALICE), ALICE),
        (lambda ledger, nft: ledger.approve(nft, ALICE, "0.0.6666"), ALICE),
        # By another application: at no price that is known.
        (lambda ledger, nft: ledger.approve(nft, ALICE, "0.0.9001"), ALICE),
    ],
)
def test_a_sync_takes_off_what_was_sold_or_withdrawn(client, nft, ledger, lister, sync, end, owner):
    lister(nft, add=False)
    lister((TOKEN, 8))
    end(ledger, nft)

    assert "NFTs taken off the order book: 1" in sync()
    assert shown(client)["isForSale"] is False
    assert shown(client)["owner"] == {"accountId": owner}
    assert [listed["serialNo"] for listed in client.get("/v1/orderbook").json] == [8]


def test_a_wrong_mirror_node_takes_nothing_off(app, client, nft, lister, mirror):
    lister(nft, add=False)
    mirror.answer("/", Response("nothing", 404))
    assert app.test_cli_runner().invoke(args=["sync"]).exit_code == 1
    assert shown(client)["isForSale"] is True


def test_one_nft_that_fails_does_not_end_a_sync(app, client, nft, lister):
    lister(nft, add=False)
    for serial_no in (8, 9):
        client.post("/v1/add", json=KEYS | {"serialNo": serial_no})
    with app.app_context(), write() as db:
        # The second one's record cannot be written.
        db.execute(
            "CREATE TRIGGER failing BEFORE UPDATE ON nft WHEN NEW.serial_no = 9"
            " BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
    result = app.test_cli_runner().invoke(args=["sync"])
    assert "sellers checked: 1, not checked: 1, NFTs completed: 1" in result.output
    assert result.exit_code == 1


def test_it_asks_once_for_all_listings_of_a_seller(client, lister, sync, mirror):
    for serial_no in range(1, 5):
        lister((TOKEN, serial_no))
    mirror.asked.clear()
    sync()
    assert sorted(mirror.asked) == [
        f"/accounts/{ALICE}/nfts",
        f"/tokens/{TOKEN}/nfts",
        "/transactions",
    ]


def test_it_pages_through_many_listings(app, client, nft, ledger, sync, mirror, monkeypatch):
    """More than the mirror node shows on one page, over several tokens."""
    monkeypatch.setattr(mirror_client, "PAGE", 2)
    for number in range(5):
        keys = (f"0.0.{8000 + number % 3}", number + 1)
        ledger.mint(keys, ALICE, times.now())
        ledger.approve(keys, ALICE, "0.0.9001", memo=listing_memo(*keys, 5, "Foo"))
    prepare(client)
    mirror.asked.clear()
    assert "NFTs listed: 5, NFTs completed: 5" in sync()
    assert mirror.asked.count(f"/accounts/{ALICE}/nfts") == 3
    assert sync() == "sellers checked: 1\n"


@both_engines
def test_metadata_that_fails_is_tried_ever_later(app, client, ledger, sync):
    ledger.mint((TOKEN, 7), ALICE, times.now())
    ledger.update_metadata((TOKEN, 7), "no address")
    client.post("/v1/add", json=KEYS)
    with app.app_context(), write() as db:
        db.execute("UPDATE nft SET attempts = 1")
    assert sync() == "NFTs still incomplete: 1\n"
    assert sync() == "Nothing to do\n"
    with app.app_context():
        nft = nfts.get_nft(read(), TOKEN, 7)
    assert nft["missing"] == "it is not an address"
    assert nft["attempts"] == 2
    assert nft["name"] == f"Sandbox {TOKEN} #7"
    assert nft["retry_at"] > times.to_iso(times.now() + 3600 * times.SECOND)


def test_a_seller_that_could_not_be_checked_is_said(app, nft, lister, mirror, monkeypatch):
    # After the usual pause, what failed is due again within the same command, and counted twice.
    monkeypatch.setattr(mirror_client, "FIRST_PAUSE_SECONDS", 0.01)
    lister(nft, add=False)
    mirror.fail("/")
    result = app.test_cli_runner().invoke(args=["sync"])
    assert result.exit_code == 1
    assert "not checked: 4" in result.output
    assert "run it again" in result.output


def test_the_status_says_how_often_the_mirror_node_is_asked(tmp_path):
    client = create_app(MIRROR_NODE_RATE="16", **settings(tmp_path)).test_client()
    assert client.get("/status").json["mirrorNodeRate"] == 16


@both_engines
def test_racing_reports_and_syncs_agree(app, client, nft, ledger, sync):
    from concurrent.futures import ThreadPoolExecutor

    transaction_id = ledger.sign_and_submit(prepare(client))
    asked = MarketRequest(ALICE, [NftId(*nft)])

    def report(_):
        with app.app_context():
            return not reports.answer(asked, transaction_id).is_pending

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(report, range(12)))
    sync()
    assert shown(client)["listingPrice"] == 250
