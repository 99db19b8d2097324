"""State changes are guarded: what is older, by the ledger's own clock, never overwrites what is newer."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.cast import ALICE, BOB
from marketplace.services import read, write
from marketplace.store import nfts, prepared_transactions
from marketplace.store.prepared_transactions import PREPARATIONS
from tests.engines import both_engines
from tests.store.tokens import insert_token, names

pytestmark = both_engines


def at(second):
    return f"2026-11-20T12:00:{second:02}.000000000Z"


@pytest.fixture
def db(app, nft):
    with app.app_context(), write() as db:
        db.execute("UPDATE nft SET ledger_at = :date", {"date": at(10)})
        yield db


def mark(db, nft, is_for_sale, owner, price, ledger_at, listed_at=None):
    state = {
        "token": nft[0], "serial_no": nft[1], "is_for_sale": is_for_sale, "listing_price": price,
        "owner": owner, "last_listed_at": listed_at, "ledger_at": ledger_at, "ledger_state": "decided",
    }  # fmt: skip
    return nfts.mark_reconciled(db, state, nfts.get_nft(db, *nft))


def listed(db, nft, price, listed_at, ledger_at):
    return mark(db, nft, 1, ALICE, price, at(ledger_at), at(listed_at))


def not_listed(db, nft, owner, ledger_at):
    return mark(db, nft, 0, owner, 0, at(ledger_at))


def test_a_failed_write_leaves_nothing(app):
    with app.app_context():
        with pytest.raises(RuntimeError), write() as connection:
            insert_token(connection, "half")
            raise RuntimeError
        assert names(read()) == []
        with write() as connection:
            insert_token(connection, "whole")
        assert names(read()) == ["whole"]


def test_racing_writers_wait_for_each_other(app):
    def write_one(number):
        with app.app_context(), write() as connection:
            return insert_token(connection, f"racer {number % 20}") is not None

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(write_one, range(200))) == 20


def test_a_listing_is_written(db, nft):
    row = listed(db, nft, 5, 20, 20)
    assert (row["is_for_sale"], row["listing_price"], row["last_listed_at"]) == (1, 5, at(20))


def test_an_older_state_does_not_replace_a_newer_one(db, nft):
    listed(db, nft, 9, 30, 30)
    assert listed(db, nft, 5, 20, 20) is None
    assert nfts.get_nft(db, *nft)["listing_price"] == 9


def test_a_listing_taken_off_by_mistake_may_come_back(db, nft):
    listed(db, nft, 5, 20, 20)
    not_listed(db, nft, ALICE, 20)
    assert listed(db, nft, 5, 20, 20)["is_for_sale"] == 1


def test_a_listing_that_ended_keeps_its_date(db, nft):
    listed(db, nft, 5, 20, 20)
    assert not_listed(db, nft, BOB, 30)["last_listed_at"] == at(20)


def test_a_sale_read_before_a_later_listing_is_not_written(db, nft):
    listed(db, nft, 5, 30, 30)
    assert not_listed(db, nft, BOB, 20) is None
    assert nfts.get_nft(db, *nft)["is_for_sale"] == 1


def prepared(db, nft, number, caller="shop", end_user="eve", seller=None, **more):
    row = {
        "transaction_id": str(number), "account_id": ALICE,
        "prepared_at": at(number), "kind": "listing",
        "expires_at": at(number + 9), "caller": caller, "end_user": end_user,
        "fee_tinybars": None, "is_settled": None, "schedule_id": None, "signed": None, "unsigned": None,
    }  # fmt: skip
    inserted = prepared_transactions.insert_prepared_transaction(db, row | more)
    of_nft = {"token": nft[0], "serial_no": nft[1], "price": 5, "seller": seller}
    prepared_transactions.insert_prepared_nft(db, str(number), of_nft)
    return inserted


def kept(db):
    rows = db.execute("SELECT * FROM prepared_transaction ORDER BY prepared_at DESC").fetchall()
    return [row["transaction_id"] for row in rows]


def test_only_the_newest_transactions_of_a_caller_are_kept(db, nft):
    prepared(db, nft, 0, kind="purchase", seller=ALICE, fee_tinybars=5, is_settled=0)
    prepared(db, nft, 1, end_user="alice")
    prepared(db, nft, 2, caller="another shop")
    for number in range(3, 8):
        newest = prepared(db, nft, number)
    prepared_transactions.delete_prepared_beyond(db, newest, of_user=3, of_token=50)
    assert kept(db) == ["7", "6", "5", "2", "1", "0"]


def test_the_newest_transaction_is_found_of_a_caller_and_of_all(db, nft):
    prepared(db, nft, 1)
    prepared(db, nft, 2)
    prepared(db, nft, 3, end_user="alice")
    prepared(db, nft, 4, caller="another shop")
    keys = *nft, ALICE
    assert prepared_transactions.get_newest_prepared(db, *keys)["transaction_id"] == "4"
    own = prepared_transactions.get_newest_prepared(db, *keys, by=("shop", "eve"))
    assert own["transaction_id"] == "2"
    by = "another shop", "alice"
    assert prepared_transactions.get_newest_prepared(db, *keys, by) is None


def test_expired_transactions_are_deleted_a_number_at_a_time(db, nft):
    for number in range(1, 8):
        prepared(db, nft, number)
    assert prepared_transactions.delete_expired(db, PREPARATIONS, at(14), 3) == 3
    assert prepared_transactions.delete_expired(db, PREPARATIONS, at(14), 3) == 1
    assert not prepared_transactions.is_any_expired(db, PREPARATIONS, at(14))
    assert kept(db) == ["7", "6", "5"]


def test_an_attempt_that_failed_does_not_take_away_what_another_completed(db, nft):
    db.execute("UPDATE nft SET missing = 'its image', attempts = 1, image = NULL")
    seen = dict(nfts.get_nft(db, *nft))
    nfts.mark_enriched(db, seen | {"image": "key", "missing": None, "attempts": 2}, seen)
    assert nfts.mark_enriched(db, seen | {"attempts": 2}, seen) is None
    assert nfts.get_nft(db, *nft)["image"] == "key"
