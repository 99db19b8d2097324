"""The operator's command that brings an older database up to this version."""

import time
from datetime import UTC, datetime
from pathlib import Path

import click
from flask import Flask, current_app
from flask.cli import with_appcontext

from marketplace.errors import StartRefused
from marketplace.operator.command import Command, is_looked_for, say
from marketplace.store.database import claim
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
    started = begun = time.monotonic()
    try:
        for number, what in enumerate(database.upgrade(aside)):
            now = time.monotonic()
            say(f" {now - begun:.1f} s\n{what} ..." if number else f"{what} ...", nl=False)
            begun = now
        say(f" {time.monotonic() - begun:.1f} s")
    except DatabaseInUse as error:
        raise click.ClickException(
            f"{error}. Nothing was changed: stop the service and the watcher, and try again"
        ) from error
    except OSError as error:
        click.echo()
        raise click.ClickException(
            f"{error}. {database.path} is as it was before this step: see to it, and run this again"
        ) from error
    seconds = time.monotonic() - started
    say(f"Upgraded {database.path} in {seconds:.1f} s; what it held before is in {aside}")


def name_aside(database: Database) -> Path:
    """A file beside the database, for what it holds now."""
    now = datetime.now(UTC)
    return database.path.with_name(f"{database.path.name}.before-{now:%Y%m%dT%H%M%S.%fZ}")


def upgrade_at_once(database: Database) -> None:
    """Bring a database up without being asked to, as the sandbox's are, which hold nothing of worth."""
    with database.turn():
        database.look()  # those who start at once: the first one has done it
        if not database.is_outdated:
            return
        try:
            for _ in database.upgrade(name_aside(database)):
                pass
        except (DatabaseInUse, OSError) as error:
            raise StartRefused(
                f"{database.path} can not be upgraded: {error}. Try again"
            ) from error


def init_app(app: Flask) -> None:
    """Raises DatabaseOutdated, unless the sandbox's database, or a command that may be ``upgrade``."""
    app.cli.add_command(upgrade_command)
    database = app.extensions["database"]
    if database.is_outdated and app.config["NETWORK"] == "sandbox":
        upgrade_at_once(database)
        claim(database, app.config)
    elif not is_looked_for():
        database.require_current()
