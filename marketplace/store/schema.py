"""The versions of a schema: what a new database is made of, and the steps that bring an older one up."""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from sqlite_utils.utils import sqlite3

PROPERTY = "schema_version"
VERSION = re.compile(rb"[1-9][0-9]{0,5}")


class Step(NamedTuple):
    """An upgrade from the version before to this one, in one transaction."""

    version: int
    # Each statement, with the comment before it, which the operator reads while it runs.
    statements: list[tuple[str, str]]
    fill: Callable[[Any], None] | None  # what SQL alone can not do, after them

    def take(
        self, db: Any, report: Callable[[str], None], translate: Callable[[str], str] = str
    ) -> None:
        """Bring a database up; ``report`` is called with what is done next."""
        for what, statements in groupby(self.statements, key=itemgetter(0)):
            report(what)
            for _, statement in statements:
                db.execute(translate(statement))
        if self.fill:
            self.fill(db)


class Schema:
    """The tables of one kind of database.

    Its folder holds ``schema.sql``, which makes a new one, and ``upgrades/``: ``N.sql`` brings version N - 1
    to N.
    """

    def __init__(
        self,
        folder: Path,
        tables: set[str],
        unnumbered: bytes,
        fills: Mapping[int, Callable[[Any], None]] | None = None,
    ) -> None:
        """``tables``: which every database of this kind has had, from the first version on;
        ``unnumbered``: the version of an SQLite file that does not say it; ``fills``: what some versions do
        after their statements, given the connection.
        """
        self._fills = fills or {}
        self._upgrades = {int(path.stem): path for path in folder.glob("upgrades/[0-9]*.sql")}
        self.tables = tables
        self.sql = (folder / "schema.sql").read_text()
        self.unnumbered = unnumbered
        self.version = max(self._upgrades)

    @property
    def in_order(self) -> list[str]:
        """All tables of this version, each after those that it refers to."""
        return re.findall(r"^CREATE TABLE (\w+)", self.sql, re.MULTILINE)

    def steps_from(self, version: int) -> list[Step]:
        return [
            Step(number, [*_statements(path.read_text())], self._fills.get(number))
            for number, path in sorted(self._upgrades.items())
            if number > version
        ]


def _statements(script: str) -> Iterator[tuple[str, str]]:
    """Cut a script into statements, each with the last comment before it."""
    comment, statement = "", ""
    for line in script.splitlines(keepends=True):
        if not statement and line.startswith("--"):
            comment = line.removeprefix("--").strip()
        elif statement or line.strip():
            statement += line
        if sqlite3.complete_statement(statement):
            yield comment, statement
            statement = ""
