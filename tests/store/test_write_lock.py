"""No write meets the checkpoint of another one, in any version of SQLite."""

import struct
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from harness.forks import fork, join
from harness.network import PATIENCE_SECONDS
from marketplace.errors import DatabaseBusy, DatabaseUnusable
from marketplace.store import sqlite_files
from marketplace.store.database import SCHEMA
from marketplace.store.properties import mark_property
from marketplace.store.sqlite import SQLiteDatabase, release_lock, take_lock
from tests.store.tokens import insert_token, names

CHECKPOINTED_PAGES = 1000  # a commit that leaves this many pages in the -wal checkpoints it


@pytest.fixture
def path(tmp_path):
    return tmp_path / "market.db"


def read_wal_index(path):
    """How many frames the -wal has, and how many of them were checkpointed."""
    content = Path(f"{path}-shm").read_bytes()
    return *struct.unpack_from("=I", content, 16), *struct.unpack_from("=I", content, 96)


def write_much(path, name):
    database = SQLiteDatabase(path, SCHEMA)
    for _ in range(12):
        with database.write() as db:
            mark_property(db, name, bytes(CHECKPOINTED_PAGES * 5000))


def look_while_others_write(path):
    """What whoever has the lock meets, while two processes write."""
    writers = [fork(partial(write_much, path, name)) for name in ("one", "other")]
    met = []
    while any(writer.is_alive() for writer in writers):
        lock = take_lock(f"{path}.lock", PATIENCE_SECONDS)
        with suppress(
            FileNotFoundError, struct.error
        ):  # before the first write, and after the last
            met.append(read_wal_index(path))
        release_lock(lock)
        time.sleep(0.005)  # for a writer to take it
    join(*writers)
    return [frames for frames in met if frames[0] > CHECKPOINTED_PAGES]


def test_whoever_has_the_lock_meets_no_checkpoint(path):
    # Two writers may hand the lock to each other, so that no look falls between two large writes.
    large = next(filter(None, (look_while_others_write(path) for _ in range(10))))
    assert [(size, checkpointed) for size, checkpointed in large if size != checkpointed] == []


def test_a_write_waits_for_the_lock_but_not_for_ever(path, monkeypatch):
    database = SQLiteDatabase(path, SCHEMA)
    monkeypatch.setattr(sqlite_files, "BUSY_TIMEOUT_SECONDS", 0.05)
    lock = take_lock(f"{path}.lock")
    with pytest.raises(DatabaseBusy), database.write():
        pass
    release_lock(lock)
    with database.write() as db:
        insert_token(db, "alice")
    assert names(database.connection) == ["alice"]


def test_a_lock_that_cannot_be_opened_makes_the_database_unusable(path):
    database = SQLiteDatabase(path, SCHEMA)
    Path(f"{path}.lock").unlink()
    Path(f"{path}.lock").mkdir()
    with pytest.raises(DatabaseUnusable, match="Is a directory"), database.write():
        pass
