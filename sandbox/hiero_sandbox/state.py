"""The whole ledger as JSON, to be read by other versions of the sandbox, too.

A column or a table that the reading version does not have is left out; a new column has its default.
"""

import json
import sqlite3
from pathlib import Path
from typing import Any

from hiero_sandbox.errors import LedgerRefused
from hiero_sandbox.storage import VERSION, Connection, Database

FORMAT = 1  # of the JSON itself
# Of versions.py: the ledger's time, and how the names of tables of earlier rows end
CLOCK, VERSIONS = "clock", "_version"


def dump(db: Connection, path: Path) -> None:
    """Write all tables to a file."""
    tables = {
        table: [
            {column: _write(value) for column, value in dict(row).items()}
            for row in db.execute(f"SELECT * FROM {table}")
        ]
        for table in _columns(db)
    }
    path.write_text(json.dumps({"format": FORMAT, "version": VERSION, "tables": tables}))


def load(database: Database, path: Path) -> None:
    """Replace the ledger by that of a file. Raises LedgerRefused."""
    try:
        content = json.loads(path.read_text())
        tables = content["tables"]
        if content["format"] != FORMAT:
            raise LedgerRefused(f"{path} has the format {content['format']}, not {FORMAT}")
        with database.write() as db:
            _replace(db, tables)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, sqlite3.Error) as error:
        raise LedgerRefused(f"{path} is not a state of the sandbox: {error}") from error


def _replace(db: Connection, tables: dict[str, list[dict[str, Any]]]) -> None:
    columns = _columns(db)
    for table in columns.keys() - {CLOCK}:
        db.execute(f"DELETE FROM {table}")
    # Rows write their versions by themselves, at the clock's time. The right versions come last.
    for table in sorted(columns, key=lambda name: (name.endswith(VERSIONS), name != CLOCK)):
        rows = tables.get(table, ())
        if table.endswith(VERSIONS) or (table == CLOCK and rows):
            db.execute(f"DELETE FROM {table}")
        for row in rows:
            values = {name: _read(value) for name, value in row.items() if name in columns[table]}
            names = ", ".join(values)
            marks = ", ".join(f":{name}" for name in values)
            db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", values)


def _columns(db: Connection) -> dict[str, set[str]]:
    """The columns of each table."""
    sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    tables = [table for (table,) in db.execute(sql).fetchall()]
    return {
        table: {column[1] for column in db.execute(f"PRAGMA table_info({table})")}
        for table in tables
    }


def _write(value: Any) -> Any:
    return {"hex": value.hex()} if isinstance(value, bytes) else value


def _read(value: Any) -> Any:
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value
