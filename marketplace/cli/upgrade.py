"""``flask upgrade``: upgrades an older database to this version."""

import time

import click

from marketplace.cli.command import Command, echo
from marketplace.errors import StartRefused
from marketplace.services import services
from marketplace.store.database_errors import DatabaseInUse
from marketplace.store.engine import Engine


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


def upgrade_at_once(database: Engine) -> None:
    """Upgrade a database of the sandbox at the start."""
    with database.startup_lock():
        database.read_version()  # another process may have upgraded it
        try:
            if database.is_outdated:
                database.upgrade()
        except (DatabaseInUse, OSError) as error:
            raise StartRefused(f"{database.name} cannot be upgraded: {error}. Try again") from error
