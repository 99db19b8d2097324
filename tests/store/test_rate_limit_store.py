"""Processes count requests: exactly, in windows, and without growing for ever."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.forks import fork, join
from marketplace.machine_file import MachineFile
from marketplace.store.rate_limit_store import count_in_window


@pytest.fixture
def file(tmp_path):
    return MachineFile(tmp_path, "nothing is counted")


@pytest.fixture
def count(file):
    """Count, and return how often."""
    return lambda key, seconds: count_in_window(file, key, seconds)[0]


def test_requests_of_a_window_are_counted(file, count):
    assert [count("a", 60), count("a", 60), count("b", 60)] == [1, 2, 1]
    counted, ends_at = count_in_window(file, "a", 60)
    assert counted == 3
    assert 50 < ends_at - time.time() <= 60


def test_a_window_begins_with_the_first(file):
    (_, ends_at), (_, later) = [count_in_window(file, "a", 60) for _ in range(2)]
    assert later == ends_at


def test_a_window_ends(count):
    count("a", 0.2)
    time.sleep(0.25)
    assert count("a", 60) == 1


def test_a_clock_that_was_set_back_resets_the_count(count):
    count("a", 3600)
    assert count("a", 60) == 1


def test_windows_that_are_over_are_deleted(file, count):
    for number in range(100):
        count(f"stranger {number}", 0.2)
    count("often", 3600)
    time.sleep(0.25)
    assert [count("often", 3600), count("seldom", 3600)] == [2, 1]
    assert file.execute("SELECT COUNT(*) FROM rate_limit") == [(2,)]


def test_ten_thousand_tokens_and_addresses_have_their_places(file, count):
    keys = [f"{what} {number}" for what in ("token", "address") for number in range(10_000)]
    assert {count(key, 3600) for key in keys} == {1}
    assert file.execute("SELECT count, COUNT(*) FROM rate_limit GROUP BY count") == [(1, 20_000)]


def test_those_who_come_first_at_once_share_a_window(count):
    # Who waited for the lock looked at the clock before who had it: that clock was not set back.
    with ThreadPoolExecutor(8) as threads:
        for number in range(100):
            counts = threads.map(count, [f"a {number}"] * 8, [3600] * 8)
            assert sorted(counts) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_processes_lose_no_count(count, tmp_path):
    def count_often():
        its_own = MachineFile(tmp_path, "nothing is counted")
        for _ in range(500):
            count_in_window(its_own, "a", 3600)

    join(*[fork(count_often) for _ in range(4)])
    assert count("a", 3600) == 2001
