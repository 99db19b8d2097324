"""A mirror node is several replicas, and each answer may come from one that lags, within what is allowed.

In each test the first answers come from a replica that stays as it was.
"""

import threading

import pytest
from werkzeug.wrappers import Response

from harness import wallets
from harness.apps import write_sql
from harness.cast import ALICE, BOB, CHARLIE, TOKEN
from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable
from marketplace.hedera import times
from marketplace.market import freshness
from marketplace.market.buying import fees
from marketplace.market.memos import bulk_listing_memo, listing_memo, withdrawal_memo
from marketplace.services import read, write
from marketplace.store import following, rechecks
from marketplace.watcher.done import Done
from marketplace.watcher.follow import HOPELESS, backfill
from marketplace.watcher.sweep import sync
from tests.actions import buy_unseen, hand_in, shown
from tests.answers import assert_error
from tests.engines import both_engines
from tests.watcher.conftest import Watcher
from tests.watcher.following import MARKET, approve, approve_several, list_rechecks

NFT, SHOWN_SECONDS = (TOKEN, 7), times.ALLOWED_LAG // times.SECOND + 1


# What ended a listing is not missed


def revoke(ledger, nft, owner):
    body = wallets.withdrawal(owner, nft)
    body.memo = "not ours"
    assert ledger.submit(ledger.sign_bytes(wallets.seal(body), owner)).result == "SUCCESS"


def approve_another(ledger, nft, owner):
    ledger.approve(nft, owner, "0.0.6666")


@pytest.mark.parametrize("end", [revoke, approve_another])
@pytest.mark.parametrize("serial_no", [7, 8])
def test_a_listing_that_ended_before_it_was_found_ends(
    client, watcher, nft, ledger, mirror, end, serial_no
):
    """Its owner has nothing listed yet when the end is read, whether the NFT is stored or not."""
    watcher.recheck(seconds=SHOWN_SECONDS)
    listed = TOKEN, serial_no
    ledger.mint(listed, ALICE, times.now())
    approve(ledger, listed)
    mirror.answer("/tokens/", mirror.replica())
    end(ledger, listed, ALICE)
    assert watcher.follow() == {Done.LISTED: 1}
    mirror.heal()
    assert watcher.recheck(seconds=SHOWN_SECONDS) == {Done.TAKEN_OFF: 1}
    assert shown(client, listed)["isForSale"] is False
    assert watcher.recheck(seconds=3 * SHOWN_SECONDS) == {}


@both_engines
def test_all_that_one_withdrawal_ended_is_found_at_once(watcher, lister, ledger):
    """Its memo names one of them."""
    for serial_no in range(1, 6):
        lister((TOKEN, serial_no))
    watcher.read()
    watcher.recheck(seconds=SHOWN_SECONDS)
    body = wallets.withdrawal(ALICE, (TOKEN, 1))
    body.memo = withdrawal_memo(TOKEN, 1, "Foo")
    body.cryptoDeleteAllowance.nftAllowances[0].serial_numbers.extend([2, 3, 4, 5])
    assert ledger.submit(ledger.sign_bytes(wallets.seal(body), ALICE)).result == "SUCCESS"
    assert watcher.follow() == {Done.TAKEN_OFF: 5}


def test_a_listing_of_one_nft_reads_no_list_of_its_seller(watcher, nft, ledger, mirror):
    watcher.recheck(seconds=SHOWN_SECONDS)
    approve(ledger, nft)
    watcher.follow()
    approve(ledger, nft, price=6)
    mirror.asked.clear()
    assert watcher.follow() == {Done.LISTED: 1}
    assert not any(path.startswith("/accounts/") for path in mirror.asked)


# No purchase at a price that is known to be outdated


