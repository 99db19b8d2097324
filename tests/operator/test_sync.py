"""What ``flask sync`` and ``flask watch`` keep true, without anybody reporting anything."""

import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from marketplace import create_app, times
from marketplace import ledger as outside
from marketplace.ledger import mirror
from marketplace.market import listings, reports
from marketplace.market.memos import listing_memo
from marketplace.market.shares import ALL, Share
from marketplace.operator import rounds
from marketplace.operator.rounds import COMPLETED_AT_ONCE, Done, next_to_complete
from marketplace.operator.rounds import sync as sync_share
from marketplace.store import preparations, queries
from marketplace.store.database import read, write
from tests.conftest import ALICE, BOB, TOKEN, settings
from tests.network import PATIENCE_SECONDS, serve
from tests.serving import ROOT, environment

KEYS = {"accountId": ALICE, "tokenId": TOKEN, "serialNo": 7}


@pytest.fixture
def sync(app):
    def run():
        result = app.test_cli_runner().invoke(args=["sync"])
        assert result.exit_code == 0, result.output
        return result.output

    return run


def prepare(client, price=250):
    return client.post("/v1/list/extwallet", json=KEYS | {"listingPrice": price}).json["byteArray"]


def shown(client):
    return client.get(f"/v1/nft/{TOKEN}/7").json


def prepared(app):
    with app.app_context():
        return [
            row["price"]
            for row in preparations.list_prepared_transactions(read(), TOKEN, 7, ALICE, 10)
        ]


def test_nothing_to_do(sync):
    assert sync() == "Nothing to do\n"


def test_it_confirms_what_nobody_reported(client, nft, ledger, sync):
    ledger.sign_and_submit(prepare(client))
    assert "NFTs listed: 1" in sync()
    assert shown(client)["listingPrice"] == 250
    assert [listed["serialNo"] for listed in client.get("/v1/orderbook").json] == [7]


def test_what_was_prepared_costs_one_request_an_account(client, nft, sync, asked):
    for price in range(1, 5):
        prepare(client, price)
    assert sync() == "sellers checked: 1\n"
    assert asked == [f"/accounts/{ALICE}/nfts"]


def test_what_was_never_signed_goes_after_hours(app, client, nft, sync):
    with app.app_context():
        for hours, price in ((1, 10), (4, 40)):
            then = times.now() - hours * 3600 * times.SECOND
            listings.prepare(ALICE, *nft, price, "extwallet", now=then)
    sync()
    assert prepared(app) == [10]


def test_few_are_kept_of_what_is_prepared_for_one_nft(app, client, nft):
    for price in range(1, 50):
        prepare(client, price)
    assert prepared(app) == [49, 48, 47, 46, 45]


@pytest.mark.parametrize(
    ("end", "owner"),
    [
        (lambda ledger, nft: ledger.hand_over(nft, BOB), BOB),
        (lambda ledger, nft: ledger.withdraw(nft, ALICE), ALICE),
        (lambda ledger, nft: ledger.approve(nft, ALICE, "0.0.6666"), ALICE),
    ],
)
def test_it_takes_off_what_was_sold_or_withdrawn(client, nft, ledger, lister, sync, end, owner):
    lister(nft, add=False)
    lister((TOKEN, 8))
    end(ledger, nft)

    assert "NFTs taken off the order book: 1" in sync()
    assert shown(client)["isForSale"] is False
    assert shown(client)["owner"] == {"accountId": owner}
    assert [listed["serialNo"] for listed in client.get("/v1/orderbook").json] == [8]


def test_it_ends_a_listing_that_something_else_replaced(client, nft, ledger, lister, sync):
    lister(nft, add=False)
    ledger.withdraw(nft, ALICE)
    ledger.approve(nft, ALICE, "0.0.9001")  # by another application: at no price that is known

    assert "NFTs taken off the order book: 1" in sync()
    assert shown(client)["isForSale"] is False
    assert sync() == "sellers checked: 1\n"


