"""What time changes of offers: they expire, and bidders spend their HBAR. No offer keeps others waiting."""

import pytest

from harness.apps import write_sql
from harness.cast import ALICE, BOB, CHARLIE
from marketplace.errors import LedgerUnreachable
from marketplace.hedera import times
from marketplace.market.offers import rule
from marketplace.services import read
from marketplace.store import offers
from marketplace.watcher import maintenance
from marketplace.watcher.recheck import MAX_LIFE
from marketplace.watcher.sweep import sync
from tests.engines import both_engines
from tests.offering import list_open, move_clock, schedule, state

pytestmark = both_engines

HBAR, SHOWN_SECONDS = 100_000_000, times.ALLOWED_LAG // times.SECOND + 1
MANY = 2 * maintenance.OFFERS_AT_ONCE


@pytest.fixture
def offer(app, ledger, nft, watcher):
    """Have an offer for Alice's NFT made."""

    def offer(bidder=BOB, **fields):
        schedule_id = schedule(app, ledger, bidder=bidder, **fields)
        watcher.follow()
        return schedule_id

    return offer


def run(app, maintain):
    with app.app_context():
        maintain()


def store_copy(app, schedule_id, new_id, **changes):
    """Store an offer under an id that the mirror node does not show."""
    with app.app_context():
        row = {**offers.get_offer(read(), schedule_id)} | changes | {"schedule_id": new_id}
    names, values = ", ".join(row), ", ".join(f":{name}" for name in row)
    write_sql(app, f"INSERT INTO offer ({names}) VALUES ({values})", **row)


def copy_offer(app, schedule_id, **changes):
    for number in range(MANY):
        store_copy(app, schedule_id, f"0.0.{900_000 + number}", **changes)


def test_an_offer_expires(app, ledger, watcher, offer, new_events, monkeypatch):
    schedule_id = offer(expires_in=60)
    new_events()
    run(app, maintenance.queue_expired_offers)
    watcher.recheck()
    assert state(app, schedule_id) == "open"
    move_clock(ledger, monkeypatch, 60 + SHOWN_SECONDS)
    assert list_open(app) == []
    run(app, maintenance.queue_expired_offers)
    watcher.recheck()
    assert new_events() == [("OFFER_EXPIRED", ALICE, BOB, 300, None)]
    assert state(app, schedule_id) == "expired"
    run(app, maintenance.queue_expired_offers)
    assert list_rechecks(app) == []


def list_rechecks(app):
    with app.app_context():
        return [row["id"] for row in read().execute("SELECT * FROM recheck WHERE kind = 'offer'")]