def test_no_purchase_is_signed_at_a_price_that_a_later_transaction_changed(
    client, watcher, listed, ledger, mirror, buy
):
    watcher.follow()
    mirror.answer("/tokens/0.0.7001/nfts/", mirror.replica())
    approve(ledger, listed, price=1000)
    assert watcher.follow() == {}
    refused = buy()
    assert_error(refused, 503, "it does not show a later transaction yet")
    assert refused.json["reason"] == "TRY_AGAIN"
    assert refused.headers["Retry-After"] == "3"
    mirror.heal()
    assert watcher.recheck(seconds=1) == {Done.LISTED: 1}
    assert_error(buy(expectedPrice=250), 409, "1000")
    assert buy(expectedPrice=1000).status_code == 200


def test_no_purchase_is_signed_at_a_price_that_changed_between_two_pages_of_a_history(
    client, watcher, listed, ledger, mirror, buy
):
    replica = mirror.replica()
    approve(ledger, listed, price=1000)
    for number in range(100):
        ledger.update_metadata(listed, f"ipfs://other/{number}.json")
    mirror.answer_later_pages("/nfts/7/transactions", replica)
    watcher.follow()
    refused = buy()
    assert_error(refused, 503)
    assert refused.json["reason"] == "TRY_AGAIN"
    mirror.heal()
    mirror.set_present(times.now() + 2 * times.MINUTE)
    assert watcher.recheck(60) == {Done.LISTED: 1}
    assert shown(client)["listingPrice"] == 1000


def test_no_purchase_is_signed_at_a_price_that_a_listing_of_several_changed(
    watcher, listed, ledger, mirror, buy
):
    watcher.follow()
    replica = mirror.replica()
    for part in ("/tokens/0.0.7001/nfts/", "/accounts/.*/nfts"):
        mirror.answer(part, replica)
    approve_several(ledger, (7,), bulk_listing_memo(TOKEN, 1000, "Foo"))
    assert watcher.follow() == {}
    refused = buy()
    assert_error(refused, 503, "it does not show a later transaction yet")
    assert refused.json["reason"] == "TRY_AGAIN"
    mirror.heal()
    assert watcher.recheck(seconds=1) == {Done.LISTED: 1}
    assert_error(buy(expectedPrice=250), 409, "1000")
    assert buy(expectedPrice=1000).status_code == 200


def test_a_listing_of_several_stops_no_purchase_of_another_once_the_list_shows_it(
    watcher, listed, ledger, buy
):
    ledger.mint((TOKEN, 8), ALICE, times.now())
    watcher.follow()
    approve_several(ledger, (8,), bulk_listing_memo(TOKEN, 30, "Foo"))
    watcher.read()
    assert_error(buy(), 503, "later transaction")
    watcher.recheck()
    assert buy(expectedPrice=250).status_code == 200


def test_a_listing_of_several_by_another_stops_no_purchase(watcher, listed, ledger, buy):
    ledger.mint((TOKEN, 8), CHARLIE, times.now())
    watcher.follow()
    approve_several(ledger, (8,), bulk_listing_memo(TOKEN, 30, "Foo"), owner=CHARLIE)
    watcher.read()
    assert buy(expectedPrice=250).status_code == 200


def test_a_purchase_waits_for_the_listing_of_several_and_not_for_what_followed_it(
    app, watcher, listed, ledger, buy
):
    """The queue has one entry for a seller. It waits for 90 s if no list shows what was changed."""
    for serial_no in (8, 9):
        ledger.mint((TOKEN, serial_no), ALICE, times.now())
    watcher.follow()
    watcher.recheck(seconds=SHOWN_SECONDS)
    approve_several(ledger, (8,), bulk_listing_memo(TOKEN, 30, "Foo"))
    approve_another(ledger, (TOKEN, 9), ALICE)
    watcher.follow()
    assert ("account", ALICE, 0) in list_rechecks(app)
    assert buy(expectedPrice=250).status_code == 200


