"""The file in which the processes of a machine count: it is made again, and threads and forks share it."""

import os
import stat
import threading
import time
from contextlib import closing

import pytest
from sqlite_utils.utils import sqlite3

from harness.forks import fork, join
from marketplace import machine_file
from marketplace.errors import StartRefused
from marketplace.machine_file import ERRORS, MachineFile
from marketplace.store.rate_limit_store import count_in_window


@pytest.fixture
def file(tmp_path):
    return MachineFile(tmp_path, "nothing is counted")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "machine.db"


def count(file):
    return count_in_window(file, "a", 3600)[0]


def test_only_its_owner_may_read_it(file, path):
    count(file)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_is_removed_or_damaged_is_created_again(file, path, caplog):
    count(file)
    path.unlink()
    assert count(file) == 1
    path.write_bytes(os.urandom(1000))
    assert count(file) in (1, 2)
    assert not caplog.records


def test_a_file_that_is_emptied_while_it_is_open_is_created_again(file, path, caplog):
    """Every statement failed from then on: no limit held, and the mirror node was never asked again."""
    for _ in range(3):
        count(file)
    os.truncate(path, 0)
    assert [count(file), count(file)] == [1, 2]
    assert not caplog.records
    size = path.stat().st_size
    os.truncate(path, size // 2)
    assert count(file) in (1, 3)
    assert count(file) in (2, 4)


def test_another_file_in_its_place_stops_the_start(file, path):
    path.write_text("Dear Bob")
    with pytest.raises(StartRefused, match=r"machine\.db is not a file of this service: remove it"):
        file.check()
    assert path.read_text() == "Dear Bob"


def test_a_file_that_stays_locked_is_an_error_that_is_logged_once(file, path, caplog, monkeypatch):
    monkeypatch.setattr(machine_file, "TIMEOUT_SECONDS", 0.01)
    count(file)
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        for _ in range(3):
            with pytest.raises(ERRORS):
                count(file)
    assert count(file) == 2
    messages = [record.getMessage() for record in caplog.records]
    assert messages == [
        f"{path} cannot be used (database is locked): nothing is counted",
        f"{path} can be used again",
    ]


def test_a_statement_that_fails_while_others_work_is_logged_once(file, caplog):
    for _ in range(3):
        with pytest.raises(ERRORS):
            file.execute("SELECT nothing")
        assert file.execute("SELECT 1") == [(1,)]
    [record] = caplog.records
    assert "nothing is counted" in record.getMessage()


def test_many_threads_take_few_descriptors(file):
    count(file)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(100):
        thread = threading.Thread(target=count, args=(file,))
        thread.start()
        thread.join()
    # Fewer, if the garbage collector closes what an earlier test left.
    assert len(os.listdir("/proc/self/fd")) <= before
    assert count(file) == 102


def test_processes_are_forked_while_threads_count(file, monkeypatch):
    """A child that inherits an open connection would believe that it holds the lock."""
    monkeypatch.setattr(
        machine_file, "TIMEOUT_SECONDS", 60
    )  # on a busy machine a thread waits long
    has_ended = threading.Event()

    def keep_counting():
        while not has_ended.is_set():
            count(file)
            time.sleep(0.001)

    threads = [threading.Thread(target=keep_counting) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        join(*[fork(lambda: count(file)) for _ in range(10)])
    finally:
        has_ended.set()
        for thread in threads:
            thread.join()
    assert count(file) > 10
