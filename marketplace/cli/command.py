"""The base of all commands: errors end them with one sentence, and they print no control characters."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from flask.cli import with_appcontext

from marketplace import command_line
from marketplace.errors import MarketplaceError, StartRefused
from marketplace.store.connection import DatabaseInUse, NoFile, explained
from marketplace.text import printable, reason

# The programs whose commands look after a service; and those commands that may be the first to start.
PROGRAMS = ("flask", "nft-marketplace", "flask/__main__.py", "marketplace/__main__.py")
FIRST = {"import", "rebuild", "restore", "run", "sandbox", "watch", "--help"}


def may_make_database() -> bool:
    """Whether this process may make a database where there is none: a server, a host, or one of FIRST.

    Another command in an empty folder was called in the wrong place: it would show, or copy, nothing.
    """
    program, *words = sys.argv
    return not program.endswith(PROGRAMS) or not words or not FIRST.isdisjoint(words)


class Command(click.Command):
    """A command with an application context. It ends with one sentence if disk, database or ledger fails."""

    def __init__(self, *, callback: Callable[..., Any], **options: Any) -> None:
        super().__init__(callback=with_appcontext(callback), **options)

    def invoke(self, context: click.Context) -> Any:
        command_line.prepare_process()
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
    """End the current command, if there is one, with the message of a refused start."""
    try:
        yield
    except StartRefused as error:
        if click.get_current_context(silent=True) is None:
            raise
        raise CommandRefused(str(error)) from error


class Group(click.Group):
    """A group of such commands."""

    command_class = Command