def test_it_finds_a_new_price_that_nobody_reported(client, nft, ledger, lister, sync):
    lister(nft, listing_price=250, add=False)
    ledger.sign_and_submit(prepare(client, 999))
    sync()
    assert shown(client)["listingPrice"] == 999


def test_a_wrong_mirror_node_takes_nothing_off(app, client, nft, lister, monkeypatch):
    lister(nft, add=False)
    with serve(lambda environ, start: (start("404 Not Found", []), [b"nothing"])[1]) as url:
        monkeypatch.setitem(app.config, "MIRROR_NODE_URL", url)
        outside.init_app(app, {})
        assert app.test_cli_runner().invoke(args=["sync"]).exit_code == 1
    assert shown(client)["isForSale"] is True


@pytest.mark.once("its triggers")
def test_one_item_that_fails_ends_no_round(app, client, nft, lister):
    lister(nft, add=False)
    for serial_no in (8, 9):
        with app.app_context(), write() as db:
            row = record(TOKEN, serial_no, missing="x", retry_at="2026-01-01T00:00:00Z")
            queries.insert_nft(db, row | {"metadata": "ipfs://bafkqacbqfyyc4nzqgayq/7.json"})
            # The second one's record can not be written.
            db.execute(
                "CREATE TRIGGER failing BEFORE UPDATE ON nft WHEN NEW.serial_no = 9"
                " BEGIN SELECT RAISE(ABORT, 'no'); END"
            ) if serial_no == 9 else None
    result = app.test_cli_runner().invoke(args=["sync"])
    assert "sellers checked: 1, not checked: 1, NFTs completed: 1" in result.output
    assert result.exit_code == 1


def test_it_asks_once_for_all_listings_of_a_seller(client, lister, sync, asked):
    for serial_no in range(1, 9):
        lister((TOKEN, serial_no))
    asked.clear()
    sync()
    assert asked == [f"/accounts/{ALICE}/nfts"]


def test_it_pages_through_many_listings(app, client, nft, ledger, sync, asked, monkeypatch):
    """More than the mirror node shows on one page, over several tokens."""
    monkeypatch.setattr(mirror, "PAGE", 10)
    for number in range(25):
        keys = (f"0.0.{8000 + number % 3}", number + 1)
        ledger.mint(keys, ALICE, times.now())
        ledger.approve(keys, ALICE, "0.0.9001", memo=listing_memo(*keys, 5, "Foo"))
    prepare(client)
    asked.clear()
    assert "NFTs listed: 25, NFTs completed: 25" in sync()
    assert asked.count(f"/accounts/{ALICE}/nfts") == 3
    assert sync() == "sellers checked: 1\n"


def record(token, serial_no, **fields):
    return {
        "token": token,
        "serial_no": serial_no,
        "name": f"#{serial_no}",
        "file_type": "image/png",
        "attributes": None,
        "image": None,
        "original_image_url": None,
        "owner": ALICE,
        "ledger_at": "2026-01-01T00:00:00.000000000Z",
        "metadata": None,
        "missing": None,
        "attempts": 1,
        "retry_at": None,
    } | fields


def test_it_completes_what_was_missing(app, client, ledger, sync):
    with app.app_context(), write() as db:
        pointer = "ipfs://bafkqacbqfyyc4nzqgayq/7.json"
        queries.insert_nft(
            db, record(TOKEN, 7, metadata=pointer, missing="x", retry_at="2026-01-01T00:00:00Z")
        )
    assert sync() == "NFTs completed: 1\n"
    assert shown(client)["name"] == f"Sandbox {TOKEN} #7"
    assert shown(client)["fileType"] == "image/png"
    assert "placeholder" not in shown(client)["imageUrl"]
    assert sync() == "Nothing to do\n"


