"""The ledger's own SQLite: a file or memory, of this version alone."""

import os
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from hiero_sandbox.application import create_sandbox
from hiero_sandbox.errors import LedgerBusy, LedgerRefused, LedgerUnusable
from hiero_sandbox.storage import VERSION, Database

ADD = "INSERT INTO created VALUES (?)"
COUNT = "SELECT COUNT(*) FROM created"
LEDGERS = Path(__file__).with_name("ledgers")


@pytest.fixture(params=["file", "memory"])
def ledger(request, tmp_path):
    return Database(tmp_path / "ledger.db" if request.param == "file" else None)


def count(ledger):
    return ledger.connection.execute(COUNT).fetchone()[0]


def test_all_threads_see_one_ledger(ledger):
    def add(number):
        with ledger.write() as db:
            db.execute(ADD, (number,))
        return count(ledger)

    with ThreadPoolExecutor(8) as pool:
        seen = [*pool.map(add, range(200))]
    assert max(seen) == count(ledger) == 200


def test_a_write_is_done_whole_or_not_at_all(ledger):
    with pytest.raises(ZeroDivisionError), ledger.write() as db:
        db.execute(ADD, (1,))
        raise ZeroDivisionError
    assert count(ledger) == 0


def test_each_memory_is_a_ledger_of_its_own():
    first, second = Database(), Database()
    with first.write() as db:
        db.execute(ADD, (1,))
    assert (count(first), count(second)) == (1, 0)


def test_a_file_is_kept(tmp_path):
    path = tmp_path / "new folder/ledger.db"
    with Database(path).write() as db:
        db.execute(ADD, (1,))
    assert count(Database(path)) == 1


def test_a_forked_process_uses_a_connection_of_its_own(tmp_path):
    ledger = Database(tmp_path / "ledger.db")
    assert count(ledger) == 0
    child = os.fork()
    if child == 0:
        with ledger.write() as db:
            db.execute(ADD, (1,))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert count(ledger) == 1


@pytest.mark.parametrize("release", ["0.1.0", "0.3.0"])
def test_a_file_of_another_version_is_set_aside(tmp_path, release, caplog):
    path = tmp_path / "ledger.db"
    shutil.copy(LEDGERS / f"{release}.db", path)
    content = path.read_bytes()
    client = create_sandbox(path).test_client()
    [aside] = tmp_path.glob("ledger.db.before-*")
    assert aside.read_bytes() == content
    assert f"{path} is from another version. It was renamed to {aside}, and" in caplog.text
    assert client.get("/api/v1/accounts/0.0.1002").status_code == 200
    assert Database(path).set_aside is None


def test_a_file_of_a_later_version_is_set_aside_too(tmp_path):
    path = tmp_path / "ledger.db"
    Database(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    assert Database(path).set_aside


@pytest.mark.parametrize("content", [None, b"no database" * 100])
def test_what_is_no_ledger_is_refused_and_stays(tmp_path, content):
    path = tmp_path / "foreign.db"
    if content:
        path.write_bytes(content)
    else:
        with closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE nft (id INTEGER)")
    before = path.read_bytes()
    with pytest.raises(LedgerRefused, match=r"foreign\.db"):
        Database(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", ["page", "end"])
def test_a_damaged_file_is_refused_and_stays(tmp_path, kind):
    """The sandbox started with it, and each request was a 500."""
    path = tmp_path / "ledger.db"
    create_sandbox(path)
    content = bytearray(path.read_bytes())
    if kind == "page":
        content[8192:12288] = b"x" * 4096
    else:
        del content[len(content) // 2 :]
    path.write_bytes(content)
    with pytest.raises(LedgerRefused, match=r"ledger\.db .*(damaged|malformed)"):
        create_sandbox(path)
    assert path.read_bytes() == content


def test_a_ledger_that_stays_locked_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("hiero_sandbox.storage.BUSY_SECONDS", 0.05)
    path = tmp_path / "ledger.db"
    ledger = Database(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerBusy), ledger.write():
            pass


def test_a_file_that_is_gone_is_said(tmp_path):
    path = tmp_path / "ledger.db"
    ledger = Database(path)
    assert count(ledger) == 0
    path.rename(tmp_path / "elsewhere.db")
    with pytest.raises(LedgerUnusable, match="has vanished"):
        count(ledger)
