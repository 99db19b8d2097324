"""The engine that a test runs on: SQLite, and once more PostgreSQL, unless its mark says why not."""

import shutil
import time
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from pathlib import Path

import psycopg
from sqlite_utils.utils import sqlite3

from marketplace.market import rarity
from marketplace.store import sqlite
from marketplace.store.database import SCHEMA
from tests.postgresql import new_database

ENGINES = ("sqlite", "postgresql")

# What changes with every change of a table, of its columns or of its indexes.
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
_scopes = []  # of what runs now: the databases of each, by their files' paths on SQLite, and what drops them
_templates = {}  # of each engine: the folder of a service that was started once
_copies = []  # of PostgreSQL's template, for the next tests


@contextmanager
def running_on(engine):
    """Let database_url() name databases of an engine; they are gone at the end."""
    global _engine
    before, _engine = _engine, engine
    try:
        with databases():
            yield
    finally:
        _engine = before


@contextmanager
def databases():
    """Drop at the end what was made meanwhile."""
    with ExitStack() as stack:
        _scopes.append(({}, stack))
        stack.callback(_scopes.pop)
        yield


def database_url(folder, name="marketplace.db"):
    """The address of a database of the engine, the same one each time."""
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
    """Make a service's databases in a folder, once in a process for each engine; returns their folder."""
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
    """Let what is made meanwhile be dropped when the session ends; yields what drops it."""
    others = _scopes[1:]
    del _scopes[1:]
    yield _scopes[0][1]
    _scopes.extend(others)


def _take_back(copy, template_url):
    """Make a copy as its template again, in a tenth of the time that a new one takes."""
    tables, properties = _content(template_url)
    with connect(copy) as db:
        db.execute(END_OTHERS)
        if db.execute(TABLES).fetchone() != tables:
            return  # a test has altered a table
        for table in SCHEMA.in_order[::-1]:
            db.execute(f"DELETE FROM {table}")
        for each in properties:
            db.execute("INSERT INTO property VALUES (%s, %s)", each)
    rarity._rank_version.cache_clear()  # rankings are kept by the database's name
    _copies.append(copy)


@cache
def _content(template_url):
    with connect(template_url) as db:
        properties = db.execute("SELECT name, value FROM property").fetchall()
        return db.execute(TABLES).fetchone(), properties


def database_settings(folder):
    """What a service in this folder must be told, beyond its defaults."""
    if _engine == "sqlite":
        return {}
    return {"DATABASE_URL": database_url(folder, "instance/marketplace.db")}


def connect(url):
    """A connection past the service, for SQL by hand: each statement is committed."""
    url = str(url)  # or the path of a file
    if url.startswith("postgresql://"):
        return closing(psycopg.connect(url, autocommit=True))
    return closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None))


def execute(url, sql, *parameters):
    """One statement past the service; its rows."""
    with connect(url) as db:
        cursor = db.execute(sql, parameters) if parameters else db.execute(sql)
        return cursor.fetchall() if cursor.description else []


def move_database(path: Path, target: Path) -> Path:
    """Move the file of a database that is in use, and wait until its service looks for it again."""
    moved = path.rename(target)
    time.sleep(sqlite.FILE_CHECK_SECONDS)
    return moved
