"""The base of all commands: they end with one sentence, and print no control characters of strangers."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click
from flask.cli import AppGroup

from marketplace.errors import MarketplaceError, StartRefused, printable, reason
from marketplace.store.database_errors import DatabaseInUse, NoFile, explained


@contextmanager
def printable_errors() -> Iterator[None]:
    """Remove control characters from an error, which may repeat the command line."""
    try:
        yield
    except click.ClickException as error:
        error.message = printable(error.message)  # type: ignore[misc]  # as click's own classes do
        raise


class Command(click.Command):
    """A command that ends with one sentence if the disk, the database or the ledger fails."""

    @printable_errors()
    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        return super().parse_args(context, arguments)

    @printable_errors()
    def invoke(self, context: click.Context) -> Any:
        try:
            with explained():
                return super().invoke(context)
        except MarketplaceError as error:
            raise click.ClickException(str(error)) from error
        except BrokenPipeError:
            raise  # click ends quietly where nobody reads on
        except (DatabaseInUse, NoFile, StartRefused, OSError) as error:
            raise click.ClickException(reason(error)) from error


class Group(AppGroup):
    """A group of such commands, which run with the application at hand."""

    @printable_errors()
    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        return super().parse_args(context, arguments)

    @printable_errors()
    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        return super().resolve_command(context, arguments)

    def command(self, *arguments: Any, **options: Any) -> Any:
        return super().command(*arguments, **{"cls": Command} | options)


def echo(text: str, **options: Any) -> None:
    """Print a text without control characters: strangers wrote a part of it."""
    click.echo(printable(text), **options)


def echo_log(text: str, **options: Any) -> None:
    """Print a line of the log, which a full disk or a closed pipe drops."""
    with suppress(OSError):
        echo(text, **options)
