"""``flask upgrade``, ``move`` and ``reset-network``: another version, another engine, another ledger."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, cast

import click
from flask import current_app

from marketplace.cli.command import Command
from marketplace.command_line import echo
from marketplace.errors import DatabaseUnreachable
from marketplace.hedera.ids import is_entity_id
from marketplace.services import read, services, write
from marketplace.settings import PREFIX
from marketplace.store import database as databases
from marketplace.store.connection import Connection
from marketplace.store.database import file_database, open_target
from marketplace.store.properties import mark_property


@click.command("upgrade", cls=Command)
def upgrade_command() -> None:
    """Upgrade the database of an earlier version. Stop the service first.

    On SQLite, a copy is saved beside the file. Each step is one transaction: if the command is interrupted,
    run it again.
    """
    database = services().database
    started = time.monotonic()
    with database.startup_lock():
        database.read_version()  # another process may have upgraded it
        if not database.is_outdated:
            echo(f"{database.name} is up to date: there is nothing to do")
            return
        try:
            backup = database.upgrade(echo)
        except OSError as error:
            raise click.ClickException(
                f"{error}. {database.name} is as it was before this step: solve that, and run this again"
            ) from error
    kept = f"; the old content is in {backup}" if backup else ""
    echo(f"Upgraded {database.name} in {time.monotonic() - started:.1f} s{kept}")


if TYPE_CHECKING:  # psycopg may be missing
    from marketplace.store.postgresql import PostgreSQLDatabase

AGAIN = (
    "Nothing was moved, unless it was being committed. Run this again: if it says that the target is not"
    " empty, everything was moved"
)


@click.command("move", cls=Command)
# Any number: for one too many, click's own error would print it, with its password.
@click.argument("addresses", metavar="postgresql://USER@HOST/DATABASE", nargs=-1)
def move_command(addresses: tuple[str, ...]) -> None:
    """Copy the SQLite database to an empty PostgreSQL database. Stop the service first.

    Copies and counts everything in one transaction. If the command is interrupted, run it again. The SQLite
    file stays as it is. Put the password into PGPASSWORD or ~/.pgpass: other users may see the command line.
    """
    if len(addresses) != 1:
        raise click.UsageError("Name one PostgreSQL database: postgresql://user@host/market")
    started = time.monotonic()
    try:
        source = file_database()
        with source.contents() as contents:
            target = cast("PostgreSQLDatabase", open_target(addresses[0]))
            target.fill(contents, echo)
    except DatabaseUnreachable as error:
        raise click.ClickException(f"{error}. {AGAIN}") from error
    except KeyboardInterrupt:
        raise click.ClickException(f"Interrupted. {AGAIN}") from None
    echo(
        f"Moved {source.name} to {target.name} in {time.monotonic() - started:.1f} s. Set"
        f" MARKETPLACE_DATABASE_URL to it, and never start the service on {source.name} again: what it"
        " writes there is not moved"
    )


KEPT = ("access_token", "webhook")


def account_id(value: str) -> str:
    if not is_entity_id(value):
        raise click.BadParameter(f"{value!r} is not an account id (0.0.1234)")
    return value


@click.command("reset-network", cls=Command)
@click.option("--account-id", type=account_id, help="The marketplace's new account, if it has one.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def reset_network_command(account_id: str | None, yes: bool) -> None:
    """Empty the market after the network was reset. Stop the service first.

    Removes all NFTs, collections, events and prepared transactions, because they no longer exist on the
    ledger, and what you hid, blocked and verified. Keeps access tokens and webhooks. Saves the old content in
    a file.
    """
    network = current_app.config["NETWORK"]
    if network == "mainnet":
        raise click.ClickException(
            "mainnet is never reset: set MARKETPLACE_MIRROR_NODE_URL to another of its mirror nodes"
        )
    database = services().database
    if not yes:
        click.confirm(f"Remove every NFT and event of {network} from {database.name}?", abort=True)
    with TemporaryDirectory(dir=current_app.config["DATA_DIR"], prefix=".restoring-") as folder:
        file = Path(folder) / "empty.db"
        _make_empty(file, read())
        kept = databases.replace(file)
    if account_id:
        with write() as db:
            mark_property(db, "account_id", account_id.encode())
        echo(f"Set {PREFIX}ACCOUNT_ID={account_id} before you start the service")
    echo(f"Emptied {database.name}; the old content is in {kept}")


def _make_empty(file: Path, source: Connection) -> None:
    """Make a database without anything but what is kept of another one."""
    empty = databases.make_file(file)
    with empty.write() as db:
        for table in KEPT:
            for row in source.execute(f"SELECT * FROM {table}").fetchall():
                values = dict(row)
                if "delivered_to" in values:
                    values["delivered_to"] = 0  # events begin again
                places = ", ".join(f":{name}" for name in values)
                db.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({places})", values)
    empty.close()