def test_what_can_not_be_completed_is_tried_ever_later(app, client, sync):
    with app.app_context(), write() as db:
        queries.insert_nft(
            db,
            record(TOKEN, 7, metadata="no address", missing="x", retry_at="2026-01-01T00:00:00Z"),
        )
    assert sync() == "NFTs still incomplete: 1\n"
    assert sync() == "Nothing to do\n"
    with app.app_context():
        nft = queries.get_nft(read(), TOKEN, 7)
    assert nft["missing"] == "it is not an address"
    assert nft["attempts"] == 2
    assert nft["name"] == "#7"
    assert nft["retry_at"] > times.to_iso(times.now() + 3600 * times.SECOND)


def test_a_seller_that_could_not_be_checked_is_said(app, nft, lister, monkeypatch):
    lister(nft, add=False)
    monkeypatch.setitem(app.config, "MIRROR_NODE_URL", "http://127.0.0.1:1")
    outside.init_app(app, {})
    result = app.test_cli_runner().invoke(args=["sync"])
    assert result.exit_code == 1
    assert "not checked: 1" in result.output
    assert "run it again" in result.output


def test_the_status_says_how_often_the_mirror_node_is_asked(tmp_path):
    client = create_app(MIRROR_NODE_RATE="16", **settings(tmp_path)).test_client()
    assert client.get("/status").json["mirrorNodeRate"] == 16


def test_the_status_shows_the_last_sync(client, sync):
    assert client.get("/status").json["lastSync"] is None
    sync()
    assert client.get("/status").json["lastSync"].startswith("20")


@pytest.fixture
def environ(tmp_path):
    return environment(**settings(tmp_path))


def watcher(environ, *options, output=subprocess.PIPE):
    command = [sys.executable, "-m", "flask", "--app", "wsgi", "watch", "--every", "1", *options]
    return subprocess.Popen(
        command, cwd=ROOT, env=environ, stdout=output, stderr=subprocess.STDOUT, text=True
    )


def test_watch_works_alone_and_stops_cleanly(client, nft, ledger, environ):
    ledger.sign_and_submit(prepare(client))
    first = watcher(environ)
    assert first.stdout.readline() == "Watching sandbox, every 1 s\n"
    assert "NFTs listed: 1" in first.stdout.readline()
    second = watcher(environ)
    assert "Another watcher is at work" in second.stdout.readline()

    ledger.hand_over(nft, BOB)
    assert "NFTs taken off the order book: 1" in first.stdout.readline()

    first.send_signal(signal.SIGTERM)
    assert first.communicate(timeout=60)[0] == "Stopped\n"
    assert first.returncode == 0
    assert second.stdout.readline() == "Watching sandbox, every 1 s\n"
    second.send_signal(signal.SIGTERM)
    assert second.communicate(timeout=60)[0] == "Stopped\n"
    assert second.returncode == 0


def test_a_log_without_room_ends_no_watcher(client, nft, ledger, environ):
    with open("/dev/full", "w") as full:
        process = watcher(environ, output=full)
    for _ in range(2):
        ledger.sign_and_submit(prepare(client))
        wait_until(process, lambda: client.get("/v1/orderbook").json)
        ledger.hand_over(nft, BOB)
        wait_until(process, lambda: not client.get("/v1/orderbook").json)
        ledger.hand_over(nft, ALICE)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


def wait_until(process, happens):
    until = time.monotonic() + PATIENCE_SECONDS
    while not happens():
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.1)


