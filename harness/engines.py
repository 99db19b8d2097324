"""The databases of the engine that is tested."""

import atexit
import shutil
import time
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from sqlite_utils.utils import sqlite3

from harness.postgresql import new_database
from marketplace.market import rarity
from marketplace.store import sqlite
from marketplace.store.database import SCHEMA

ENGINES = ("sqlite", "postgresql")

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
_lasting = ExitStack()  # drops at the end of the process what is copied until then
atexit.register(_lasting.close)
# The open ones: the databases of each, by their paths on SQLite, and the stack that drops them.
_scopes: list[tuple[dict, ExitStack]] = [({}, _lasting)]
_templates = {}  # for each engine: a folder with databases that were made once
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


def copy_databases(folder, make):
    """Put databases into a folder: copies of those that ``make(folder)`` has made once, which is quicker."""
    template = _templates.get(_engine) or _make_template(make)
    for path in template.glob("*.db"):
        shutil.copy(path, folder)
    if _engine == "postgresql":
        template_url = database_url(template)
        if not _copies:
            _copies.append(_lasting.enter_context(new_database(template=template_url)))
        copy = _copies.pop()
        made, stack = _scopes[-1]
        made[f"{folder}/marketplace.db"] = copy
        stack.callback(_take_back, copy, template_url)


def _make_template(make):
    folder = Path(_lasting.enter_context(TemporaryDirectory()))
    with _lasting_databases():
        make(folder)
    _templates[_engine] = folder
    return folder


@contextmanager
def _lasting_databases():
    """Keep databases that are made in the block until the process ends."""
    others = _scopes[1:]
    del _scopes[1:]
    yield
    _scopes.extend(others)


def _take_back(copy, template_url):
    """Reset a copy to its template, in a tenth of the time that a new copy takes."""
    tables, properties = _content(template_url)
    with connect(copy) as db:
        db.execute(END_OTHERS)
        if db.execute(TABLES).fetchone() != tables:
            return  # a test has altered a table
        db.execute("; ".join(f"DELETE FROM {table}" for table in SCHEMA.in_order[::-1]))
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
    """A connection that bypasses the service, for a test's own SQL. Each statement is committed."""
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
