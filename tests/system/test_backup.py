"""A backup is taken while the service writes, misses nothing that was answered, and can be restored."""

import os
import re
from contextlib import closing, nullcontext

import pytest
from sqlite_utils.utils import sqlite3

from harness.engines import execute
from harness.postgresql import new_database
from harness.serving import Service, begin_flask, environment
from marketplace.store.database import SCHEMA
from marketplace.store.sqlite import SQLiteDatabase
from tests.engines import both_engines
from tests.store.tokens import insert_token, names
from tests.store.writers import writing


@pytest.fixture
def operator(tmp_path):
    """Runs commands on a database of its own; no service is up."""
    return Service(tmp_path, 0, environment(PUBLIC_URL="http://127.0.0.1:8000"))


def database(operator):
    return SQLiteDatabase(operator.folder / "instance/marketplace.db", SCHEMA)


def add(operator, name):
    with database(operator).write() as connection:
        insert_token(connection, name)


def held(path):
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        return names(connection)


def files(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def assert_refused(process, *words):
    code = process.returncode if hasattr(process, "returncode") else process.exit_code
    assert code == 1
    assert process.stderr.startswith("Error: "), process.stderr
    assert "Traceback" not in process.stderr
    for word in words:
        assert word in process.stderr, process.stderr


def test_it_works(operator):
    add(operator, "kept")
    printed = operator.flask("backup", "copy.db").stdout
    assert printed.startswith("Backed up instance/marketplace.db to copy.db: ")
    copy = operator.folder / "copy.db"
    assert re.search(rf"{copy.stat().st_size:,} bytes in \d+\.\d", printed)
    assert copy.stat().st_mode & 0o777 == 0o600
    assert held(copy) == ["kept"]
    assert files(operator.folder) == ["copy.db", "instance"]

    add(operator, "later")
    printed = operator.flask("restore", "copy.db").stdout
    assert "Restored instance/marketplace.db from copy.db" in printed
    path = operator.folder / "instance/marketplace.db"
    assert held(path) == ["kept"]
    [backup] = path.parent.glob("marketplace.db.before-*")
    assert sorted(held(backup)) == ["kept", "later"]
    assert str(backup.name) in printed
    assert backup.stat().st_mode & 0o777 == 0o600


NAME = 'Bob\'s "$5" `shop`'
READ = "import os; from marketplace.settings import load; print(load({}, os.environ)[%r])"


def test_a_service_starts_elsewhere_with_the_settings_of_a_backup(operator):
    operator.environ["MARKETPLACE_NAME"] = NAME
    add(operator, "kept")
    operator.flask("backup", "copies")
    [file] = operator.folder.glob("copies/*/settings.env")
    other = Service(operator.folder / "other", 0, environment())
    other.folder.mkdir()
    shell = f"set -eua; . {file}; MARKETPLACE_DATA_DIR={other.folder}/data;"
    other.run("sh", "-c", f"{shell} exec flask --app wsgi restore {operator.folder}/copies")
    assert held(other.folder / "data/marketplace.db") == ["kept"]
    assert (
        other.run("sh", "-c", f'{shell} exec python -c "$0"', READ % "NAME").stdout == f"{NAME}\n"
    )
    # As Docker reads it: the whole rest of a line, with its quotes.
    lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    other.environ |= dict(line.split("=", 1) for line in lines)
    assert other.run("python", "-c", READ % "NAME").stdout == f"{NAME}\n"
    assert other.run("python", "-c", READ % "DATABASE_URL").stdout == "instance/marketplace.db\n"


def test_nothing_answered_before_a_backup_is_missing(operator):
    path = operator.folder / "instance/marketplace.db"
    # A new database is written to at its first start; beside these writers that may have to wait too long.
    database(operator).close()
    with writing(path, 2) as answered:
        for number in range(2):
            before = answered()
            operator.flask("backup", f"{number}.db")
            copied = held(operator.folder / f"{number}.db")
            assert set(before) <= set(copied)
            assert len(answered()) > len(before), "the writers had to wait"
        refused = operator.flask("restore", "0.db", check=False)
        assert_refused(refused, "is in use", "stop the service")
    operator.flask("restore", "1.db")
    assert set(before) <= set(copied) == set(held(path))


@pytest.fixture
def invoke(app, tmp_path, monkeypatch):
    """Runs commands in this process, in the database's own folder, where that it starts proves nothing."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: app.test_cli_runner().invoke(args=arguments)


def test_it_writes_over_nothing_unasked_and_never_over_the_database(invoke, tmp_path):
    copy = tmp_path / "copy.db"
    invoke("backup", "copy.db")
    invoke("token", "create", "later")
    assert_refused(invoke("backup", "copy.db"), "copy.db exists", "--force")
    assert held(copy) == []
    assert invoke("backup", "--force", "copy.db").exit_code == 0
    assert held(copy) == ["later"]
    assert_refused(invoke("backup", "--force", "marketplace.db"), "the database itself")
    assert_refused(invoke("restore", "marketplace.db"), "the database itself")
    assert_refused(invoke("backup", "missing/copy.db"), "No such file or directory")
    assert held(tmp_path / "marketplace.db") == ["later"]


def make_damaged(path):
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)


def make_another(path):
    path.unlink()
    execute(path, "CREATE TABLE t (x)")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (make_damaged, "is damaged"),
        (make_another, "is not a database of this service"),
        (lambda path: path.write_text("text, no database at all"), "or not a database"),
        (lambda path: path.write_bytes(b""), "is not a database of this service"),
        (lambda path: os.truncate(path, 8192), "damaged"),
    ],
)
def test_a_spoiled_backup_is_not_restored(invoke, tmp_path, spoil, words):
    copy = tmp_path / "copy.db"
    invoke("token", "create", "kept")
    assert invoke("backup", str(copy)).exit_code == 0
    spoil(copy)
    refused = invoke("restore", str(copy))
    assert refused.exit_code == 1
    assert refused.stderr.startswith(f"Error: Nothing was changed: {copy} ")
    assert words in refused.stderr
    assert held(tmp_path / "marketplace.db") == ["kept"]
    assert not list(tmp_path.glob("*.before-*"))


def test_a_database_that_is_damaged_says_how_to_restore_it(operator):
    add(operator, "kept")
    operator.flask("backup", "copy.db")
    path = operator.folder / "instance/marketplace.db"
    path.write_bytes(os.urandom(100_000))
    refused = operator.flask("restore", "copy.db", check=False)
    assert_refused(
        refused, "instance/marketplace.db cannot be opened", "flask --app wsgi restore FOLDER"
    )
    path.rename(operator.folder / "damaged.db")
    operator.flask("restore", "copy.db")
    assert held(path) == ["kept"]


@both_engines
@pytest.mark.parametrize("command", [["status"], ["token", "list"], ["sync"], ["backup", "copies"]])
def test_a_command_in_an_empty_folder_makes_nothing(engine, tmp_path, command):
    """Called in the wrong folder, `status` made a database there and showed that."""
    empty = tmp_path / "mistyped"
    with new_database() if engine == "postgresql" else nullcontext() as url:
        own = {"DATA_DIR": empty} | ({"DATABASE_URL": url} if url else {})
        ended = begin_flask(own, *command)
        error = ended.communicate()[1]
    assert ended.returncode == 1
    assert error.startswith("Error: There is no database here: "), error
    assert error.count("\n") == 1
    assert not empty.exists()
