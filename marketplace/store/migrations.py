"""The upgrades of an SQLite database, as sqlite-utils runs and records them."""

from collections.abc import Callable
from datetime import UTC, datetime

from sqlite_utils import Migrations
from sqlite_utils.utils import sqlite3

from marketplace.store.schema import Schema, Step
from marketplace.store.sqlite_files import wrap

SET = "marketplace"


def apply(
    connection: sqlite3.Connection,
    schema: Schema,
    version: int,
    take: Callable[[sqlite3.Connection, Step], None],
) -> None:
    """Upgrade a database of this version. ``take`` runs each step, in a transaction with its record."""
    db = wrap(connection)
    migrations = Migrations(SET)
    for step in schema.steps:
        migrations(name=str(step.version))(lambda db, step=step: take(db.conn, step))
    record(connection, schema, version)
    migrations.apply(db)


def record(connection: sqlite3.Connection, schema: Schema, version: int) -> None:
    """Record the steps up to a version as taken, for a new database or one of an earlier release."""
    db = wrap(connection)
    Migrations(SET).ensure_migrations_table(db)
    now = str(datetime.now(UTC))
    steps = (step for step in schema.steps if step.version <= version)
    rows = ({"migration_set": SET, "name": str(step.version), "applied_at": now} for step in steps)
    db.table(Migrations.migrations_table).insert_all(rows, ignore=True)