@both_engines
def test_a_listing_of_several_by_who_has_a_long_list_stops_purchases_for_a_while(
    watcher, listed, ledger, buy, monkeypatch
):
    """A list of several requests may be of several replicas: only what they show is known."""
    monkeypatch.setattr("marketplace.watcher.recheck.PAGE", 1)
    ledger.mint((TOKEN, 8), ALICE, times.now())
    watcher.follow()
    approve_several(ledger, (8,), bulk_listing_memo(TOKEN, 30, "Foo"))
    watcher.follow()
    assert buy((TOKEN, 8), expectedPrice=30).status_code == 200
    assert_error(buy(), 503, "later transaction")
    watcher.recheck(seconds=SHOWN_SECONDS)
    assert buy(expectedPrice=250).status_code == 200


def test_a_listing_of_several_is_found_as_soon_as_a_list_shows_it(client, watcher, ledger, mirror):
    for serial_no in (8, 9):
        ledger.mint((TOKEN, serial_no), ALICE, times.now())
    mirror.answer("/accounts/", mirror.replica())
    approve_several(ledger, (8, 9), bulk_listing_memo(TOKEN, 30, "Foo"))
    assert watcher.follow() == {}
    mirror.heal()
    assert watcher.recheck(seconds=1) == {Done.LISTED: 2}
    assert shown(client, (TOKEN, 9))["listingPrice"] == 30


@both_engines
def test_a_strangers_memo_stops_no_purchase(app, watcher, listed, ledger, buy):
    ledger.mint((TOKEN, 8), CHARLIE, times.now())
    watcher.follow()
    watcher.recheck(seconds=SHOWN_SECONDS)
    memo = listing_memo(*listed, 1, "Foo")
    ledger.approve((TOKEN, 8), CHARLIE, MARKET, memo=memo)
    watcher.follow()
    assert list_rechecks(app) == [("account", ALICE, 0)]
    assert buy(expectedPrice=250).status_code == 200


@both_engines
def test_a_strangers_memo_stops_no_purchase_of_what_is_queued(app, watcher, listed, ledger, buy):
    """An NFT that was just added is queued: a replica may have shown something old."""
    ledger.mint((TOKEN, 8), CHARLIE, times.now())
    watcher.read()
    assert ("nft", *listed) in list_rechecks(app)
    for _ in range(2):
        ledger.approve((TOKEN, 8), CHARLIE, MARKET, memo=listing_memo(*listed, 1, "Foo"))
        watcher.read()
        bought = buy(expectedPrice=250)
        assert bought.status_code == 200, bought.text


@both_engines
def test_a_new_owners_listing_is_found_though_its_nft_is_queued(client, watcher, listed, ledger):
    ledger.hand_over(listed, BOB)
    approve(ledger, listed, price=9, owner=BOB)
    watcher.follow()
    watcher.recheck(seconds=SHOWN_SECONDS)
    nft = shown(client, listed)
    assert (nft["owner"]["accountId"], nft["listingPrice"]) == (BOB, 9)


@pytest.mark.parametrize("serial_no", [7, 99])
def test_repeated_rechecks_delay_the_last_sync_by_a_replicas_lag_at_most(
    app, watcher, listed, ledger, serial_no
):
    """A memo names a listed NFT, or one that does not exist."""
    ledger.mint((TOKEN, 8), CHARLIE, times.now())
    watcher.follow()
    watcher.recheck(seconds=SHOWN_SECONDS)
    memo = listing_memo(TOKEN, serial_no, 1, "Foo")
    ledger.approve((TOKEN, 8), CHARLIE, MARKET, memo=memo)
    watcher.read()
    an_hour_ago = times.to_iso(times.now() - times.HOUR)  # since when it has been queued again
    write_sql(app, "UPDATE recheck SET since = :since", since=an_hour_ago)
    watcher.recheck()
    with app.app_context():
        first = rechecks.get_first_change(read())
    assert first is None or first > times.to_iso(times.now() - 2 * times.ALLOWED_LAG)


