"""A database outlives versions: an older one comes through with every row, and nothing is half done."""

import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
import sqlite_utils
from sqlite_utils.utils import sqlite3

from harness.apps import settings
from harness.engines import execute, move_database
from harness.forks import fork
from harness.network import PATIENCE_SECONDS
from harness.serving import run_flask
from marketplace import create_app
from marketplace.errors import StartRefused
from marketplace.services import services
from marketplace.serving import startup
from marketplace.store import sqlite as engine
from marketplace.store.connection import DatabaseUnreadable
from marketplace.store.database import SCHEMA
from marketplace.store.postgresql import PostgreSQLDatabase
from marketplace.store.sqlite import SQLiteDatabase
from marketplace.watcher.sweep import sync
from tests.answers import assert_error
from tests.engines import both_engines
from tests.store.released import OLD, SET_PROPERTY, TESTNET, flask, newer, outdated, put, version

__all__ = ["newer", "outdated"]  # fixtures

KEPT = ("nft", "prepared_transaction", "access_token")
LISTED = {("0.0.5001", 1), ("0.0.5001", 2), ("0.0.7001", 1), ("0.0.7001", 3)}
OF_0_4_0 = 33  # the version of its schema


def connect(path):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    return closing(connection)


def rows(path, table):
    with connect(path) as connection:
        return [*sqlite_utils.Database(connection)[table].rows_where(order_by="1, 2")]


def shape(path):
    """Every table's columns and every index's, whatever the words that made them."""
    with connect(path) as db:
        names = db.execute("SELECT type, name, tbl_name FROM sqlite_schema").fetchall()
        return {
            (kind, name, of): sorted(
                tuple(row)[1:] if kind == "table" else tuple(row)
                for row in db.execute(
                    f"PRAGMA {'table_xinfo' if kind == 'table' else 'index_xinfo'}({name})"
                )
            )
            for kind, name, of in names
        }


@pytest.fixture
def old(tmp_path):
    """A database of an earlier version, in a folder of its own, and its access token."""
    return put(tmp_path), (OLD / "token").read_text()


def test_the_sandboxs_come_through_with_every_row(old, tmp_path):
    path, token = old
    before = {name: rows(path, name) for name in KEPT}
    app = create_app(**settings(tmp_path))
    for table, earlier in before.items():
        for was, now in zip(earlier, rows(path, table), strict=True):
            for column in was.keys() & now.keys():
                assert now[column] == was[column], (table, column)
    client = app.test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {token}"
    orderbook = client.get("/v1/orderbook").json
    assert len(orderbook) == 4
    assert {nft["originalImageUrl"][:30] for nft in orderbook} == {"http://127.0.0.1:8000/sandbox/"}
    assert client.get("/v1/orderbook?offset=1&limit=1").headers["Link"]
    assert client.get("/v1/collection/0.0.5001").json["name"] in (None, "Tides")
    with app.app_context():
        sync()
    collection = client.get("/v1/collection/0.0.5001").json
    assert (collection["name"], collection["listed"]) == ("Tides", 2)
    assert len(rows(path, "collection")) == len({row["token"] for row in before["nft"]})
    listed = {(nft["token"], nft["serialNo"]) for nft in client.get("/v1/orderbook").json}
    assert listed == LISTED
    keys = {"accountId": "0.0.1001", "tokenId": "0.0.5001", "serialNo": 5}
    assert client.post("/v1/list/extwallet", json=keys | {"listingPrice": 9}).status_code == 200


def test_an_upgraded_database_is_as_a_new_one(old, tmp_path):
    (tmp_path / "new").mkdir()
    create_app(**settings(tmp_path))
    create_app(**settings(tmp_path / "new"))
    assert shape(tmp_path / "marketplace.db") == shape(tmp_path / "new/marketplace.db")


def test_the_sandbox_keeps_what_its_databases_held(old, tmp_path):
    path, _ = old
    before = rows(path, "nft")
    create_app(**settings(tmp_path))
    [backup] = tmp_path.glob("marketplace.db.before-*")
    assert rows(backup, "nft") == before
    create_app(**settings(tmp_path))
    assert len([*tmp_path.glob("*.before-*")]) == 1


# On a real network


def test_it_works(outdated):
    before = rows(outdated, "prepared_transaction")
    output = flask(outdated, "upgrade")
    assert re.match(rf"Back it up to {outdated}\.before-\S+\n", output)
    assert re.search(rf"\nUpgraded {outdated} in \d+\.\d s; the old content is in ", output)
    assert version(outdated) == SCHEMA.version
    assert [row["transaction_id"] for row in rows(outdated, "prepared_transaction")] == [
        row["transaction_id"] for row in before
    ]
    [backup] = outdated.parent.glob("*.before-*")
    assert version(backup) == OF_0_4_0
    assert backup.stat().st_mode & 0o777 == 0o600
    assert "there is nothing to do" in flask(outdated, "upgrade")
    assert "writer" in flask(outdated, "token", "list")


