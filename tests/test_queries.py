"""State changes are guarded: what is older, by the ledger's own clock, never overwrites what is newer."""

import pytest

from marketplace import queries
from marketplace.db import write
from tests.conftest import ALICE, BOB


def at(second):
    return f"2026-11-20T12:00:{second:02}.000000000Z"


@pytest.fixture
def db(app, nft):
    with app.app_context(), write() as db:
        db.execute("UPDATE nft SET ledger_at = ?", (at(10),))
        yield db


def listed(db, nft, price, listed_at, ledger_at):
    return queries.mark_listed(db, *nft, ALICE, price, at(listed_at), at(ledger_at))


def test_a_listing_is_written(db, nft):
    row = listed(db, nft, 5, 20, 20)
    assert (row["is_for_sale"], row["listing_price"], row["last_listed_at"]) == (1, 5, at(20))


def test_a_listing_read_before_something_newer_is_not(db, nft):
    assert listed(db, nft, 5, 5, 5) is None


def test_an_older_listing_does_not_replace_a_newer_one(db, nft):
    listed(db, nft, 9, 30, 30)
    assert listed(db, nft, 5, 20, 30) is None
    assert listed(db, nft, 5, 30, 30) is None


def test_a_listing_taken_off_by_mistake_may_come_back(db, nft):
    listed(db, nft, 5, 20, 20)
    queries.mark_not_listed(db, *nft, ALICE, at(20))
    assert listed(db, nft, 5, 20, 20)["is_for_sale"] == 1


def test_nothing_replaces_a_success(app, db, nft):
    prepared = {
        "transaction_id": "x", "token": nft[0], "serial_no": nft[1], "account_id": ALICE,
        "listing_price": 5, "memo": "", "wallet": "w", "prepared_at": at(1), "expires_at": at(9),
    }  # fmt: skip
    queries.insert_prepared_listing(db, prepared)
    assert queries.mark_result(db, "x", "SUCCESS", at(5))["result"] == "SUCCESS"
    assert queries.mark_result(db, "x", "TRANSACTION_EXPIRED", None) is None


def test_a_listing_does_not_undo_a_later_sale(db, nft):
    queries.mark_not_listed(db, *nft, BOB, at(40))
    assert listed(db, nft, 5, 20, 20) is None
    assert queries.get_nft(db, *nft)["owner"] == BOB


def test_a_sale_read_before_a_later_listing_is_not_written(db, nft):
    listed(db, nft, 5, 30, 30)
    assert queries.mark_not_listed(db, *nft, BOB, at(20)) is None
    assert queries.get_nft(db, *nft)["is_for_sale"] == 1


def test_a_listing_of_unknown_date_may_be_dated(db, nft):
    listed(db, nft, 5, 20, 20)
    queries.mark_listing_date_unknown(db, *nft)
    assert listed(db, nft, 5, 20, 20)["last_listed_at"] == at(20)
