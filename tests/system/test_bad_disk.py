"""A full disk, a locked database: each command ends with one sentence, and nothing is lost."""

import resource
import signal
import sys
import threading

import pytest

from harness.apps import settings
from harness.cast import ALICE, TOKEN
from harness.engines import connect, execute
from harness.network import PATIENCE_SECONDS
from harness.serving import begin_flask, run_flask, run_program
from hiero_sandbox import database as ledger_database
from hiero_sandbox import storage as ledger_storage
from marketplace.hedera import times
from marketplace.services import services
from marketplace.store import sqlite_files
from tests.store.released import TESTNET, put

FULL = "The database cannot be used: disk I/O error. Nothing was changed; the operator must fix it"
FULL_LEDGER = "The database cannot be used: disk I/O error. Nothing was changed"
LOCKED = (
    "The database stayed locked by another writer, or took too long. Nothing was changed; try again"
)
WRITERS = {
    "token create second": ["token", "create", "second"],
    "token revoke first": ["token", "revoke", "first"],
    "sync": ["sync"],
    "import": ["import", "0.0.7002", "0.0.7003"],
    "rebuild": ["rebuild", TOKEN],
    "sandbox seed": ["sandbox", "seed"],
    "sandbox hello": ["sandbox", "hello"],
}
UNSHARE = "unshare", "--user", "--map-root-user", "--mount"
MAX_FILE_BYTES = 33_000  # SQLite's own -shm has room, and hardly more


@pytest.fixture
def own(app, tmp_path, ledger, lister, nft):
    """The settings of a market where each command has something to write, open in no process."""
    lister(nft, add=False)
    ledger.hand_over(nft)
    for token in ("0.0.7002", "0.0.7003"):
        ledger.mint((token, 1), ALICE, times.now())
    assert app.test_cli_runner().invoke(args=["token", "create", "first"]).exit_code == 0
    services(app).database.close()
    ledger.sandbox.extensions[ledger_database.KEY].close()
    return settings(tmp_path)


@pytest.fixture
def database(own):
    """The database, as another process has it open."""
    with connect(own["DATABASE_URL"]) as connection:
        yield connection


def fill_disk(database):
    """Leave no room in the -wal for whoever may write files of MAX_FILE_BYTES only."""
    database.execute("INSERT INTO property (name, value) VALUES ('filler', zeroblob(60000))")
    database.execute("BEGIN")
    database.execute("SELECT * FROM property").fetchall()  # keeps the -wal from being restarted


def start(own, arguments, max_file_bytes=None):
    def limit():
        if max_file_bytes:
            resource.setrlimit(resource.RLIMIT_FSIZE, (max_file_bytes, max_file_bytes))

    return begin_flask(own, *arguments, preexec_fn=limit)


def end(process):
    """The exit code, and what was said on standard error."""
    _, stderr = process.communicate(timeout=100)
    return process.returncode, stderr


def test_a_full_disk(own, database):
    fill_disk(database)
    begun = {name: start(own, WRITERS[name], MAX_FILE_BYTES) for name in WRITERS}
    ended = {name: end(process) for name, process in begun.items()}
    said = dict.fromkeys(WRITERS, FULL) | {"sandbox seed": f"In the sandbox: {FULL_LEDGER}"}
    assert ended == {name: (1, f"Error: {sentence}\n") for name, sentence in said.items()}


@pytest.mark.parametrize("command", WRITERS.values(), ids=WRITERS)
def test_a_locked_database(own, database, tmp_path, monkeypatch, command):
    monkeypatch.setattr(sqlite_files, "BUSY_TIMEOUT_SECONDS", 0.1)
    database.execute("BEGIN IMMEDIATE")
    ended = run_flask(tmp_path, *command)
    assert ended.exit_code == 1
    assert ended.stderr == f"Error: {LOCKED.replace('5 s', '0.1 s')}\n"


def test_a_locked_ledger_of_the_sandbox(own, tmp_path, monkeypatch):
    """Its own database has errors of its own: they were tracebacks."""
    monkeypatch.setattr(ledger_storage, "BUSY_SECONDS", 0.1)
    with ledger_storage.Database(tmp_path / "sandbox.db").write():
        ended = run_flask(tmp_path, "sandbox", "seed")
    assert (ended.exit_code, ended.stderr) == (1, f"Error: {LOCKED}\n")


