"""Opens the database, and replaces its content: a file or a server, as DATABASE_URL says."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, cast

from flask import Config, current_app

from marketplace.errors import StartRefused
from marketplace.services import services
from marketplace.store import sqlite, sqlite_files
from marketplace.store.connection import DatabaseInUse, DatabaseUnreadable, NoFile
from marketplace.store.engine import Engine
from marketplace.store.schema import Schema

if TYPE_CHECKING:  # psycopg may be missing
    from marketplace.store.postgresql import PostgreSQLDatabase

SCHEMA = Schema(Path(__file__).parent, tables={"nft", "access_token"})
# Listings were approved for one account of one network. With another one, a sync would delist all of them.
OWNERS = ("network", "account_id")


def from_config(config: Config, makes: bool = True) -> Engine:
    """Open the database, or create it if ``makes`` is true and none exists.

    Raises DatabaseUnreadable for another network's or account's database, DatabaseMissing if there is none.
    """
    return open_database(config["DATABASE_URL"], _owners(config), makes=makes)


def _owners(config: Config) -> dict[str, str]:
    return {name: config[name.upper()] for name in OWNERS}


def open_target(url: str) -> Engine:
    """Open the PostgreSQL database to fill. Raises DatabaseUnreadable; its message has no password."""
    if not url.startswith(("postgresql://", "postgres://")):
        raise DatabaseUnreadable(
            "The target is not the address of a PostgreSQL database"
            " (postgresql://user@host-a,host-b/market)"
        )
    url = url.replace("postgres://", "postgresql://", 1)
    return open_database(url, _owners(current_app.config), called="The target")


def file_database() -> sqlite.SQLiteDatabase:
    """The database of this service, for commands on an SQLite file. Raises NoFile for PostgreSQL."""
    database = services().database
    if not isinstance(database, sqlite.SQLiteDatabase):
        raise NoFile(database.name)
    return database


def open_database(
    url: str,
    owners: Mapping[str, str] | None = None,
    called: str = "MARKETPLACE_DATABASE_URL",
    makes: bool = True,
) -> Engine:
    """Open a PostgreSQL database at an address, or an SQLite file at a path."""
    if not url.startswith("postgresql://"):
        return sqlite.SQLiteDatabase(url, SCHEMA, owners, makes)
    try:
        from marketplace.store import postgresql
    except ImportError as error:
        raise StartRefused(
            f"{called} names a PostgreSQL database, but psycopg is not installed"
            f" ({error}). Run pip install 'nft-marketplace-service[postgresql]' (in a clone: pip install"
            " 'psycopg[binary]')"
        ) from error
    return postgresql.PostgreSQLDatabase(url, SCHEMA, owners, called, makes)


def make_file(path: Path) -> sqlite.SQLiteDatabase:
    """Create an empty SQLite file of this service, whichever engine its own database uses."""
    return sqlite.SQLiteDatabase(str(path), SCHEMA, _owners(current_app.config))


def replace(source: Path) -> Path:
    """Replace all content with a backup's, whichever engine made it. Returns a copy of the old content.

    Upgrades a backup of an earlier version. Raises DatabaseInUse while another process has the database
    open, DatabaseUnreadable for a damaged file or one that is no backup of this service, OSError if a disk
    is full. Then nothing was changed.
    """
    database = services().database
    if isinstance(database, sqlite.SQLiteDatabase):
        return database.replace(source)
    folder = Path(current_app.config["DATA_DIR"])
    kept = sqlite_files.name_copy(folder / "postgresql.db")
    with TemporaryDirectory(dir=folder, prefix=".restoring-") as temporary:
        # Opened as this service's own, so that it is checked and upgraded like one.
        file = make_file(Path(temporary) / "copy.db")
        try:
            file.replace(source)
            database.copy(kept)
            with file.contents() as contents:
                cast("PostgreSQLDatabase", database).fill(contents, replaces=True)
        finally:
            file.close()
    return kept


def upgrade_at_once(database: Engine) -> None:
    """Upgrade a database of the sandbox at the start."""
    with database.startup_lock():
        database.read_version()  # another process may have upgraded it
        try:
            if database.is_outdated:
                database.upgrade()
        except (DatabaseInUse, OSError) as error:
            raise StartRefused(f"{database.name} cannot be upgraded: {error}. Try again") from error
