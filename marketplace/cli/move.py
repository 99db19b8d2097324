"""``flask move``: moves the service from SQLite to PostgreSQL."""

import time
from typing import TYPE_CHECKING, cast

import click

from marketplace.cli.command import Command, echo
from marketplace.errors import DatabaseUnreachable
from marketplace.store.database import file_database, open_target

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