@pytest.mark.parametrize("command", [["token", "list"], ["watch"]], ids=" ".join)
def test_a_start_without_room_says_so_and_asks_for_no_backup(own, command):
    """It said that the database may be damaged: whoever restored a backup lost what came after it."""
    before = held(own["DATABASE_URL"])
    code, stderr = end(start(own, command, 10_000))
    assert code == 1
    assert (
        "cannot be opened, because its disk has no room (File too large). It is not damaged"
        in stderr
    )
    assert "restore" not in stderr
    assert held(own["DATABASE_URL"]) == before


def test_what_only_reads_goes_on(own, database):
    fill_disk(database)
    assert end(start(own, ["token", "list"], MAX_FILE_BYTES)) == (0, "")


def wait_for(process, words):
    timer = threading.Timer(PATIENCE_SECONDS, process.kill)  # then its output ends
    timer.start()
    assert any(words in line for line in iter(process.stderr.readline, "")), words
    timer.cancel()


def test_a_watcher_says_it_and_goes_on(own, database):
    fill_disk(database)
    process = start(own, ["watch"], MAX_FILE_BYTES)
    wait_for(process, f"The ledger was not followed: {FULL}\n")
    process.send_signal(signal.SIGTERM)
    code, stderr = end(process)
    assert code == 0
    assert "Traceback" not in stderr


def test_a_watcher_works_again_once_there_is_room(own, database):
    database.execute("BEGIN IMMEDIATE")
    process = start(own, ["watch"])
    wait_for(process, f"The ledger was not followed: {LOCKED}\n")
    database.execute("ROLLBACK")
    wait_for(process, "was taken off the order book: ")
    process.send_signal(signal.SIGTERM)
    assert end(process)[0] == 0


def held(path):
    tables = execute(path, "SELECT name FROM sqlite_schema WHERE type = 'table'")
    return {name: execute(path, f"SELECT * FROM {name}") for (name,) in tables}


@pytest.mark.parametrize(
    ("command", "max_file_bytes"),
    [
        ("backup", MAX_FILE_BYTES),
        ("restore", MAX_FILE_BYTES),
        ("restore", 90_000),
        ("upgrade", MAX_FILE_BYTES),
        ("upgrade", 90_000),
    ],
)
def test_no_room_for_a_copy(own, tmp_path, command, max_file_bytes):
    path, copy = own["DATABASE_URL"].removeprefix("sqlite:///"), f"{tmp_path}/copy.db"
    if command == "restore":
        assert run_flask(tmp_path, "backup", copy).exit_code == 0
    if command == "upgrade":
        put(tmp_path, **TESTNET)
        own |= TESTNET
    before = held(path)
    arguments = ["upgrade"] if command == "upgrade" else [command, copy]
    code, stderr = end(start(own, arguments, max_file_bytes))
    assert "Traceback" not in stderr
    if code:
        assert stderr.startswith("Error: ") and stderr.count("\n") == 1, stderr
        assert held(path) == before
    asides = [file for file in tmp_path.iterdir() if ".before-" in file.name]
    assert all(file.stat().st_size for file in asides), "half a copy was left"


FILL_AND_COPY = """
import subprocess, sys
from pathlib import Path
from marketplace.store.database import (SCHEMA)
from marketplace.store.sqlite import SQLiteDatabase

folder = Path(sys.argv[1])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2500k", "tmpfs", folder], check=True)
database = SQLiteDatabase(str(folder / "market.db"), SCHEMA)
with database.write() as db:
    db.execute("INSERT INTO property (name, value) VALUES ('filler', zeroblob(700000))")
database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
for kilobytes in range(400, 900, 50):
    (folder / "filler").write_bytes(bytes(kilobytes * 1000))
    try:
        database.copy(folder / "copy.db")
    except OSError as error:
        print(*sorted(file.name for file in folder.glob("copy*")), error.args[0].partition(": ")[2])
    (folder / "copy.db").unlink(missing_ok=True)
"""


@pytest.mark.skipif(
    run_program(*UNSHARE, "true").returncode != 0, reason="needs a file system of its own"
)
def test_a_full_disk_leaves_no_part_of_a_copy(tmp_path):
    """A -journal, or a -wal and a -shm, stayed: each try took a little more of the disk."""
    done = run_program(*UNSHARE, sys.executable, "-c", FILL_AND_COPY, tmp_path, check=True)
    reasons = done.stdout.splitlines()
    assert reasons
    assert {*reasons} <= {"database or disk is full", "disk I/O error"}