def applied(path):
    """The upgrades that sqlite-utils has recorded."""
    with connect(path) as connection:
        recorded = sqlite_utils.Database(connection)["_sqlite_migrations"].rows_where(order_by="id")
        return [row["name"] for row in recorded if row["migration_set"] == "marketplace"]


def test_sqlite_utils_records_what_was_applied(outdated, tmp_path):
    earlier = applied(outdated)
    numbers = [str(number) for number in range(OF_0_4_0 + 1, SCHEMA.version + 1)]
    flask(outdated, "upgrade")
    assert applied(outdated) == earlier + numbers
    (tmp_path / "new").mkdir()
    flask(tmp_path / "new/marketplace.db", "token", "list")
    assert applied(tmp_path / "new/marketplace.db") == numbers


@pytest.mark.parametrize("command", [("token", "list"), ("token", "create", "x"), ("sync",)])
def test_no_other_command_works_on_an_older_one(outdated, command):
    assert flask(outdated, *command, succeeds=False) == (
        f"Error: {outdated} is of an earlier version (its schema is {OF_0_4_0}, this version's is"
        f" {SCHEMA.version}): stop the service and the watcher, and run flask upgrade\n"
    )
    assert version(outdated) == OF_0_4_0


def test_a_host_gets_an_error_for_an_outdated_database(outdated, tmp_path, caplog):
    app = create_app(**settings(tmp_path), **TESTNET)
    with pytest.raises(StartRefused, match="run flask upgrade"):
        startup.require_ready(app)
    assert_error(app.test_client().get("/status?ready"), 503)
    assert "run flask upgrade" in caplog.text


def test_it_is_refused_while_another_process_has_it_open(outdated):
    with connect(outdated) as db:
        db.execute("BEGIN IMMEDIATE")
        output = flask(outdated, "upgrade", succeeds=False)
    assert output.startswith(
        f"Error: {outdated} is in use: database is locked. Nothing was changed"
    )
    assert version(outdated) == OF_0_4_0
    assert not [*outdated.parent.glob("*.before-*")]
    flask(outdated, "upgrade")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (
            b"99",
            f"is of a newer version (its schema is 99, this version's is {SCHEMA.version}): install that",
        ),
        (b"four", "the version of its schema is b'four', which is not a number. Restore a backup"),
        (b"-1", "which is not a number"),
        (b"\xff\0", r"b'\xff\x00', which is not a number. Restore a backup"),
        (b"9" * 5000, "which is not a number"),
    ],
)
def test_a_database_of_no_version_of_ours_is_refused(tmp_path, value, words):
    path = tmp_path / "marketplace.db"
    flask(path, "token", "list")
    execute(path, SET_PROPERTY, value, "schema_version")
    for command in (("token", "list"), ("token", "create", "x"), ("upgrade",)):
        output = flask(path, *command, succeeds=False)
        assert output.startswith(f"Error: {path} ")
        assert words in output


def test_it_refuses_to_upgrade_another_networks_database(tmp_path):
    """As where the setting of the network was forgotten: the default is the sandbox."""
    path = put(tmp_path, network="mainnet")
    (tmp_path / "sandbox.db").unlink()
    content = path.read_bytes()
    for command in (("token", "list"), ("sync",)):
        assert run_flask(tmp_path, *command).exit_code == 1
    assert path.read_bytes() == content


@pytest.mark.parametrize("number", [b"7", None])
def test_a_database_before_0_4_0_is_refused_with_the_way_out(outdated, number):
    """The first versions stored no number."""
    if number:
        execute(outdated, SET_PROPERTY, number, "schema_version")
    else:
        execute(outdated, "DELETE FROM property WHERE name = 'schema_version'")
    content = outdated.read_bytes()
    for arguments in (("token", "list"), ("status",), ("upgrade",), ("sync",)):
        output = flask(outdated, *arguments, succeeds=False)
        assert output.startswith(f"Error: {outdated} is of a version before 0.4.0")
        assert "rebuild TOKEN_ID" in output
    assert outdated.read_bytes() == content


def test_a_backup_before_0_4_0_is_refused(outdated, tmp_path):
    execute(outdated, SET_PROPERTY, b"7", "schema_version")
    backup = outdated.rename(tmp_path / "old.db")
    flask(outdated, "token", "create", "mine")
    output = flask(outdated, "restore", str(backup), succeeds=False)
    assert f"Nothing was changed: {backup} is of a version before 0.4.0" in output
    assert "mine" in flask(outdated, "token", "list")


