"""The only door to what is stored: every reader and every writer comes through it."""

from pathlib import Path

from flask import Flask, current_app

from marketplace.store.faults import DatabaseError, DatabaseUnreadable
from marketplace.store.files import OWNERS
from marketplace.store.schema import Schema
from marketplace.store.sqlite import Database

SCHEMA = Schema(Path(__file__).parent, tables={"nft", "prepared_listing", "access_token"})


def init_app(app: Flask) -> None:
    """Open the database, or make it. Raises DatabaseUnreadable for one that is another's."""
    app.extensions["database"] = database = Database(app.config["DATABASE_URL"], SCHEMA)
    if not database.is_outdated:
        claim(database, app.config)


def claim(database: Database, settings: dict) -> None:
    """See that a database is of the settings' network and account; a new one is from now on."""
    # What is listed was approved for this account: for another one, a sync would take all of it off.
    for name in OWNERS:
        setting = name.upper()
        try:
            kept = database.find_or_keep(name, settings[setting].encode()).decode()
        except DatabaseError as error:
            raise DatabaseUnreadable(f"{database.path} can not be used: {error}") from error
        if kept != settings[setting]:
            raise DatabaseUnreadable(
                f"{database.path} is an index of {kept}, and MARKETPLACE_{setting} is"
                f" {settings[setting]}: name another MARKETPLACE_DATABASE_URL"
            )


def read():
    """Return the connection for reads; each statement sees all that was committed before it."""
    return current_app.extensions["database"].connection


def write():
    """Open a write transaction: ``with write() as db:``. Short: no network and no SDK inside."""
    return current_app.extensions["database"].write()
