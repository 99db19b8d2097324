"""State changes are guarded: what is older, by the ledger's own clock, never overwrites what is newer."""

import pytest

from marketplace.store import preparations, queries
from marketplace.store.database import write
from tests.conftest import ALICE, BOB


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
        "owner": owner, "last_listed_at": listed_at, "ledger_at": ledger_at, "seen_at": ledger_at,
    }  # fmt: skip
    return queries.mark_in_line(db, state)


def listed(db, nft, price, listed_at, ledger_at):
    return mark(db, nft, 1, ALICE, price, at(ledger_at), at(listed_at))


def not_listed(db, nft, owner, ledger_at):
    return mark(db, nft, 0, owner, 0, at(ledger_at))


def test_a_listing_is_written(db, nft):
    row = listed(db, nft, 5, 20, 20)
    assert (row["is_for_sale"], row["listing_price"], row["last_listed_at"]) == (1, 5, at(20))


def test_a_listing_read_before_something_newer_is_not(db, nft):
    assert listed(db, nft, 5, 5, 5) is None


def test_an_older_state_does_not_replace_a_newer_one(db, nft):
    listed(db, nft, 9, 30, 30)
    assert listed(db, nft, 5, 20, 20) is None
    assert queries.get_nft(db, *nft)["listing_price"] == 9


def test_a_listing_taken_off_by_mistake_may_come_back(db, nft):
    listed(db, nft, 5, 20, 20)
    not_listed(db, nft, ALICE, 20)
    assert listed(db, nft, 5, 20, 20)["is_for_sale"] == 1


def test_what_left_the_order_book_keeps_the_date_of_its_last_listing(db, nft):
    listed(db, nft, 5, 20, 20)
    assert not_listed(db, nft, BOB, 30)["last_listed_at"] == at(20)


def test_a_listing_does_not_undo_a_later_sale(db, nft):
    not_listed(db, nft, BOB, 40)
    assert listed(db, nft, 5, 20, 20) is None
    assert queries.get_nft(db, *nft)["owner"] == BOB


def test_a_sale_read_before_a_later_listing_is_not_written(db, nft):
    listed(db, nft, 5, 30, 30)
    assert not_listed(db, nft, BOB, 20) is None
    assert queries.get_nft(db, *nft)["is_for_sale"] == 1


def prepared(db, nft, number):
    row = {
        "transaction_id": str(number), "token": nft[0], "serial_no": nft[1], "account_id": ALICE,
        "price": 5, "memo": "", "wallet": "w", "prepared_at": at(number), "kind": "listing",
        "expires_at": at(number + 9), "seller": None, "caller": None, "fee_tinybars": None,
        "is_settled": None,
    }  # fmt: skip
    return preparations.insert_prepared_transaction(db, row)


def test_what_a_report_was_told_stays(db, nft):
    prepared(db, nft, 1)
    assert preparations.mark_result(db, "1", "INVALID_SIGNATURE")["result"] == "INVALID_SIGNATURE"
    assert preparations.mark_result(db, "1", "SUCCESS") is None


def test_only_the_newest_prepared_transactions_are_kept(db, nft):
    for number in range(1, 8):
        prepared(db, nft, number)
    preparations.delete_prepared_transactions_beyond(db, *nft, ALICE, 3)
    kept = preparations.list_prepared_transactions(db, *nft, ALICE, 10)
    assert [row["transaction_id"] for row in kept] == ["7", "6", "5"]


def test_expired_ones_go_a_number_at_a_time(db, nft):
    for number in range(1, 8):
        prepared(db, nft, number)
    assert preparations.delete_expired_preparations(db, ALICE, at(14), 3) == 3
    assert preparations.delete_expired_preparations(db, ALICE, at(14), 3) == 1
    assert preparations.get_expired_preparation(db, ALICE, at(14)) is None
    kept = preparations.list_prepared_transactions(db, *nft, ALICE, 10)
    assert [row["transaction_id"] for row in kept] == ["7", "6", "5"]


def test_an_attempt_that_failed_does_not_take_away_what_another_completed(db, nft):
    db.execute("UPDATE nft SET missing = 'its image', attempts = 1, image = NULL")
    seen = dict(queries.get_nft(db, *nft))
    queries.mark_described(db, seen | {"image": "key", "missing": None, "attempts": 2}, 1)
    assert queries.mark_described(db, seen | {"attempts": 2}, 1) is None
    assert queries.get_nft(db, *nft)["image"] == "key"