def test_expired_ones_that_stay_undecided_hold_up_no_other(
    app, ledger, watcher, offer, monkeypatch
):
    schedule_id = offer(expires_in=60)
    copy_offer(app, schedule_id, expires_at=times.to_iso(times.now()))
    move_clock(ledger, monkeypatch, 60 + SHOWN_SECONDS)
    for _ in range(MANY // maintenance.OFFERS_AT_ONCE + 1):
        run(app, maintenance.queue_expired_offers)
        watcher.recheck()
    assert state(app, schedule_id) == "expired"
    assert len(list_rechecks(app)) == MANY  # each is tried again by itself


def test_a_sync_ends_all_that_have_expired(app, ledger, offer, monkeypatch):
    schedule_id = offer(expires_in=60)
    copy_offer(app, schedule_id, expires_at=times.to_iso(times.now()))
    move_clock(ledger, monkeypatch, 60 + SHOWN_SECONDS)
    with app.app_context():
        sync()
    assert state(app, schedule_id) == "expired"


def test_one_ends_although_its_bidder_cannot_be_read(
    app, ledger, watcher, mirror, offer, monkeypatch
):
    schedule_id = offer(expires_in=60)
    mirror.alter(f"/accounts/{BOB}$", lambda account: account.update(balance="none"))
    move_clock(ledger, monkeypatch, 60 + SHOWN_SECONDS)
    run(app, maintenance.queue_expired_offers)
    watcher.recheck()
    assert state(app, schedule_id) == "expired"


def test_an_expired_offer_that_the_mirror_node_shows_as_another_schedule_stays_queued(
    app, ledger, watcher, mirror, offer, monkeypatch
):
    """It was queued again by each job, before offers that had expired later."""
    schedule_id = offer(expires_in=60)
    mirror.alter(f"/schedules/{schedule_id}", lambda answer: answer.update(memo="hello"))
    move_clock(ledger, monkeypatch, 60 + SHOWN_SECONDS)
    run(app, maintenance.queue_expired_offers)
    watcher.recheck()
    assert state(app, schedule_id) == "open"
    assert len(list_rechecks(app)) == 1


def test_whether_the_bidder_can_pay_is_looked_at_now_and_then(app, ledger, offer, monkeypatch):
    schedule_id = offer()
    monkeypatch.setattr(maintenance, "COVER_SECONDS", -1)
    assert is_covered(app, schedule_id)
    ledger.change_account(BOB, balance=299 * HBAR)
    run(app, maintenance.cover_offers)
    assert not is_covered(app, schedule_id)
    assert list_open(app) == []
    ledger.change_account(BOB, balance=302 * HBAR)
    run(app, maintenance.cover_offers)
    assert is_covered(app, schedule_id)


def is_covered(app, schedule_id):
    with app.app_context():
        return offers.get_offer(read(), schedule_id)["is_covered"] == 1


@pytest.mark.parametrize("status", [200, 500])
def test_a_bidder_who_cannot_be_read_holds_up_no_other(
    app, ledger, mirror, offer, monkeypatch, caplog, status
):
    unreadable, other = offer(bidder=CHARLIE), offer(price=200)
    copy_offer(app, unreadable, covered_at=times.to_iso(0))
    ledger.change_account(BOB, balance=0)
    mirror.alter(f"/accounts/{CHARLIE}$", lambda account: account.update(balance="none"), status)
    monkeypatch.setattr(maintenance, "COVER_SECONDS", 0)
    for _ in range(MANY // maintenance.OFFERS_AT_ONCE + 1):
        run(app, maintenance.cover_offers)
    assert not is_covered(app, other)
    assert is_covered(app, unreadable)  # as it was
    assert 1 <= caplog.text.count("can pay: ") <= 3


def test_the_check_of_covers_asks_at_most_three_questions_an_offer(app, mirror, offer):
    schedule_id = offer()
    copy_offer(app, schedule_id, covered_at=None)
    before = mirror.count("/")
    run(app, maintenance.cover_offers)
    assert maintenance.OFFERS_AT_ONCE < mirror.count("/") - before <= 3 * maintenance.OFFERS_AT_ONCE


def test_it_checks_no_offers_while_the_mirror_node_is_silent(app, mirror, offer, monkeypatch):
    schedule_id = offer()
    monkeypatch.setattr(maintenance, "COVER_SECONDS", -1)
    with app.app_context():
        before = offers.get_offer(read(), schedule_id)
    mirror.fail("/")
    monkeypatch.setattr(times, "now", lambda now=times.now: now() + 20 * times.SECOND)
    with app.app_context(), pytest.raises(LedgerUnreachable):
        maintenance.cover_offers()
    with app.app_context():
        assert offers.get_offer(read(), schedule_id) == before


@pytest.mark.parametrize(
    ("events_days", "kept"), [(1, {62}), (100, {62, 64, 99}), (400, {62, 64, 99, 101})]
)
def test_ended_ones_are_deleted_as_events_are(app, offer, events_days, kept):
    """But for 63 days a sweep would find them again. What has not ended stays."""
    app.config["EVENTS_DAYS"] = events_days
    schedule_id = offer()
    for days in (62, 64, 99, 101):
        expires_at = times.to_iso(times.now() - days * times.DAY)
        for ended in rule.ENDS:
            store_copy(app, schedule_id, f"{ended} {days}", state=ended, expires_at=expires_at)
        store_copy(app, schedule_id, f"open {days}", expires_at=expires_at)
    run(app, maintenance.delete_offers)
    left = {f"open {days}" for days in (62, 64, 99, 101)}
    left |= {f"{ended} {days}" for ended in rule.ENDS for days in kept}
    with app.app_context():
        rows = read().execute("SELECT schedule_id FROM offer").fetchall()
    assert {row["schedule_id"] for row in rows} == left | {schedule_id}


def test_a_deleted_one_stays_deleted(app, ledger, watcher, offer, monkeypatch):
    app.config["EVENTS_DAYS"] = 1
    schedule_id = offer(expires_in=60)
    for seconds in (60 + SHOWN_SECONDS, MAX_LIFE // times.SECOND):
        move_clock(ledger, monkeypatch, seconds)
        with app.app_context():
            sync()
        assert state(app, schedule_id) == "expired"
        watcher.read()  # the deletion goes by the ledger's time
        run(app, maintenance.delete_offers)
    with app.app_context():
        sync()
    assert state(app, schedule_id) is None
