"""Databases as released versions made them."""

import shutil
from contextlib import closing

import pytest
from sqlite_utils.utils import sqlite3

from harness.engines import execute
from harness.serving import ROOT, run_flask
from hiero_sandbox.storage import Database
from marketplace.store.database import SCHEMA
from marketplace.store.schema import Schema
from marketplace.store.sqlite import SQLiteDatabase

SCHEMA_FOLDER = ROOT / "marketplace/store"
OLD = ROOT / "tests/store/databases/0.4.0"
TESTNET = {"NETWORK": "testnet", "ACCOUNT_ID": "0.0.4321"}
SET_PROPERTY = "UPDATE property SET value = ? WHERE name = ?"


def version(path):
    return SQLiteDatabase(path, SCHEMA).version


def put(folder, **properties):
    """Make the database of 0.4.0, as an index of another network or account, beside its ledger."""
    for file in folder.glob("marketplace.db*"):
        file.unlink()
    with closing(sqlite3.connect(folder / "marketplace.db")) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript((OLD / "schema.sql").read_text() + (OLD / "rows.sql").read_text())
    (folder / "sandbox.db").unlink(missing_ok=True)
    ledger = Database(folder / "sandbox.db")
    with ledger.write() as db:
        for statement in (OLD / "ledger.sql").read_text().splitlines():
            db.execute(statement)
    ledger.close()
    for name, value in properties.items():
        execute(folder / "marketplace.db", SET_PROPERTY, value.encode(), name.lower())
    return folder / "marketplace.db"


def earlier_schema(folder):
    """The schema of 0.4.0, for a new database."""
    shutil.copy(OLD / "schema.sql", folder)
    (folder / "upgrades").mkdir()
    (folder / "upgrades/33.sql").touch()
    return Schema(folder, tables=SCHEMA.tables)


@pytest.fixture
def outdated(tmp_path):
    return put(tmp_path, **TESTNET)


def flask(path, *arguments, succeeds=True):
    """What an operator's command on a database of testnet prints."""
    ended = run_flask(path.parent, *arguments, **TESTNET)
    assert (ended.exit_code == 0) is succeeds, ended.output
    return ended.output


@pytest.fixture
def newer(tmp_path):
    """A schema that has one more version than the present one, by some statements."""

    def make(*steps):
        folder = tmp_path / "newer"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(SCHEMA_FOLDER / "upgrades", folder / "upgrades")
        shutil.copy(SCHEMA_FOLDER / "schema.sql", folder)
        for number, step in enumerate(steps, SCHEMA.version + 1):
            (folder / f"upgrades/{number}.sql").write_text(step)
        return Schema(folder, tables=SCHEMA.tables)

    return make
