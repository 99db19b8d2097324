"""The only door to what is stored: every reader and every writer comes through it."""

from collections.abc import Mapping
from pathlib import Path

from flask import Flask, current_app

from marketplace.errors import StartRefused
from marketplace.store import sqlite
from marketplace.store.engine import Engine
from marketplace.store.schema import Schema

SCHEMA = Schema(Path(__file__).parent, tables={"nft", "prepared_listing", "access_token"})
# What is listed was approved for one account of one network: for another, a sync would take all of it off.
OWNERS = ("network", "account_id")


def init_app(app: Flask) -> None:
    """Open the database, or make it. Raises DatabaseUnreadable for one that is another's."""
    owners = {name: app.config[name.upper()] for name in OWNERS}
    app.extensions["database"] = open_database(app.config["DATABASE_URL"], owners)


def open_database(url: str, owners: Mapping[str, str] | None = None) -> Engine:
    """Open the database at an address, or at the path of an SQLite file, with the engine that it names."""
    if not url.startswith("postgresql://"):
        return sqlite.Database(url, SCHEMA, owners)
    try:
        from marketplace.store import postgresql
    except ImportError as error:
        raise StartRefused(
            "MARKETPLACE_DATABASE_URL names a PostgreSQL database, and psycopg is not installed"
            f" ({error}): pip install 'nft-marketplace-service[postgresql]', or in a clone pip install"
            " -r requirements-postgresql.txt"
        ) from error
    return postgresql.Database(url, SCHEMA, owners)


def read():
    """Return the connection for reads; each statement sees all that was committed before it."""
    return current_app.extensions["database"].connection


def write():
    """Open a write transaction: ``with write() as db:``. Short: no network and no SDK inside."""
    return current_app.extensions["database"].write()
