"""The database of the current application, and what of it the current request sees."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flask import Flask, current_app, g

from hiero_sandbox.storage import Connection, Database
from hiero_sandbox.world import World

KEY = "hiero_sandbox"  # in app.extensions
PAST = "hiero_sandbox_past"  # in flask.g: a connection that shows the past


def init_app(app: Flask, path: Path | None, world: World) -> None:
    database = app.extensions[KEY] = Database(path, world)
    if database.set_aside:
        app.logger.warning(
            "%s is from another version. It was renamed to %s, and a new ledger was created",
            path,
            database.set_aside,
        )


def database() -> Database:
    """The database of the current application."""
    found: Database = current_app.extensions[KEY]
    return found


def read() -> Connection:
    """The connection for reads. Each statement sees all earlier commits, unless the request looks back."""
    past: Connection | None = g.get(PAST)
    return past or database().connection


def look_back(moment: int) -> None:
    """Let the current request read the ledger as it was at a time in nanoseconds."""
    look_at_present()
    setattr(g, PAST, database().look_back(moment))


def look_at_present() -> None:
    past: Connection | None = g.pop(PAST, None)
    if past:
        past.close()


@contextmanager
def write() -> Iterator[Connection]:
    """A write transaction: ``with write() as db:``."""
    with database().write() as db:
        yield db
