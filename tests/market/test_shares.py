"""Several watchers share out what they look after: nothing is left over, and nothing is done twice."""

from collections import Counter

import pytest

from marketplace.market.shares import ALL, Share, find_last_sync
from marketplace.store import queries
from marketplace.store.database import write

ACCOUNTS = [f"0.0.{number}" for number in range(1_000_000, 1_012_000)]


def shares(of):
    return [Share(number, of) for number in range(1, of + 1)]


@pytest.mark.parametrize("of", [1, 2, 3, 4, 7, 8, 100])
def test_each_account_falls_to_exactly_one_share(of):
    fallen = Counter(share for account in ACCOUNTS for share in shares(of) if share.has(account))
    assert fallen.total() == len(ACCOUNTS)
    assert len(fallen) == of
    fair = len(ACCOUNTS) / of
    assert all(0.7 * fair < count < 1.3 * fair for count in fallen.values())


def test_an_account_falls_to_the_same_share_wherever_it_is_asked():
    mine = [account for account in ACCOUNTS[:12] if Share(2, 3).has(account)]
    assert mine == ["0.0.1000000", "0.0.1000007"]


def test_the_collections_of_one_owner_are_shared_out_too():
    fallen = Counter(share for n in range(900) for share in shares(3) if share.has("0.0.7007", n))
    assert min(fallen.values()) > 200


@pytest.mark.parametrize("text", ["1/1", "2/3", "100/100"])
def test_a_share_is_read_as_it_is_written(text):
    assert str(Share.parse(text)) == text


@pytest.mark.parametrize(
    "text", ["", "3", "0/3", "4/3", "1/0", "1/101", "-1/3", "1/3/", "1.0/3", "\u0661/3"]
)
def test_what_is_no_share_is_refused(text):
    with pytest.raises(ValueError, match="is not a share"):
        Share.parse(text)


def test_one_watcher_has_the_names_it_always_had():
    assert (ALL.name("sync"), ALL.name("watch")) == ("sync", "watch")
    assert Share(2, 3).name("watch") == "watch-2-of-3"


@pytest.mark.parametrize(
    ("finished", "last"),
    [
        ({}, None),
        ({"1/1": 5}, 5),
        ({"1/2": 5}, None),
        ({"1/2": 5, "2/2": 7}, 5),
        ({"1/1": 6, "1/2": 5, "2/2": 7}, 6),
        ({"1/1": 4, "1/2": 5, "2/2": 7}, 5),
        ({"1/2": 1, "2/2": 2, "1/3": 9, "2/3": 8, "3/3": 7}, 7),
        ({"1/2": 1, "2/2": 2, "1/3": 9, "3/3": 7}, 1),
    ],
)
def test_the_last_sync_is_the_oldest_of_all_shares_and_the_newest_of_all_ways(app, finished, last):
    with app.app_context():
        with write() as db:
            for text, at in finished.items():
                queries.mark_job_finished(db, Share.parse(text).name("sync"), iso(at))
        assert find_last_sync() == (last and iso(last))


def iso(second):
    return f"2026-11-20T12:00:0{second}.000000000Z"
