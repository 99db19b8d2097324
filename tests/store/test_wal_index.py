"""The version of an SQLite database is another one after each commit, and reading it costs nobody a lock."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from harness.forks import fork, join
from harness.serving import run_python
from marketplace.store import wal_index
from marketplace.store.database import SCHEMA
from marketplace.store.sqlite import SQLiteDatabase
from tests.store.tokens import insert_token


@pytest.fixture
def database(tmp_path):
    with closing(SQLiteDatabase(tmp_path / "market.db", SCHEMA)) as database:
        yield database


def in_another_process(database, program):
    return run_python(program, database.path).strip()


WRITE = """
import sys
from sqlite_utils.utils import sqlite3
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
try:
    connection.execute("INSERT INTO property VALUES (hex(randomblob(8)), x'00')")
    print("written")
except sqlite3.OperationalError as error:
    print(error)
"""


def test_each_commit_changes_the_version(database):
    seen = [database.data_version()]
    for number in range(3):
        with database.write() as connection:
            insert_token(connection, f"ours {number}")
        seen.append(database.data_version())
        assert in_another_process(database, WRITE) == "written"
        seen.append(database.data_version())
        database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        seen.append(database.data_version())
    assert None not in seen
    commits = [version for number, version in enumerate(seen) if number % 3 != 0 or number == 0]
    assert len({*commits}) == len(commits) == 7


def test_only_a_commit_changes_the_version(database):
    version = database.data_version()
    database.connection.execute("SELECT * FROM property").fetchall()
    with pytest.raises(ZeroDivisionError), database.write() as connection:
        insert_token(connection, "rolled back")
        raise ZeroDivisionError
    assert database.data_version() == version


def test_a_reader_of_the_version_takes_no_lock_from_a_writer(database):
    """A process that closes a descriptor of the -shm file loses its locks there."""
    with database.write() as connection:
        insert_token(connection, "not committed yet")
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(database.data_version).result()
            thread.submit(database.close).result()
            assert thread.submit(database.data_version).result()
        assert in_another_process(database, WRITE) == "database is locked"
    assert in_another_process(database, WRITE) == "written"


def test_a_child_waits_for_no_thread_of_its_parent(database):
    with wal_index._lock:
        child = fork(lambda: SQLiteDatabase(database.path, SCHEMA).data_version() or 1 / 0)
    join(child)


DAMAGE = """
import sys
with open(sys.argv[1] + "-shm", "r+b") as file:
    file.seek(48 + 8)
    file.write(b"killed")
"""


def test_no_version_is_read_from_a_half_written_header(database):
    """As a process leaves it that is killed between its two copies. The next statement mends it."""
    assert database.data_version()
    in_another_process(database, DAMAGE)
    assert database.data_version() is None
    database.connection.execute("SELECT * FROM property").fetchall()
    assert database.data_version()


def test_maps_of_deleted_files_are_closed(tmp_path):
    for number in range(5):
        with closing(SQLiteDatabase(tmp_path / f"{number}.db", SCHEMA)) as database:
            assert database.data_version()
            before = len(wal_index._maps)
    assert before == len(wal_index._maps)
    with closing(SQLiteDatabase(tmp_path / "last.db", SCHEMA)) as database:
        assert database.data_version()
        assert len(wal_index._maps) <= before
