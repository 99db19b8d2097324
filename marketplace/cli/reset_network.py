"""``flask reset-network``: begins with an empty market after a test network was reset."""

from pathlib import Path
from tempfile import TemporaryDirectory

import click
from flask import current_app

from marketplace.cli.command import Command, echo
from marketplace.hedera.ids import is_entity_id
from marketplace.services import services
from marketplace.settings import PREFIX
from marketplace.store import database as databases
from marketplace.store.connection import Connection
from marketplace.store.database import read, write
from marketplace.store.properties import mark_property

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
