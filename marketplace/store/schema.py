"""The versions of a schema: the SQL of a new database, and the steps that upgrade an older one."""

import re
from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from sqlite_utils.utils import sqlite3

PROPERTY = "schema_version"
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
