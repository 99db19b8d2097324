"""A file in which processes count: exactly, in windows, and without growing for ever."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from marketplace.store.rate_limit_store import RateLimitFile
from tests.forks import fork, join

pytestmark = pytest.mark.once("its own file")


@pytest.fixture
def counted(tmp_path):
    return RateLimitFile(tmp_path / "limits")


def test_it_counts(counted):
    assert [counted.incr("a", 60), counted.incr("a", 60), counted.incr("b", 60)] == [1, 2, 1]
    assert counted.get("a") == 2
    assert counted.get("c") == 0
    assert 50 < counted.get_expiry("a") - time.time() <= 60
    assert counted.check()
    counted.clear("a")
    assert (counted.get("a"), counted.get("b")) == (0, 1)
    counted.reset()
    assert counted.get("b") == 0


def test_a_window_begins_with_the_first(counted):
    counted.incr("a", 60)
    ends_at = counted.get_expiry("a")
    counted.incr("a", 60)
    assert counted.get_expiry("a") == ends_at


def test_a_window_ends(counted):
    counted.incr("a", 0.2)
    time.sleep(0.25)
    assert counted.get("a") == 0
    assert counted.incr("a", 60) == 1


def test_a_clock_that_was_set_back_begins_anew(counted):
    counted.incr("a", 3600)
    assert counted.incr("a", 60) == 1


def test_windows_that_are_over_are_deleted(counted):
    for number in range(100):
        counted.incr(f"stranger {number}", 0.2)
    counted.incr("often", 3600)
    time.sleep(0.25)
    assert counted.incr("often", 3600) == 2
    assert counted._execute("SELECT COUNT(*) FROM rate_limit") == [(1,)]


def test_ten_thousand_tokens_and_addresses_have_their_places(counted):
    keys = [f"{what} {number}" for what in ("token", "address") for number in range(10_000)]
    assert {counted.incr(key, 3600) for key in keys} == {1}
    assert {counted.get(key) for key in keys} == {1}


def test_a_file_that_is_removed_or_damaged_is_begun_anew(counted, tmp_path):
    counted.incr("a", 60)
    os.remove(tmp_path / "limits")
    assert counted.incr("a", 60) == 1
    (tmp_path / "limits").write_bytes(os.urandom(1000))
    assert counted.incr("a", 60) in (1, 2)


def test_those_who_come_first_at_once_share_a_window(counted):
    # Who waited for the lock looked at the clock before who had it: that clock was not set back.
    with ThreadPoolExecutor(8) as threads:
        for number in range(100):
            counts = threads.map(counted.incr, [f"a {number}"] * 8, [3600] * 8)
            assert sorted(counts) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_processes_lose_no_count(counted, tmp_path):
    def count():
        its_own = RateLimitFile(tmp_path / "limits")
        for _ in range(500):
            its_own.incr("a", 3600)

    join(*[fork(count) for _ in range(4)])
    assert counted.get("a") == 2000