@both_engines
def test_a_memo_that_names_what_its_transaction_left_alone_stops_purchases_for_a_while(
    watcher, listed, ledger, buy, mirror
):
    ledger.mint((TOKEN, 8), ALICE, times.now())
    ledger.approve((TOKEN, 8), ALICE, MARKET, memo=listing_memo(*listed, 1, "Foo"))
    watcher.follow()
    assert_error(buy(), 503, "later transaction")
    watcher.recheck(seconds=SHOWN_SECONDS)
    assert buy().status_code == 200


# Where following begins


@pytest.fixture
def unknown(ledger, mirror):
    """A listing by an account that nobody knows, just now. The replica that is asked does not show it yet."""
    nft = TOKEN, 9
    ledger.mint(nft, CHARLIE, times.now())
    mirror.answer("/transactions$", mirror.replica())
    approve(ledger, nft, owner=CHARLIE)
    return nft


@pytest.mark.parametrize("days", [0, 2])
def test_a_listing_that_the_first_answers_do_not_show_is_found(app, client, unknown, mirror, days):
    """At the first start, and after a stop of more than a day."""
    if days:
        then = times.to_iso(times.now() - days * HOPELESS)
        with app.app_context(), write() as db:
            following.mark_followed_from(db, then, then)
    watcher = Watcher(app)
    watcher.read()
    with app.app_context():
        backfill(threading.Event())
        sync()
    assert watcher.recheck() == {}
    mirror.heal()
    assert watcher.follow() == {Done.LISTED: 1}
    assert shown(client, unknown)["isForSale"] is True
    watcher.rechecker.close()


# What is said to have been seen


def last_sync(client):
    return client.get("/status").json["lastSync"]


def swept(app):
    with app.app_context():
        sync()


@pytest.mark.parametrize("old", ["/transactions$", "/tokens/"])
def test_the_last_sync_does_not_pass_a_sale_that_is_not_shown(
    app, client, watcher, listed, ledger, mirror, old, monkeypatch
):
    """Neither one of which following has not read, nor one that is still to be checked."""
    monkeypatch.setattr("marketplace.watcher.follow.WRITING_SECONDS", 0)
    swept(app)
    watcher.follow()
    watcher.recheck(seconds=SHOWN_SECONDS)
    mirror.answer(old, mirror.replica())
    ledger.hand_over(listed, BOB)
    sold_at = times.to_iso(times.now())
    watcher.restart()  # and ask for the newest block
    watcher.follow()
    assert last_sync(client).rstrip("Z") < sold_at
    mirror.heal()
    approve(ledger, listed, owner=BOB)
    watcher.follow()
    watcher.recheck(seconds=1)
    assert shown(client)["owner"] == {"accountId": BOB}
    watcher.recheck(seconds=SHOWN_SECONDS)
    assert last_sync(client) > sold_at


def test_the_last_sync_does_not_pass_the_first_of_two_changes(
    app, client, watcher, listed, ledger, mirror
):
    """The queue has one entry for an NFT, whatever happened to it."""
    swept(app)
    watcher.follow()
    watcher.recheck(seconds=SHOWN_SECONDS)
    mirror.answer("/tokens/", mirror.replica())
    ledger.hand_over(listed, BOB)
    sold_at = times.to_iso(times.now())
    watcher.follow()
    ledger.hand_over(listed, CHARLIE)
    watcher.follow()
    assert shown(client)["owner"] == {"accountId": ALICE}
    assert last_sync(client).rstrip("Z") < sold_at


def test_the_last_sync_does_not_pass_what_ended_a_listing_that_was_just_found(
    app, client, watcher, nft, ledger, mirror
):
    """Its owner had nothing listed yet when the end was read."""
    swept(app)
    watcher.recheck(seconds=SHOWN_SECONDS)
    approve(ledger, nft)
    mirror.answer("/tokens/", mirror.replica())
    revoke(ledger, nft, ALICE)
    assert watcher.follow() == {Done.LISTED: 1}
    listed_at = shown(client)["lastListedDate"]
    assert last_sync(client) <= listed_at
    mirror.heal()
    assert watcher.recheck(seconds=SHOWN_SECONDS) == {Done.TAKEN_OFF: 1}
    assert last_sync(client) > listed_at


