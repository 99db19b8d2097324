"""What all of the operator's commands share: how they end, and how what strangers wrote is printed."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import click
from flask.cli import AppGroup

from marketplace.errors import MarketplaceError, StartRefused, printable, reason
from marketplace.store.database_errors import DatabaseInUse, NoFile, explained


@contextmanager
def printing_plainly() -> Iterator[None]:
    """Take the control characters out of a refusal: it may repeat what was on the command line."""
    try:
        yield
    except click.ClickException as error:
        error.message = printable(error.message)
        raise


class Command(click.Command):
    """A command that ends with a sentence where the disk, the database or the ledger fails."""

    @printing_plainly()
    def parse_args(self, context: click.Context, arguments: list[str]):
        return super().parse_args(context, arguments)

    @printing_plainly()
    def invoke(self, context: click.Context):
        try:
            with explained():
                return super().invoke(context)
        except MarketplaceError as error:
            raise click.ClickException(str(error)) from error
        except BrokenPipeError:
            raise  # nobody reads on, and click knows how to end then
        except (DatabaseInUse, NoFile, StartRefused, OSError) as error:
            raise click.ClickException(reason(error)) from error


class Group(AppGroup):
    """A group of such commands, which run with the application at hand."""

    @printing_plainly()
    def parse_args(self, context: click.Context, arguments: list[str]):
        return super().parse_args(context, arguments)

    @printing_plainly()
    def resolve_command(self, context: click.Context, arguments: list[str]):
        return super().resolve_command(context, arguments)

    def command(self, *arguments, **options):
        return super().command(*arguments, **{"cls": Command} | options)


def say(text: str, **options) -> None:
    """Print a text without its control characters: a ledger's text is a stranger's."""
    click.echo(printable(text), **options)


def say_or_drop(text: str, **options) -> None:
    """Print a line of the log. A full disk or a closed pipe drops the line and ends nothing."""
    with suppress(OSError):
        say(text, **options)
