"""The operator's command that brings an older database up to this version."""

import sys
import time
from collections.abc import Iterable, Iterator

import click
from flask import Flask
from flask.cli import with_appcontext

from marketplace.cli.command import Command, say
from marketplace.errors import StartRefused, printable
from marketplace.services import services
from marketplace.store.database_errors import DatabaseInUse
from marketplace.store.engine import Engine


@click.command("upgrade", cls=Command)
@with_appcontext
def upgrade_command():
    """Bring the database of an earlier version up to this one. Stop the service first.

    What an SQLite file holds is kept in a file beside it. Each step is one transaction: whenever this is
    interrupted, run it again, and it goes on.
    """
    database = services().database
    started = time.monotonic()
    try:
        with database.turn(), Progress() as progress:
            database.look()  # another one may have done it
            if not database.is_outdated:
                say(f"{database.name} is of this version: there is nothing to do")
                return
            aside = database.upgrade(progress.begin)
    except DatabaseInUse as error:
        raise click.ClickException(
            f"{error}. Nothing was changed: stop the service and the watcher, and try again"
        ) from error
    except OSError as error:
        raise click.ClickException(
            f"{error}. {database.name} is as it was before this step: see to it, and run this again"
        ) from error
    kept = f"; what it held before is in {aside}" if aside else ""
    say(f"Upgraded {database.name} in {time.monotonic() - started:.1f} s{kept}")


class Progress:
    """Says what is done, and how long each took."""

    def __init__(self) -> None:
        self._begun: float | None = None

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *error: object) -> None:
        self._end()

    def begin(self, what: str) -> None:
        self._end()
        self._begun = time.monotonic()
        say(f"{what} ...", nl=False)

    def through(self, what: str, rows: Iterable[tuple], count: int) -> Iterator[tuple]:
        """Begin what is done with these rows, and say on a terminal how many are done."""
        self.begin(what)
        step = max(count // 100, 1) if sys.stdout.isatty() else sys.maxsize
        for done, row in enumerate(rows, 1):
            yield row
            if done % step == 0:
                click.echo(f"\r{printable(what)} ... {done / count:.0%}", nl=False)

    def _end(self) -> None:
        if self._begun is not None:
            say(f" {time.monotonic() - self._begun:.1f} s")


def upgrade_at_once(database: Engine) -> None:
    """Bring a database up without being asked to, where it is the sandbox's."""
    with database.turn():
        database.look()  # those who start at once: the first one has done it
        if not database.is_outdated:
            return
        try:
            database.upgrade()
        except (DatabaseInUse, OSError) as error:
            raise StartRefused(
                f"{database.name} can not be upgraded: {error}. Try again"
            ) from error


def init_app(app: Flask) -> None:
    app.cli.add_command(upgrade_command)
