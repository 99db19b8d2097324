"""The base of all commands: errors end them with one sentence, and they print no control characters."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import click
from flask.cli import with_appcontext

from marketplace.errors import MarketplaceError, printable, reason
from marketplace.store.database_errors import DatabaseInUse, NoFile, explained


class Command(click.Command):
    """A command with an application context. It ends with one sentence if disk, database or ledger fails."""

    def __init__(self, *, callback: Callable[..., Any], **options: Any) -> None:
        super().__init__(callback=with_appcontext(callback), **options)

    def invoke(self, context: click.Context) -> Any:
        try:
            with explained():
                return super().invoke(context)
        except click.ClickException as error:
            error.message = printable(error.message)  # type: ignore[misc]  # as click's own classes do
            raise
        except MarketplaceError as error:
            raise click.ClickException(printable(str(error))) from error
        except BrokenPipeError:
            raise  # click ends quietly if the reader has closed the pipe
        except DatabaseInUse as error:
            advice = "Nothing was changed: stop the service and the watcher, and try again"
            raise click.ClickException(printable(f"{error}. {advice}")) from error
        except (NoFile, OSError) as error:
            raise click.ClickException(printable(reason(error))) from error


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
