"""The operator's command that brings an older database up to this version."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import click
from flask import Flask, current_app
from flask.cli import with_appcontext

from marketplace.errors import StartRefused
from marketplace.operator.command import Command, is_looked_for, say
from marketplace.store.faults import DatabaseInUse
from marketplace.store.sqlite import Database


@click.command("upgrade", cls=Command)
@with_appcontext
def upgrade_command():
    """Bring the database of an earlier version up to this one. Stop the service first.

    What it holds is kept in a file beside it. Each step is one transaction: whenever this is interrupted,
    run it again, and it goes on.
    """
    database = current_app.extensions["database"]
    if not database.is_outdated:
        say(f"{database.path} is of this version: there is nothing to do")
        return
    aside = name_aside(database)
    started = time.monotonic()
    try:
        with Progress() as progress:
            database.upgrade(aside, progress.begin)
    except DatabaseInUse as error:
        raise click.ClickException(
            f"{error}. Nothing was changed: stop the service and the watcher, and try again"
        ) from error
    except OSError as error:
        kept = f" What it held first is in {aside}." if aside.exists() else ""
        raise click.ClickException(
            f"{error}. {database.path} is as it was before this step: see to it, and run this again.{kept}"
        ) from error
    seconds = time.monotonic() - started
    say(f"Upgraded {database.path} in {seconds:.1f} s; what it held before is in {aside}")


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

    def _end(self) -> None:
        if self._begun is not None:
            say(f" {time.monotonic() - self._begun:.1f} s")


def name_aside(database: Database) -> Path:
    """A file beside the database, for what it holds now."""
    now = datetime.now(UTC)
    return database.path.with_name(f"{database.path.name}.before-{now:%Y%m%dT%H%M%S.%fZ}")


def upgrade_at_once(database: Database, is_ours: Callable[[], bool] = lambda: True) -> None:
    """Bring a database up without being asked to, where it is the sandbox's."""
    with database.turn():
        database.look()  # those who start at once: the first one has done it
        if not database.is_outdated or not is_ours():
            return
        try:
            database.upgrade(name_aside(database))
        except (DatabaseInUse, OSError) as error:
            raise StartRefused(
                f"{database.path} can not be upgraded: {error}. Try again"
            ) from error


def init_app(app: Flask) -> None:
    """Raises DatabaseOutdated, but for a command that may be ``upgrade``."""
    app.cli.add_command(upgrade_command)
    if not is_looked_for():
        app.extensions["database"].require_current()
