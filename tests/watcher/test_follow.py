"""What a watcher finds by following the ledger, though nobody reports anything and nothing is swept."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from harness import wallets
from harness.apps import write_sql
from harness.cast import ALICE, BOB, CHARLIE, TOKEN
from harness.network import PATIENCE_SECONDS
from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable
from marketplace.hedera import times
from marketplace.market import freshness, reconciler
from marketplace.market.memos import bulk_listing_memo, listing_memo
from marketplace.sandbox import wallet
from marketplace.services import read, services, write
from marketplace.store import following, nfts, properties
from marketplace.store.rechecks import (
    TOKEN_PAUSE,
    Recheck,
    What,
    enqueue,
    enqueue_all,
    recheck_later,
)
from marketplace.watcher import follow as following_module
from marketplace.watcher.done import Done
from marketplace.watcher.loop import Watch
from marketplace.watcher.sweep import OF_SELLERS, SLOWLY, sync
from sandbox.tests import batches, bodies
from tests.actions import shown
from tests.engines import both_engines
from tests.watcher.following import NFT, approve, approve_several, list_rechecks


def test_it_finds_a_listing_that_nobody_reported(client, watcher, nft, ledger):
    approve(ledger, nft, price=250)
    assert watcher.follow() == {Done.LISTED: 1}
    assert shown(client)["listingPrice"] == 250
    assert watcher.follow() == {}


@both_engines
def test_a_watcher_is_running_whether_the_ledger_ever_answered_or_not(app, client, mirror):
    mirror.fail("/")
    assert client.get("/status").json["watcher"] == "silent"
    with app.app_context(), closing(Watch(app, threading.Event())) as watching:
        watching.begin()
        with pytest.raises(LedgerUnreachable):
            watching.follow()
    assert client.get("/status").json["watcher"] == "running"
    then = times.to_iso(times.now() - 2 * times.MINUTE)
    write_sql(app, "UPDATE property SET value = :then WHERE name = 'heartbeat'", then=then.encode())
    assert client.get("/status").json["watcher"] == "silent"


def test_a_job_that_goes_on_failing_is_logged_once_a_minute(app, caplog):
    stop, failed = threading.Event(), []

    def fail():
        failed.append(1)
        if len(failed) == 2:
            stop.set()
        raise LedgerUnreachable("it is silent")

    with closing(Watch(app, stop)) as watching:
        watching.leads = True
        watching._repeat("Sleeping", fail)
        watching.begin()  # which ends at once
    lines = [record.getMessage() for record in caplog.records]
    assert len(failed) == 2
    assert [line.startswith("Sleeping failed: ") for line in lines] == [True]


def test_it_finds_a_listing_of_several_nfts_whether_they_are_stored_or_not(
    client, watcher, nft, ledger
):
    for serial_no in (8, 9, 10):
        ledger.mint((TOKEN, serial_no), ALICE, times.now())
    approve_several(ledger, (7, 8, 9), bulk_listing_memo(TOKEN, 30, "Foo"))
    assert watcher.follow() == {Done.LISTED: 3}
    assert [shown(client, (TOKEN, number))["listingPrice"] for number in (7, 8, 9)] == [30, 30, 30]
    assert client.get(f"/v1/nft/{TOKEN}/10").status_code == 404
    assert watcher.follow() == {}


def test_the_transaction_of_several_is_not_read_for_each(watcher, nft, ledger, mirror):
    for serial_no in (8, 9):
        ledger.mint((TOKEN, serial_no), ALICE, times.now())
    approve_several(ledger, (7, 8, 9), bulk_listing_memo(TOKEN, 30, "Foo"))
    watcher.read()
    before = mirror.count("^/transactions$")
    assert watcher.recheck() == {Done.LISTED: 3}
    assert mirror.count("^/transactions$") == before


def test_it_finds_a_new_price_of_some_of_several(client, watcher, nft, ledger):
    ledger.mint((TOKEN, 8), ALICE, times.now())
    approve_several(ledger, (7, 8), bulk_listing_memo(TOKEN, 30, "Foo"))
    watcher.follow()
    approve(ledger, (TOKEN, 8), price=5)
    assert watcher.follow() == {Done.LISTED: 1}
    assert [shown(client, (TOKEN, number))["listingPrice"] for number in (7, 8)] == [30, 5]


def test_a_memo_for_several_lists_only_what_is_approved_of_its_token(client, watcher, ledger):
    for nft in ((TOKEN, 8), (TOKEN, 9), ("0.0.5002", 8)):
        ledger.mint(nft, ALICE, times.now())
    approve_several(ledger, (8,), bulk_listing_memo("0.0.5002", 30, "Foo"))
    approve_several(ledger, (9,), bulk_listing_memo(TOKEN, 30, "Foo"), spender="0.0.6666")
    assert watcher.follow() == {}
    assert client.get("/v1/orderbook").json == []


def test_it_finds_a_listing_in_a_batch(client, watcher, nft, ledger):
    listing = batches.inner(
        bodies.approval(ALICE, nft, memo=listing_memo(*nft, 5, "Foo")), wallet.private_key(ALICE)
    )
    batch = batches.batch(listing)
    assert (
        ledger.submit(bodies.sign(batch, wallet.private_key(CHARLIE), batches.BATCHER)).result
        == "SUCCESS"
    )
    assert watcher.follow() == {Done.LISTED: 1}
    assert shown(client)["listingPrice"] == 5


@pytest.fixture
def approve_for_another(ledger):
    """A stranger pays for an approval of another market; the owner only signs it. Its memo names nothing."""

    def approve_for_another(nft, owner=ALICE, payer=CHARLIE):
        body = wallets.new_body(payer, "")
        wallets.allow(body.cryptoApproveAllowance, nft, owner, "0.0.6666")
        signed = ledger.sign_bytes(ledger.sign_bytes(wallets.seal(body), payer), owner)
        assert ledger.submit(signed).result == "SUCCESS"

    return approve_for_another


@both_engines
def test_it_finds_what_a_call_of_the_token_through_a_relay_has_approved(
    app, client, watcher, nft, ledger, mirror, approve_for_another
):
    approve(ledger, nft)
    assert ledger.update_metadata(nft, "ipfs://other/7.json").result == "SUCCESS"
    assert watcher.follow() == {Done.LISTED: 1}
    # The row at the cursor has the token for its entity, as that of a call has.
    called_at = times.to_consensus(times.to_nanoseconds(cursor(app)))
    approve_for_another(nft)

    def name_the_call(document):
        for row in document["transactions"]:
            if row["transaction_id"].startswith(CHARLIE):
                row.update(nonce=1, parent_consensus_timestamp=called_at)

    mirror.alter("v1/transactions$", name_the_call)
    watcher.read()
    assert watcher.recheck(TOKEN_PAUSE // times.SECOND) == {Done.TAKEN_OFF: 1}
    assert shown(client)["isForSale"] is False


@both_engines
def test_a_sweep_takes_off_what_no_row_names_and_sellers_come_first(
    client, app, watcher, nft, ledger, approve_for_another, swept_yesterday
):
    approve(ledger, nft)
    watcher.follow()
    approve_for_another(nft)
    assert watcher.follow() == {}
    watcher.sweep()
    watcher.sweep(OF_SELLERS // times.SECOND)
    assert watcher.recheck() == {Done.TAKEN_OFF: 1}
    assert shown(client)["isForSale"] is False


def cursor(app):
    with app.app_context():
        return following.get_follow(read())["cursor_at"]


@both_engines
def test_changes_that_a_restored_database_lost_are_read_again(app, client, watcher, nft, ledger):
    """As after a restore, or a failover to a standby without the last commits."""
    watcher.follow()
    before = cursor(app)
    approve(ledger, nft)
    assert watcher.follow() == {Done.LISTED: 1}
    write_sql(app, "UPDATE follow SET cursor_at = :before", before=before)
    write_sql(
        app,
        "UPDATE nft SET is_for_sale = 0, is_listed = 0, listing_price = 0, last_listed_at = NULL",
    )
    assert watcher.follow() == {Done.LISTED: 1}
    assert shown(client)["isForSale"] is True


def test_it_finds_a_listing_of_an_nft_that_is_not_stored(app, client, watcher, ledger):
    ledger.mint((TOKEN, 8), CHARLIE, times.now())
    approve(ledger, (TOKEN, 8), owner=CHARLIE)
    assert watcher.follow() == {Done.LISTED: 1}
    assert shown(client, (TOKEN, 8))["owner"] == {"accountId": CHARLIE}


def test_a_memo_without_an_approval_for_us_stores_no_nft(client, watcher, ledger):
    ledger.mint((TOKEN, 8), CHARLIE, times.now())
    ledger.approve((TOKEN, 8), CHARLIE, "0.0.6666", memo=listing_memo(TOKEN, 8, 5, "Foo"))
    assert watcher.follow() == {}
    assert client.get(f"/v1/nft/{TOKEN}/8").status_code == 404


@pytest.mark.parametrize(
    "end",
    [
        lambda ledger: ledger.hand_over(NFT, BOB),
        lambda ledger: ledger.withdraw(NFT, ALICE),
        lambda ledger: ledger.approve(NFT, ALICE, "0.0.6666"),
        lambda ledger: ledger.submit(
            bodies.sign(bodies.rejection(ALICE, NFT), wallet.private_key(ALICE))
        ),
    ],
)
def test_it_finds_the_end_of_a_listing(client, watcher, listed, ledger, end):
    watcher.follow()
    end(ledger)
    assert watcher.follow() == {Done.TAKEN_OFF: 1}
    assert shown(client)["isForSale"] is False


def test_it_finds_what_was_approved_beside_what_a_memo_names(client, watcher, listed, ledger):
    watcher.follow()
    ledger.approve(listed, ALICE, "0.0.6666", memo=listing_memo(TOKEN, 9, 5, "Foo"))
    assert watcher.follow() == {Done.TAKEN_OFF: 1}


@both_engines
@pytest.mark.parametrize("is_listed", [True, False])
def test_it_finds_other_metadata_and_shows_the_last_until_it_is_here(
    app, client, watcher, nft, lister, ledger, is_listed
):
    if is_listed:
        lister(nft, add=False)
    watcher.follow()
    before = shown(client)
    ledger.update_metadata(NFT, "ipfs://bafkqaaa/other.json")
    watcher.follow()
    with app.app_context():
        stored = nfts.get_nft(read(), *nft)
    assert stored["metadata"] == "ipfs://bafkqaaa/other.json"
    assert stored["retry_at"] <= times.to_iso(times.now()) and stored["attempts"] == 0
    assert shown(client) == before


def test_ten_rows_about_one_nft_cause_one_check(app, watcher, nft, ledger, mirror):
    for number in range(10):
        ledger.hand_over(nft, (ALICE, BOB)[number % 2])
    watcher.read()
    assert list_rechecks(app) == [("nft", *nft)]
    mirror.asked.clear()
    watcher.recheck()
    assert mirror.asked == [f"/tokens/{TOKEN}/nfts/7", f"/tokens/{TOKEN}/nfts/7/transactions"]
    assert list_rechecks(app) == []


def test_rows_of_others_are_not_looked_at(app, watcher, nft, ledger):
    ledger.mint(("0.0.8001", 1), CHARLIE, times.now())
    ledger.hand_over(("0.0.8001", 1), BOB)
    ledger.approve(("0.0.8001", 1), BOB, "0.0.6666")
    watcher.recheck(seconds=91)  # at the NFT that was added
    watcher.read()
    assert list_rechecks(app) == []


def test_facts_that_are_older_than_the_row_do_not_end_a_look(
    app, client, watcher, listed, mirror, ledger
):
    """A replica that lags answers with the row that is stored already."""
    watcher.follow()
    watcher.recheck(seconds=120)
    with app.app_context():
        old = services(app).sandbox.app.test_client().get(f"/api/v1/tokens/{TOKEN}/nfts/7").json
    ledger.hand_over(listed, BOB)
    mirror.alter("/nfts/7$", lambda nft: nft.update(old))
    assert watcher.follow() == {Done.UNDECIDED: 1}
    assert list_rechecks(app) == [("nft", *listed)]
    mirror.heal()
    assert watcher.recheck() == {}  # not due
    assert watcher.recheck(seconds=1) == {Done.TAKEN_OFF: 1}
    assert list_rechecks(app) == []


@both_engines
def test_a_list_is_looked_at_once_more_when_all_replicas_show_it(app, watcher, listed, ledger):
    watcher.follow()
    watcher.recheck(seconds=120)
    ledger.mint(("0.0.8001", 1), ALICE, times.now())
    ledger.approve(("0.0.8001", 1), ALICE, "0.0.6666")
    watcher.follow()
    assert list_rechecks(app) == [("account", ALICE, 0)]
    watcher.recheck(seconds=80)
    assert list_rechecks(app) == [("account", ALICE, 0)]
    watcher.recheck(seconds=91)
    assert list_rechecks(app) == []


@both_engines
def test_a_kill_after_reading_loses_nothing(watcher, nft, ledger):
    """Another watcher goes on where the first one was killed, whatever it still had to look at."""
    approve(ledger, nft)
    watcher.read()
    watcher.restart()
    assert watcher.follow() == {Done.LISTED: 1}


def test_a_row_that_makes_no_sense_stops_nothing(app, watcher, nft, ledger, mirror, caplog):
    ledger.hand_over(nft, CHARLIE)
    approve(ledger, nft, owner=CHARLIE)

    def break_first(page):
        if len(page["transactions"]) > 1:  # a list, and not the transaction of one moment
            page["transactions"][0]["transaction_id"] = 7

    mirror.alter("/v1/transactions$", break_first)
    assert watcher.follow() == {Done.LISTED: 1}
    assert "makes no sense: transaction_id: Not a valid string." in caplog.text


ODD = {
    "a memo that is no base64": {"memo_base64": "%%%"},
    "an account that is null": {"transfers": [{"account": None, "amount": 5}]},
    "no id": {"transaction_id": None},
    "no name": {"name": 7},
    "a fee that is a text": {"charged_tx_fee": "much"},
    "a result that is none": {"result": "?"},
}


@pytest.mark.parametrize("odd", ODD)
def test_it_rechecks_all_that_an_unreadable_row_may_concern(
    watcher, listed, ledger, mirror, odd, caplog
):
    watcher.follow()
    ledger.hand_over(listed, CHARLIE)

    def make_odd(page):
        for row in page["transactions"]:
            row.update(ODD[odd])

    mirror.alter("/v1/transactions$", make_odd)
    watcher.read()
    mirror.heal()
    assert watcher.recheck() == {Done.TAKEN_OFF: 1}
    assert "makes no sense: " in caplog.text


def test_an_odd_approval_has_its_payers_listings_checked(watcher, listed, ledger, mirror):
    watcher.follow()
    ledger.withdraw(listed, ALICE)

    def make_odd(page):
        for row in page["transactions"]:
            row["memo_base64"] = "%%%"

    mirror.alter("/v1/transactions$", make_odd)
    watcher.read()
    mirror.heal()
    assert watcher.recheck(seconds=1)[Done.TAKEN_OFF] == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda page: page["transactions"][0].pop("consensus_timestamp"),
        lambda page: page["transactions"][0].update(consensus_timestamp="99999999999.000000000"),
        lambda page: page["transactions"].append(page["transactions"][0]),
        lambda page: page.update(transactions=[7]),
    ],
)
def test_a_page_that_makes_no_sense_is_asked_for_again(app, watcher, nft, ledger, mirror, change):
    approve(ledger, nft)
    mirror.alter("/v1/transactions$", change)
    with pytest.raises(LedgerAnswerInvalid):
        watcher.read()
    assert list_rechecks(app) == [("nft", *nft)]  # it was added
    mirror.heal()
    assert watcher.follow() == {Done.LISTED: 1}


def test_pages_that_are_full_are_read_on(watcher, client, ledger, nft, monkeypatch):
    for number in range(1, 6):
        approve(ledger, nft, price=number)
    with monkeypatch.context() as patched:  # of the feed: an NFT's history has one page
        patched.setattr("marketplace.ledger.mirror.PAGE", 2)
        watcher.read()
    assert watcher.recheck() == {Done.LISTED: 1}
    assert shown(client)["listingPrice"] == 5


def test_a_page_that_tells_nothing_of_ours_is_written_now_and_then(
    app, watcher, ledger, monkeypatch
):
    watcher.read()
    written = cursor(app)
    ledger.mint(("0.0.8001", 1), CHARLIE, times.now())
    ledger.hand_over(("0.0.8001", 1), BOB)
    watcher.read()
    assert cursor(app) == written
    monkeypatch.setattr(following_module, "WRITING_SECONDS", 0)
    watcher.read()
    assert cursor(app) > written


def test_a_mirror_node_that_lags_is_waited_for(watcher, nft, ledger, mirror):
    """Its newest rows come later: the cursor goes no further than to what was seen."""
    mirror.alter("/transactions$", lambda document: document["transactions"].clear())
    approve(ledger, nft)
    assert watcher.follow() == {}
    mirror.heal()
    assert watcher.follow() == {Done.LISTED: 1}


def test_a_watcher_that_is_hopelessly_behind_sweeps_and_follows_from_now_on(
    app, client, watcher, nft, ledger, mirror
):
    approve(ledger, nft)
    mirror.set_present(times.now() + 600 * times.SECOND)  # that was ten minutes ago
    two_days_ago = times.to_iso(times.now() - 2 * following_module.HOPELESS)
    with app.app_context(), write() as db:
        following.mark_followed_from(db, two_days_ago, two_days_ago)
    watcher.restart()
    assert watcher.follow() == {}
    assert client.get("/status").json["lastSync"] is None
    watcher.sweep()
    assert watcher.recheck() == {Done.LISTED: 1}
    assert client.get("/status").json["lastSync"] > "2026"


@both_engines
def test_a_sweep_ends_when_it_has_compared_all_and_awaits_no_transaction(app, watcher, nft):
    now = times.now()
    with app.app_context():
        with write() as db:
            enqueue(db, Recheck.of(What("token", nft[0]), now), now)
        assert freshness.find_last_sweep() == ""
        watcher.sweep()
        assert freshness.find_last_sweep() >= times.to_iso(now)
        assert list_rechecks(app) == [("nft", *nft), ("token", TOKEN, 0)]
        assert freshness.find_last_sync() < times.to_iso(now)


@pytest.fixture
def judged_earlier(app, watcher, ledger, nft):
    """An NFT for sale, stored as an earlier rule would have judged it. Returns what stores it again."""
    approve(ledger, nft, price=250)
    watcher.follow()
    watcher.sweep()
    assert is_judged(app)

    def store():
        write_sql(app, "UPDATE nft SET is_for_sale = 0, is_listed = 0, listing_price = 0")
        write_sql(app, "UPDATE collection SET listed = 0")

    store()
    return store


def is_judged(app):
    with app.app_context():
        return freshness.is_judged()


@both_engines
def test_a_sweep_after_a_change_of_the_rule_judges_again_what_is_not_for_sale(
    app, client, watcher, judged_earlier
):
    write_sql(app, "UPDATE property SET value = :value WHERE name = 'listing_rule'", value=b"1")
    last_sync = client.get("/status").json["lastSync"]
    watcher.sweep()
    watcher.sweep()
    assert watcher.recheck() == {}  # it takes its time
    watcher.sweep(SLOWLY // times.SECOND)
    assert client.get("/status").json["lastSync"] >= last_sync
    assert is_judged(app)
    assert watcher.recheck() == {Done.LISTED: 1}
    assert shown(client)["listingPrice"] == 250

    judged_earlier()  # and with the rule as it was
    with app.app_context():
        sync()
    assert shown(client)["isForSale"] is False


@both_engines
def test_a_sweep_that_an_earlier_rule_began_begins_again(app, client, watcher, judged_earlier):
    outdate = "UPDATE property SET value = :value WHERE name LIKE '%_rule'"
    write_sql(app, outdate, value=b"1")
    watcher.sweep()
    began_at = find_follow(app)["sweep_began_at"]
    write_sql(app, outdate, value=b"1")
    watcher.sweep()
    assert find_follow(app)["sweep_began_at"] > began_at
    watcher.sweep(SLOWLY // times.SECOND)
    assert watcher.recheck() == {Done.LISTED: 1}
    assert is_judged(app)


def find_follow(app):
    with app.app_context():
        return following.get_follow(read())


@pytest.fixture
def swept_yesterday(app, watcher):
    """A sweep is due that takes a day."""
    with app.app_context(), write() as db:
        properties.mark_property(
            db, properties.LAST_SWEEP, times.to_iso(times.now() - 2 * times.DAY).encode()
        )


def test_a_sync_during_a_slow_sweep_compares_everything(app, nft, watcher, swept_yesterday):
    watcher.sweep()
    began_at = find_follow(app)["sweep_began_at"]
    with app.app_context():
        sync()
        finished_at = freshness.find_last_sweep()
        assert finished_at > began_at
        watcher.sweep(SLOWLY // times.SECOND)
        assert find_follow(app)["sweep_began_at"] is None
        assert freshness.find_last_sweep() == finished_at


@both_engines
def test_a_daily_sweep_takes_a_day_and_outlives_the_watcher(
    app, watcher, lister, mirror, swept_yesterday
):
    """Another watcher goes on after the last of the sellers and tokens that were compared."""
    lister((TOKEN, 7))
    lister(("0.0.5001", 7), account_id=BOB)
    watcher.sweep()
    compared = []
    for tenths in (0.6, 0.6, 1, 6, 10):
        mirror.asked.clear()
        assert find_follow(app)["sweep_began_at"]
        watcher.sweep(int(tenths * SLOWLY / 10 / times.SECOND) + 1)
        compared.append(mirror.count("/nfts"))
    assert compared == [1, 0, 1, 1, 1]
    assert not find_follow(app)["sweep_began_at"]


def test_a_sweep_queues_what_it_cannot_compare_and_goes_on(app, client, watcher, lister, mirror):
    lister((TOKEN, 7))
    mirror.fail(f"/accounts/{ALICE}/nfts")
    watcher.sweep()
    with app.app_context():
        assert freshness.find_last_sweep()
    assert freshness_of(client) is None  # it was never compared
    mirror.heal()
    watcher.recheck(seconds=200)
    assert freshness_of(client) > "2026"


@both_engines
def test_a_sweep_waits_while_the_mirror_node_answers_nothing(app, watcher, lister, mirror):
    lister((TOKEN, 7))
    mirror.fail("")
    with pytest.raises(LedgerUnreachable):
        watcher.sweep()
    assert find_follow(app)["swept_to"] is None
    mirror.heal()
    watcher.sweep()
    assert find_follow(app)["sweep_began_at"] is None


def freshness_of(client):
    return client.get("/status").json["lastSync"]


@both_engines
def test_a_page_that_could_not_be_written_is_read_again(app, watcher, nft, ledger):
    approve(ledger, nft)
    write_sql(app, "ALTER TABLE recheck RENAME TO elsewhere")
    with pytest.raises(Exception, match="recheck"):
        watcher.read()
    write_sql(app, "ALTER TABLE elsewhere RENAME TO recheck")
    assert watcher.follow() == {Done.LISTED: 1}


@both_engines
def test_lists_that_name_the_same_nfts_in_another_order_are_queued_at_once(app):
    queued = [Recheck.of(What("nft", TOKEN, serial_no), times.now()) for serial_no in range(1, 200)]

    def queue_often(listed):
        with app.app_context():
            for _ in range(5):
                with write() as db:
                    enqueue_all(db, listed, times.now())
            services(app).database.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(queue_often, (queued, queued[::-1])))
    assert len(list_rechecks(app)) == len(queued)


def wait_until_locked_out(db, engine):
    """Wait until another session waits for this transaction. On SQLite it waits before it has any lock."""
    sql = "SELECT 1 FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid"
    until = time.monotonic() + PATIENCE_SECONDS
    while engine == "postgresql" and not db.execute(sql).fetchall():
        assert time.monotonic() < until
        time.sleep(0.02)


@both_engines
def test_following_and_a_new_listing_do_not_wait_for_each_other(
    app, engine, watcher, listed, ledger
):
    """Both write a collection, and the queue. Who came second was refused."""
    approve_several(ledger, (7,), bulk_listing_memo(TOKEN, 1000, "Foo"))
    ledger.update_metadata(listed, "ipfs://other/7.json")
    with ThreadPoolExecutor(1) as pool, app.app_context():
        with write() as db:  # as a request that stores a listing
            reconciler.note_listed(db, TOKEN, 0)
            followed = pool.submit(watcher.read)
            wait_until_locked_out(db, engine)
            enqueue(db, recheck_later(What("account", ALICE), 0, times.now()), times.now())
        followed.result(PATIENCE_SECONDS)
    assert {("account", ALICE, 0), ("token", TOKEN, 0)} < {*list_rechecks(app)}