def test_an_nft_that_is_added_sets_the_last_sync_back_by_what_is_allowed(
    app, client, watcher, ledger
):
    """Not to the date of its last change, which may be years ago."""
    swept(app)
    ledger.mint(NFT, ALICE, wallets.MINTED_AT)
    began_at = times.now()
    body = {"accountId": ALICE, "tokenId": TOKEN, "serialNo": 7}
    assert client.post("/v1/add", json=body).status_code == 200
    allowed = times.to_iso(began_at - times.ALLOWED_LAG - times.SECOND)
    assert allowed < last_sync(client) < times.to_iso(began_at)


def test_the_last_sync_does_not_pass_the_first_listing_of_an_nft_that_is_undecided(
    app, client, watcher, nft, ledger, mirror
):
    swept(app)
    watcher.follow()
    watcher.recheck(seconds=SHOWN_SECONDS)
    ledger.mint((TOKEN, 8), ALICE, times.now())
    approve_several(ledger, (8,), bulk_listing_memo(TOKEN, 30, "Foo"))
    listed_by = times.to_iso(times.now())
    replica = mirror.replica()
    approve(ledger, (TOKEN, 8), price=40)
    mirror.answer("/nfts/8/transactions", replica)
    body = {"accountId": ALICE, "tokenId": TOKEN, "serialNo": 8}
    assert client.post("/v1/add", json=body).status_code == 200
    mirror.fail("/accounts/")
    watcher.follow()
    assert shown(client, (TOKEN, 8))["isForSale"] is False
    mirror.heal()
    mirror.answer("/", replica)
    watcher.recheck(seconds=10)
    assert last_sync(client).rstrip("Z") < listed_by
    mirror.heal()
    assert watcher.recheck(seconds=60) == {Done.LISTED: 1}


def test_it_stores_no_listing_before_it_is_decided(client, watcher, ledger, mirror):
    """It may have been listed for long: as an NFT that is not listed, it would contradict the last sync."""
    ledger.mint((TOKEN, 8), ALICE, times.now())
    approve(ledger, (TOKEN, 8), price=30)
    mirror.answer("/nfts/8/transactions", mirror.replica())
    approve(ledger, (TOKEN, 8), price=40)
    # Twice: a stranger may have paid for the second approval, so it has its payer's list read, which shows
    # the NFT with a later date than the first approval's.
    assert watcher.follow() == {Done.UNDECIDED: 2}
    assert client.get(f"/v1/nft/{TOKEN}/8").status_code == 404
    mirror.heal()
    assert watcher.recheck(seconds=SHOWN_SECONDS) == {Done.LISTED: 1}
    assert shown(client, (TOKEN, 8))["listingPrice"] == 40


def test_a_purchase_that_a_lagging_replica_hides_is_not_settled_as_free(
    app, client, watcher, listed, mirror, buy
):
    prepared = buy()
    mirror.answer("/transactions$", mirror.replica())
    hand_in(client, prepared)
    with app.app_context():
        reserved = fees.find_fees(times.now())
        mirror.set_present(times.now() + 180 * times.SECOND)  # it has expired by then
        watcher.restart()  # and ask for the newest block
        watcher.read()
        assert fees.find_fees(times.now()) == reserved
        mirror.heal()
        watcher.read()
        charged, still_reserved = fees.find_fees(times.now())
    assert charged > 0
    assert still_reserved == 0


@both_engines
@pytest.mark.parametrize("hours", [0, 1, 25])
def test_a_purchase_is_charged_though_the_watcher_was_down(
    app, client, watcher, listed, buy, monkeypatch, hours
):
    buy_unseen(client, buy())
    real = times.now
    monkeypatch.setattr(times, "now", lambda: real() + hours * times.HOUR + 5 * times.MINUTE)
    watcher.restart()
    watcher.read()
    sql = "SELECT account_id, fee_tinybars FROM prepared_transaction WHERE is_settled = 1"
    with app.app_context():
        fees = {row["account_id"]: row["fee_tinybars"] for row in read().execute(sql)}
    assert fees[BOB] > 0