# The versions to come


RENAME = "-- Rename all\nUPDATE access_token SET name = name || '!';"
REBATE = "-- Keep all\nCREATE TABLE rebate (id INTEGER) STRICT;\n-- Fill them\nINSERT INTO rebate VALUES (1);"


@pytest.fixture
def path(tmp_path):
    """A database of this version, with an access token."""
    run_flask(tmp_path, "token", "create", "mine")
    return tmp_path / "marketplace.db"


def test_a_database_without_the_record_takes_only_the_steps_that_it_lacks(path, newer):
    """Earlier releases stored the version, and no record."""
    execute(path, "DROP TABLE _sqlite_migrations")
    database = SQLiteDatabase(path, newer(RENAME))
    steps = []
    database.upgrade(steps.append)
    assert steps[1:] == ["Rename all"]
    assert applied(path)[-1] == str(database.version) == str(SCHEMA.version + 1)
    assert len(applied(path)) == database.version - OF_0_4_0
    assert execute(path, "SELECT name FROM access_token") == [("mine!",)]


EVENTS_AGAIN = """
-- Make the events again
ALTER TABLE event RENAME TO earlier_event;
CREATE TABLE event (id INTEGER PRIMARY KEY) STRICT;
"""


@both_engines
def test_a_step_that_makes_the_events_again_keeps_their_cursors(app, client, newer):
    cursor = client.get("/v1/orderbook").headers["X-Events-Cursor"]
    database = services(app).database
    database.close()
    url = app.config["DATABASE_URL"]
    if database.is_shared:
        later = PostgreSQLDatabase(url, newer(EVENTS_AGAIN))
    else:
        later = SQLiteDatabase(url, newer(EVENTS_AGAIN))
    later.upgrade()
    [row] = later.connection.execute(f"SELECT {later.epoch} AS epoch").fetchall()
    later.close()
    assert row["epoch"] == cursor.partition("-")[0]


def test_a_kill_in_the_middle_of_a_step_undoes_it(path, newer):
    later = newer(RENAME, REBATE)

    def upgrade():
        SQLiteDatabase(path, later).upgrade(
            lambda what: os.kill(os.getpid(), signal.SIGKILL) if what == "Fill them" else None
        )

    process = fork(upgrade)
    process.join(PATIENCE_SECONDS)
    assert process.exitcode == -signal.SIGKILL
    database = SQLiteDatabase(path, later)
    assert applied(path)[-1] == str(database.version) == str(SCHEMA.version + 1)
    steps = []
    database.upgrade(steps.append)
    assert steps[1:] == ["Keep all", "Fill them"]
    assert execute(path, "SELECT * FROM rebate") == [(1,)]
    assert execute(path, "SELECT name FROM access_token") == [("mine!",)]


# Other files


def test_a_foreign_file_is_never_written_into(tmp_path):
    path = tmp_path / "foreign.db"
    execute(path, "CREATE TABLE nft (id INTEGER)")
    content = path.read_bytes()
    with pytest.raises(DatabaseUnreadable, match="is not a database of this service"):
        SQLiteDatabase(path, SCHEMA)
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir() if "-" in file.name] == []


@pytest.mark.parametrize("becomes", ["gone", "another", "empty"])
def test_a_file_that_vanishes_under_a_running_service_is_said(
    app, client, nft, tmp_path, caplog, becomes
):
    path = tmp_path / "marketplace.db"
    address = "/v1/nft/0.0.7001/7"
    assert client.get(address).status_code == 200
    move_database(path, tmp_path / "moved.db")
    if becomes == "another":
        shutil.copy(tmp_path / "moved.db", path)
    if becomes == "empty":
        path.touch()
    size = path.exists() and path.stat().st_size
    for r in (
        client.get(address),
        client.post(
            "/v1/add", json={"accountId": "0.0.1001", "tokenId": "0.0.7001", "serialNo": 8}
        ),
    ):
        assert r.status_code == 503
        assert "vanished, or was replaced" in r.json["message"]
    assert [record.levelname for record in caplog.records] == ["ERROR"] * 2
    assert (path.exists() and path.stat().st_size) == size
    path.unlink(missing_ok=True)
    (tmp_path / "moved.db").rename(path)
    assert client.get(address).status_code == 200


