"""``flask backup`` and ``flask restore``."""

import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import click

from marketplace.cli.command import Command, echo
from marketplace.errors import StartRefused, reason
from marketplace.market import moderation
from marketplace.market.moderation import Subject
from marketplace.store.database import file_database
from marketplace.store.database_errors import DatabaseError, DatabaseUnreadable
from marketplace.store.rows import DecisionRow
from marketplace.store.sqlite import SQLiteDatabase

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("backup", cls=Command)
@click.argument("file", type=FILE)
@click.option("--force", is_flag=True, help="Replace FILE where it exists.")
def backup_command(file: Path, force: bool) -> None:
    """Copy the database to FILE, while the service runs.

    FILE holds the database as it was at one moment, with all that was answered before. It appears complete
    or not at all, and only its owner may read it. The images are files: copy their folder as it is.
    """
    database = file_database()
    if file.exists() and not force:
        raise click.ClickException(f"{file} exists: take another name, or replace it with --force")
    if file.exists() and file.samefile(database.path):
        raise click.ClickException(f"{file} is the database itself: take another name")
    started = time.monotonic()
    size = _copy(database, file)
    seconds = time.monotonic() - started
    echo(f"Backed up {database.path} to {file}: {size:,} bytes in {seconds:.1f} s")


def _copy(database: SQLiteDatabase, file: Path) -> int:
    """Copy to a file that appears complete or not at all, and survives a power cut. Returns its size."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        database.copy(Path(name))
        database.check(Path(name))
        os.fsync(handle)
        os.replace(name, file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)
    _keep_names(file.parent)
    return file.stat().st_size


def _keep_names(folder: Path) -> None:
    """Sync a folder, so that the names in it survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@click.command("restore", cls=Command)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
def restore_command(file: Path) -> None:
    """Replace the database by the backup FILE. Stop the service first.

    FILE is checked first. Nothing is changed if another process has the database open, or if FILE is
    damaged. The old contents are kept in a file beside the database. Access tokens that were revoked since
    the backup work again: revoke them again. What was hidden, blocked or verified since the backup stays so.
    """
    database = file_database()
    if file.samefile(database.path):
        raise click.ClickException(f"{file} is the database itself: name a backup of it")
    decided: list[DecisionRow] = []
    with suppress(StartRefused, DatabaseUnreadable, DatabaseError):  # a reason to restore it
        decided = moderation.list_all()
    try:
        backup = database.replace(file)
    except (OSError, DatabaseUnreadable) as error:
        raise click.ClickException(f"Nothing was changed: {reason(error)}") from error
    echo(f"Restored {database.path} from {file}; what it held before is in {backup}")
    for row in moderation.decide_again(decided):
        echo(f"Still {row['kind']}: {Subject(row['id'], row['serial_no'])}")
