"""The engine that a test runs on: SQLite, and PostgreSQL too for what asks the engine something."""

import shutil
import time
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from pathlib import Path

import psycopg
import pytest
from sqlite_utils.utils import sqlite3

from marketplace.market import rarity
from marketplace.store import sqlite
from marketplace.store.database import SCHEMA
from tests.postgresql import new_database

ENGINES = ("sqlite", "postgresql")
# A test runs on SQLite; with this, or with this as its module's pytestmark, on PostgreSQL, too.
both_engines = pytest.mark.parametrize("engine", ENGINES, indirect=True)

# A text that changes with every change of a table, of its columns or of its indexes.
TABLES = """
    SELECT string_agg(concat_ws(' ', pg_class.oid, pg_class.xmin, relfilenode, attnum, pg_attribute.xmin), ','
        ORDER BY pg_class.oid, attnum)
    FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
    WHERE relnamespace = 'public'::regnamespace
"""
END_OTHERS = """
    SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""

_engine = "sqlite"
_scopes = []  # the open ones: the databases of each, by their paths on SQLite, and the stack that drops them
_templates = {}  # for each engine: the folder of a service that was started once
_copies = []  # free copies of PostgreSQL's template


@contextmanager
def running_on(engine):
    """Let database_url() name databases of an engine. Drop them at the end."""
    global _engine
    before, _engine = _engine, engine
    try:
        with databases():
            yield
    finally:
        _engine = before


@contextmanager
def databases():
    """Drop, at the end of the block, the databases that were made in it."""
    with ExitStack() as stack:
        _scopes.append(({}, stack))
        stack.callback(_scopes.pop)
        yield


def database_url(folder, name="marketplace.db"):
    """The address of a database of the engine: for the same folder and name, the same one."""
    path = f"{folder}/{name}"
    if _engine == "sqlite":
        return f"sqlite:///{path}"
    for made, _ in _scopes:
        if path in made:
            return made[path]
    made, stack = _scopes[-1]
    made[path] = stack.enter_context(new_database())
    return made[path]


def make_template(folder, make):
    """Make a service's databases in a folder, once per process and engine; returns their folder."""
    if _engine not in _templates:
        with _outlasting_tests():
            make(folder)
        _templates[_engine] = folder
    return _templates[_engine]


def copy_template(template, folder):
    """Put a copy of a service's databases into a folder, which is quicker than to make them."""
    for path in template.glob("*.db"):
        shutil.copy(path, folder)
    if _engine == "postgresql":
        template_url = database_url(template)
        if not _copies:
            with _outlasting_tests() as stack:
                _copies.append(stack.enter_context(new_database(template=template_url)))
        copy = _copies.pop()
        made, stack = _scopes[-1]
        made[f"{folder}/marketplace.db"] = copy
        stack.callback(_take_back, copy, template_url)


@contextmanager
def _outlasting_tests():
    """Keep databases that are made in the block until the session ends; yields the stack that drops them."""
    others = _scopes[1:]
    del _scopes[1:]
    yield _scopes[0][1]
    _scopes.extend(others)


def _take_back(copy, template_url):
    """Reset a copy to its template, in a tenth of the time that a new copy takes."""
    tables, properties = _content(template_url)
    with connect(copy) as db:
        db.execute(END_OTHERS)
        if db.execute(TABLES).fetchone() != tables:
            return  # a test has altered a table
        for table in SCHEMA.in_order[::-1]:
            db.execute(f"DELETE FROM {table}")
        for each in properties:
            db.execute("INSERT INTO property VALUES (%s, %s)", each)
    rarity.forget()
    _copies.append(copy)


@cache
def _content(template_url):
    with connect(template_url) as db:
        properties = db.execute("SELECT name, value FROM property").fetchall()
        return db.execute(TABLES).fetchone(), properties


def database_settings(folder):
    """The settings that a service in this folder needs, beyond its defaults."""
    if _engine == "sqlite":
        return {}
    return {"DATABASE_URL": database_url(folder, "instance/marketplace.db")}


def connect(url):
    """A connection that bypasses the service, for SQL by hand. Each statement is committed."""
    url = str(url)  # or the path of a file
    if url.startswith("postgresql://"):
        return closing(psycopg.connect(url, autocommit=True))
    return closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None))


def execute(url, sql, *parameters):
    """Execute one statement, bypassing the service; returns its rows."""
    with connect(url) as db:
        cursor = db.execute(sql, parameters) if parameters else db.execute(sql)
        return cursor.fetchall() if cursor.description else []


def move_database(path: Path, target: Path) -> Path:
    """Move the file of a database that is in use, and wait until its service looks for it again."""
    moved = path.rename(target)
    time.sleep(sqlite.FILE_CHECK_SECONDS)
    return moved