def test_a_wal_that_vanishes_under_a_running_service_is_said(app, client, nft, tmp_path):
    """Writes went into the removed file, and were gone after the next kill -9: 80 of them in one minute."""
    body = {"accountId": "0.0.1001", "tokenId": "0.0.7001", "serialNo": 8}
    assert client.post("/v1/add", json=body).status_code == 200
    (tmp_path / "marketplace.db-wal").unlink()
    r = client.post("/v1/add", json=body | {"serialNo": 9})
    assert_error(r, 503, "its -wal has vanished", "start the service again")
    time.sleep(engine.FILE_CHECK_SECONDS)
    assert client.get("/v1/nft/0.0.7001/7").status_code == 503
    # What is left after a kill -9.
    shutil.copy(tmp_path / "marketplace.db", tmp_path / "left.db")
    rows = execute(tmp_path / "left.db", "SELECT serial_no FROM nft ORDER BY serial_no")
    assert rows == [(7,), (8,)]
    services(app).database.close()
    assert client.get("/v1/nft/0.0.7001/8").status_code == 200  # as after a start


def test_a_write_looks_for_the_file_each_time(client, nft, tmp_path):
    path = tmp_path / "marketplace.db"
    body = {"accountId": "0.0.1001", "tokenId": "0.0.7001", "serialNo": 8}
    assert client.get("/v1/nft/0.0.7001/7").status_code == 200  # it was looked for just now
    moved = path.rename(tmp_path / "moved.db")
    assert "vanished, or was replaced" in client.post("/v1/add", json=body).json["message"]
    moved.rename(path)
    assert client.get("/v1/nft/0.0.7001/8").status_code == 404


def test_a_file_that_is_another_by_now_is_not_written_into(app, client, nft, tmp_path):
    """Its inode may be the same: it is looked at again whenever a connection is opened."""
    path = tmp_path / "marketplace.db"
    services(app).database.close()
    gc.collect()  # Python's own sqlite3 closes the connections of ended threads here
    with connect(path) as db:
        for (table,) in db.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table'"
        ).fetchall():
            db.execute(f"DROP TABLE {table}")
        db.execute("CREATE TABLE nft (id INTEGER)")
        db.execute("PRAGMA journal_mode = DELETE")
    content = path.read_bytes()
    for url in ("/v1/nft/0.0.7001/7", "/status", "/v1/orderbook"):
        r = client.get(url)
        assert r.status_code == 503
        assert "it has changed since the start" in r.json["message"]
    assert path.read_bytes() == content


def test_a_start_that_was_killed_before_its_first_commit_is_made_good(tmp_path):
    path = tmp_path / "marketplace.db"
    code = """
import os, sys
from sqlite_utils.utils import sqlite3
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode = WAL")
db.execute("PRAGMA cache_size = 1")
db.execute("BEGIN")
db.execute("CREATE TABLE nft (content BLOB)")
for _ in range(100):
    db.execute("INSERT INTO nft VALUES (zeroblob(10000))")
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", code, path], check=False)
    assert Path(f"{path}-wal").stat().st_size
    assert run_flask(tmp_path, "token", "create", "first").exit_code == 0
    assert "first" in run_flask(tmp_path, "token", "list").output


# Going back to an older backup


def test_an_older_backup_is_restored_by_the_same_steps(tmp_path):
    run_flask(tmp_path, "token", "create", "later")
    backup = tmp_path / "old.db"
    (tmp_path / "old").mkdir()
    put(tmp_path / "old").rename(backup)
    content = backup.read_bytes()
    assert run_flask(tmp_path, "restore", str(backup)).exit_code == 0
    assert backup.read_bytes() == content
    listed = run_flask(tmp_path, "token", "list").output
    assert "writer" in listed
    assert "later" not in listed
    assert len(rows(tmp_path / "marketplace.db", "nft")) == 10
    assert version(tmp_path / "marketplace.db") == SCHEMA.version
    assert not [*tmp_path.glob(".restoring-*")]


def test_an_older_database_is_left_for_an_older_backup(outdated):
    """The command works where no other does, so that there is a way back."""
    backup = outdated.with_name("backup.db")
    shutil.copy(outdated, backup)
    execute(outdated, "DELETE FROM access_token")
    flask(outdated, "restore", str(backup))
    assert "writer" in flask(outdated, "token", "list")


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("network", b"mainnet", "belongs to mainnet, "),
        ("account_id", b"0.0.5", "belongs to 0.0.5, "),
        ("schema_version", b"99", "is of a newer version"),
    ],
)
def test_a_backup_of_anothers_or_of_a_newer_version_is_refused(tmp_path, column, value, words):
    path, copy = tmp_path / "marketplace.db", tmp_path / "copy.db"
    flask(path, "token", "create", "mine")
    flask(path, "backup", str(copy))
    execute(copy, SET_PROPERTY, value, column)
    output = flask(path, "restore", str(copy), succeeds=False)
    assert f"Nothing was changed: {copy}" in output
    assert words in output
    assert "mine" in flask(path, "token", "list")
