"""The only door to what is stored: every reader and every writer comes through it."""

from pathlib import Path

from flask import Flask, current_app

from marketplace.store.schema import Schema
from marketplace.store.sqlite import Database

SCHEMA = Schema(Path(__file__).parent, tables={"nft", "prepared_listing", "access_token"})
# What is listed was approved for one account of one network: for another, a sync would take all of it off.
OWNERS = ("network", "account_id")


def init_app(app: Flask) -> None:
    """Open the database, or make it. Raises DatabaseUnreadable for one that is another's."""
    owners = {name: app.config[name.upper()] for name in OWNERS}
    app.extensions["database"] = Database(app.config["DATABASE_URL"], SCHEMA, owners)


def read():
    """Return the connection for reads; each statement sees all that was committed before it."""
    return current_app.extensions["database"].connection


def write():
    """Open a write transaction: ``with write() as db:``. Short: no network and no SDK inside."""
    return current_app.extensions["database"].write()
