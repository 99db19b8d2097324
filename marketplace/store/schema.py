"""The versions of a schema: the SQL of a new database, and the steps that upgrade an older one."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from sqlite_utils import Migrations
from sqlite_utils.utils import sqlite3

from marketplace.store.sqlite_files import wrap

PROPERTY = "schema_version"
SET = "marketplace"  # the name of our migrations, as sqlite-utils records them
VERSION = re.compile(rb"[1-9][0-9]{0,5}")


class Step(NamedTuple):
    """An upgrade from the previous version to this one, in one transaction."""

    version: int
    # Pairs of a comment and its statement. The operator sees the comment while the statement runs.
    statements: list[tuple[str, str]]

    def take(
        self, db: Any, report: Callable[[str], None], translate: Callable[[str], str] = str
    ) -> None:
        """Upgrade a database. Calls ``report`` with the comment on what runs next."""
        for what, statements in groupby(self.statements, key=itemgetter(0)):
            report(what)
            for _, statement in statements:
                db.execute(translate(statement))


class Schema:
    """The tables of one kind of database.

    Its folder has ``schema.sql``, which makes a new database, and ``upgrades/``: ``N.sql`` upgrades version
    N - 1 to N.
    """

    def __init__(self, folder: Path, tables: set[str]) -> None:
        """``tables``: tables that every version of this kind of database has."""
        self._upgrades = {int(path.stem): path for path in folder.glob("upgrades/[0-9]*.sql")}
        self.tables = tables
        self.sql = (folder / "schema.sql").read_text()
        self.version = max(self._upgrades)
        self.oldest = min(self._upgrades) - 1  # that can be upgraded

    @property
    def in_order(self) -> list[str]:
        """All tables of this version. Each comes after the tables that it refers to."""
        return re.findall(r"^CREATE TABLE (\w+)", self.sql, re.MULTILINE)

    @property
    def steps(self) -> list[Step]:
        """All upgrades, the oldest first."""
        return [
            Step(number, [*_statements(path.read_text())])
            for number, path in sorted(self._upgrades.items())
        ]

    def upgrade(
        self,
        connection: sqlite3.Connection,
        version: int,
        take: Callable[[sqlite3.Connection, Step], None],
    ) -> None:
        """Upgrade an SQLite database. ``take`` runs each step in a transaction with its record."""
        db = wrap(connection)
        migrations = Migrations(SET)
        for step in self.steps:
            migrations(name=str(step.version))(lambda db, step=step: take(db.conn, step))
        self.record(connection, version)
        migrations.apply(db)

    def record(self, connection: sqlite3.Connection, version: int) -> None:
        """Record the steps up to a version as taken, for a new database or one of an earlier release."""
        db = wrap(connection)
        Migrations(SET).ensure_migrations_table(db)
        now = str(datetime.now(UTC))
        names = [str(step.version) for step in self.steps if step.version <= version]
        rows = ({"migration_set": SET, "name": name, "applied_at": now} for name in names)
        db.table(Migrations.migrations_table).insert_all(rows, ignore=True)


def _statements(script: str) -> Iterator[tuple[str, str]]:
    """Split a script into statements, each with the last comment before it."""
    comment, statement = "", ""
    for line in script.splitlines(keepends=True):
        if not statement and line.startswith("--"):
            comment = line.removeprefix("--").strip()
        elif statement or line.strip():
            statement += line
        if sqlite3.complete_statement(statement):
            yield comment, statement
            statement = ""
