"""What was answered with success survives; several processes share one file safely."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from sqlite_utils.utils import sqlite3

from harness.forks import fork, join
from harness.serving import run_flask, run_python
from marketplace.errors import StartRefused
from marketplace.services import services
from marketplace.store import sqlite as engine
from marketplace.store.database import SCHEMA
from marketplace.store.sqlite import SQLiteDatabase
from tests.store.released import put
from tests.store.tokens import insert_token, names
from tests.store.writers import writing


def test_it_is_set_up_to_keep_what_was_answered(app):
    def pragma(name):
        return services(app).database.connection.execute(f"PRAGMA {name}").fetchone()[0]

    assert pragma("journal_mode") == "wal"
    assert pragma("synchronous") == 2  # FULL
    assert pragma("foreign_keys") == 1


def test_a_thread_keeps_its_connection_and_shares_it_with_no_other(app):
    database = services(app).database
    assert database.connection is database.connection
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: database.connection).result() is not database.connection


WRITE_ONE = """
import sys
from marketplace.store.database import (SCHEMA)
from marketplace.store.sqlite import SQLiteDatabase
from tests.store.tokens import insert_token

with SQLiteDatabase(sys.argv[1], SCHEMA).write() as connection:
    insert_token(connection, sys.argv[2])
"""
READ_ALL = """
import sys
from marketplace.store.database import (SCHEMA)
from marketplace.store.sqlite import SQLiteDatabase
from tests.store.tokens import names

print(*sorted(names(SQLiteDatabase(sys.argv[1], SCHEMA).connection)))
"""
FORKING = """
import os, subprocess, sys, time
from marketplace.store.database import (SCHEMA)
from marketplace.store.sqlite import SQLiteDatabase
from tests.store.test_database import READ_ALL, WRITE_ONE
from tests.store.tokens import insert_token, names

database = SQLiteDatabase(sys.argv[1], SCHEMA)
with database.write() as connection:
    insert_token(connection, "parent")
database.data_version()
parent = os.getpid()
if os.fork():
    os._exit(0)
names(database.connection)
while os.getppid() == parent:
    time.sleep(0.01)
subprocess.run([sys.executable, "-c", WRITE_ONE, sys.argv[1], "other"], check=True)
with database.write() as connection:
    insert_token(connection, "child")
subprocess.run([sys.executable, "-c", READ_ALL, sys.argv[1]], check=True)
"""


def test_a_child_writes_where_others_read_though_its_parent_had_the_database_open(tmp_path):
    assert run_python(FORKING, tmp_path / "market.db") == "child other parent\n"


def test_an_old_sqlite_library_stops_the_start(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "OLDEST_VERSION", (99, 0))
    with pytest.raises(StartRefused, match="is too old: 99"):
        SQLiteDatabase(tmp_path / "x.db", SCHEMA)


def test_several_workers_may_start_at_once(tmp_path):
    def start():
        assert names(SQLiteDatabase(tmp_path / "market.db", SCHEMA).connection) == []

    join(*[fork(start) for _ in range(6)])


def test_an_answered_write_survives_a_kill(tmp_path):
    path = tmp_path / "market.db"
    with writing(path, 3) as answered:
        pass
    database = SQLiteDatabase(path, SCHEMA)
    assert set(answered()) <= set(names(database.connection))
    with database.write() as connection:  # the killed ones hold no lock
        insert_token(connection, "after")
    assert database.connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_a_start_on_a_locked_database_of_an_earlier_version_says_so(tmp_path):
    path = put(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        ended = run_flask(tmp_path, "token", "list")
        connection.execute("ROLLBACK")
    assert ended.exit_code == 1
    assert ended.stderr.startswith(f"Error: {path} cannot be upgraded: {path} is in use")
    assert run_flask(tmp_path, "token", "list").exit_code == 0