# Whose clock


@both_engines
def test_with_a_clock_that_is_ahead_the_first_stale_list_is_not_final(
    client, watcher, listed, ledger, mirror, monkeypatch
):
    watcher.follow()
    watcher.recheck(seconds=SHOWN_SECONDS)
    mirror.answer("/accounts/", mirror.replica())
    approve_another(ledger, listed, ALICE)
    real = times.now()
    mirror.set_present(real)
    monkeypatch.setattr(times, "now", lambda: real + times.ALLOWED_LAG + 10 * times.SECOND)
    watcher.restart()
    assert watcher.follow() == {}
    mirror.heal()
    mirror.set_present(real)
    assert watcher.recheck(seconds=SHOWN_SECONDS) == {Done.TAKEN_OFF: 1}


# After an outage


# Of a mirror node, and of a proxy before it.
OUTAGES = {
    "503": Response(b"", 503),
    "403": Response(b"<html>Forbidden", 403),
    "another server's 404": Response(b"<html>Not found", 404),
    "HTML": Response(b"<html>Please log in"),
}


@pytest.mark.parametrize("outage", OUTAGES)
def test_after_an_outage_nothing_waits_for_its_pause(app, watcher, listed, ledger, mirror, outage):
    watcher.follow()
    ledger.hand_over(listed, BOB)
    watcher.read()
    mirror.answer("/", OUTAGES[outage])
    for attempt in range(9):
        assert not watcher.recheck(2**attempt).keys() - {Done.NOT_CHECKED}
    with pytest.raises((LedgerUnreachable, LedgerAnswerInvalid)):
        watcher.read()
    with app.app_context():
        queued = rechecks.get_recheck(read(), "nft", *NFT)
    assert queued["due_at"] > times.to_iso(times.now() + 100 * times.SECOND)
    mirror.heal()
    assert watcher.follow() == {Done.TAKEN_OFF: 1}


@pytest.mark.parametrize("outage", OUTAGES)
def test_after_an_outage_that_the_feed_did_not_have_nothing_waits(
    app, watcher, lister, ledger, mirror, outage
):
    """A withdrawn NFT left the order book minutes after the recovery, and lastSync had passed it."""
    nfts = [(TOKEN, serial_no) for serial_no in range(1, 6)]
    for nft in nfts:
        lister(nft)
    watcher.follow()
    watcher.recheck(seconds=SHOWN_SECONDS)
    with app.app_context():
        sync()
    for nft in nfts:
        ledger.hand_over(nft, BOB)
    changed_by = times.to_iso(times.now())
    mirror.answer("/tokens/", OUTAGES[outage])
    for attempt in range(14):
        watcher.read()
        assert not watcher.recheck(seconds=2**attempt).keys() - {Done.NOT_CHECKED}
    with app.app_context():
        assert freshness.find_last_sync() < changed_by
    mirror.heal()
    assert watcher.recheck(seconds=10) == {Done.TAKEN_OFF: 5}
    watcher.read()
    with app.app_context():
        assert rechecks.count_rechecks(read()) == 0


def test_it_rechecks_an_import_that_read_a_lagging_replica(app, client, watcher, ledger, mirror):
    """Following had passed the transfer before: the NFT was not stored then."""
    ledger.mint(NFT, ALICE, times.now())
    replica = mirror.replica()
    ledger.hand_over(NFT, BOB)
    watcher.follow()
    mirror.answer("/tokens/", replica)
    app.test_cli_runner().invoke(args=["import", TOKEN])
    assert shown(client)["owner"] == {"accountId": ALICE}
    mirror.heal()
    watcher.recheck(seconds=SHOWN_SECONDS)
    assert shown(client)["owner"] == {"accountId": BOB}
