"""The base of all commands: errors end them with one sentence, and they print no control characters."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click
from flask.cli import ScriptInfo, with_appcontext

from marketplace.cli import process
from marketplace.errors import MarketplaceError, StartRefused, printable, reason
from marketplace.store.database_errors import DatabaseInUse, NoFile, explained

FOUND_BY_FLASK = ("wsgi.py", "app.py")  # in the current folder, such as a clone's


class Command(click.Command):
    """A command with an application context. It ends with one sentence if disk, database or ledger fails."""

    def __init__(self, *, callback: Callable[..., Any], **options: Any) -> None:
        super().__init__(callback=with_appcontext(callback), **options)

    def invoke(self, context: click.Context) -> Any:
        process.prepare()
        try:
            with explained():
                return super().invoke(context)
        except click.ClickException as error:
            error.message = printable(error.message)  # type: ignore[misc]  # as click's own classes do
            raise
        except (MarketplaceError, StartRefused) as error:
            raise click.ClickException(printable(str(error))) from error
        except BrokenPipeError:
            raise  # click ends quietly if the reader has closed the pipe
        except DatabaseInUse as error:
            advice = "Nothing was changed: stop the service and the watcher, and try again"
            raise click.ClickException(printable(f"{error}. {advice}")) from error
        except (NoFile, OSError) as error:
            raise click.ClickException(printable(reason(error))) from error


class CommandRefused(StartRefused, click.ClickException):
    """The application that a command needs does not start. The command ends with this message."""


@contextmanager
def refusing_commands() -> Iterator[None]:
    """End the current command with a sentence, if there is one, where a start is refused."""
    try:
        yield
    except StartRefused as error:
        if click.get_current_context(silent=True) is None:
            raise
        raise CommandRefused(str(error)) from error


def command(words: str) -> str:
    """The command line to type: ``flask upgrade``, with --app where flask does not find the service alone."""
    context = click.get_current_context(silent=True)
    info = context and context.find_object(ScriptInfo)
    path = info and info.app_import_path
    if not path and not any(map(os.path.exists, FOUND_BY_FLASK)):
        path = "marketplace"
    return f"flask --app {path} {words}" if path else f"flask {words}"


class Group(click.Group):
    """A group of such commands."""

    command_class = Command


def echo(text: str, **options: Any) -> None:
    """Print a text without control characters: strangers may have written a part of it."""
    click.echo(printable(text), **options)


def echo_log(text: str, **options: Any) -> None:
    """Print a line of the log. It is lost if the disk is full or the pipe is closed."""
    with suppress(OSError):
        echo(text, **options)