def test_shares_do_together_what_one_watcher_does(app, client, ledger, lister, sync, asked):
    accounts = [f"0.0.{number}" for number in range(3001, 3013)]
    for serial_no, account_id in enumerate(accounts, 1):
        lister((TOKEN, serial_no), account_id=account_id)
    for serial_no, account_id in enumerate(accounts[:5], 1):
        ledger.hand_over((TOKEN, serial_no), BOB)
        nobody_knows = TOKEN, 100 + serial_no
        ledger.mint(nobody_knows, account_id, times.now())
        ledger.approve(nobody_knows, account_id, "0.0.9001", listing_memo(*nobody_knows, 5, "Foo"))
    asked.clear()
    with app.app_context():
        done = [sync_share(share=Share(number, 3)) for number in (1, 2, 3)]
        now = times.to_iso(times.now())
        incomplete = [
            nft
            for row in queries.list_collections_incomplete(read(), now)
            for nft in queries.list_incomplete(read(), row["token"], now, 100)
        ]

    assert all(counts[Done.SELLERS] for counts in done)
    total = sum(done, Counter())
    # What one share finds, another one may have to complete, in its next round.
    assert total.pop(Done.COMPLETED, 0) + len(incomplete) == 5
    assert total == {Done.SELLERS: 12, Done.TAKEN_OFF: 5, Done.LISTED: 5}
    assert sorted(path for path in asked if path.startswith("/accounts/")) == [
        f"/accounts/{account_id}/nfts" for account_id in accounts
    ]
    assert client.get("/status").json["lastSync"].startswith("20")
    assert sync().startswith("sellers checked: 12")
    assert sync() == "sellers checked: 12\n"


def test_the_status_waits_for_all_shares(app, client):
    for number in (1, 2):
        assert client.get("/status").json["lastSync"] is None
        command = ["sync", "--share", f"{number}/2"]
        assert app.test_cli_runner().invoke(args=command).output == "Nothing to do\n"
    assert client.get("/status").json["lastSync"].startswith("20")


def test_what_is_no_share_is_refused(app):
    ended = app.test_cli_runner().invoke(args=["sync", "--share", "4/3"])
    assert ended.exit_code == 2
    assert "Invalid value for '--share': '4/3' is not a share (2/3: the second" in ended.output


def test_a_share_has_one_watcher_and_another_share_its_own(environ):
    watchers = []
    for share, said in (
        ("1/2", "Watching sandbox, share 1/2, every 1 s\n"),
        ("2/2", "Watching sandbox, share 2/2, every 1 s\n"),
        ("2/2", "Another watcher is at work: waiting for it to end\n"),
    ):
        watchers.append(watcher(environ, "--share", share))
        assert watchers[-1].stdout.readline() == said
    for process in watchers:
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=60)[0].endswith("Stopped\n")


def test_racing_reports_and_syncs_agree(app, client, nft, ledger, sync):
    from concurrent.futures import ThreadPoolExecutor

    transaction_id = ledger.sign_and_submit(prepare(client))

    def report(_):
        with app.app_context():
            return reports.answer(ALICE, *nft, transaction_id)

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(report, range(12)))
    sync()
    assert shown(client)["listingPrice"] == 250


def test_a_collection_with_much_to_complete_keeps_no_others_waiting(app, sync):
    def incomplete(token, serial_no, minutes):
        date = times.to_iso(times.now() - minutes * 60 * times.SECOND)
        record = dict.fromkeys(("attributes", "image", "metadata", "original_image_url"))
        record |= {"token": token, "serial_no": serial_no, "name": "x", "file_type": "image/png"}
        record |= {"owner": ALICE, "ledger_at": "2026", "attempts": 1}
        return record | {"missing": "it took too long", "retry_at": date}

    with app.app_context(), write() as db:
        for serial_no in range(1, 3 * COMPLETED_AT_ONCE):
            queries.insert_nft(db, incomplete("0.0.6666", serial_no, minutes=60))
        queries.insert_nft(db, incomplete("0.0.7001", 7, minutes=1))
    with app.app_context():
        chosen = next_to_complete(ALL)
    assert len(chosen) == COMPLETED_AT_ONCE // 2 + 1
    assert "0.0.7001" in {nft["token"] for nft in chosen[:2]}


def test_what_a_round_is_about_has_a_name_in_the_log(app, nft):
    with app.app_context():
        stored = queries.get_nft(read(), *nft)
    name = f"{TOKEN} #7"
    assert [rounds._name(item) for item in (stored, nft, ALICE)] == [name, name, ALICE]
