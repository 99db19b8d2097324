"""The version of an SQLite database is another one after each commit."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from harness.serving import run_python
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
    with database.write() as connection:
        insert_token(connection, "not committed yet")
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(database.data_version).result()
            thread.submit(database.close).result()
            assert thread.submit(database.data_version).result()
        assert in_another_process(database, WRITE) == "database is locked"
    assert in_another_process(database, WRITE) == "written"
