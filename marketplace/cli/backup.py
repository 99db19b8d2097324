"""``flask backup``, ``flask restore`` and ``flask prune``: the folder of backups, and what is left over.

A folder of backups has a folder for each, named by its time, and one of images for all of them::

    20261120T031700Z/marketplace.db, settings.env
    media/
"""

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
from flask import current_app

from marketplace.cli.access_tokens import duration
from marketplace.cli.command import Command
from marketplace.command_line import command, echo
from marketplace.errors import MarketplaceError, StartRefused
from marketplace.hedera import times
from marketplace.market import moderation
from marketplace.market.moderation import Subject
from marketplace.services import read, services, write
from marketplace.settings import write_changed
from marketplace.store import database as databases
from marketplace.store import decisions, disks, media, properties
from marketplace.store.connection import DatabaseError, DatabaseUnreadable, explained
from marketplace.store.decisions import DecisionRow
from marketplace.store.sqlite import SQLiteDatabase
from marketplace.text import reason
from marketplace.version import __version__

PATH = click.Path(path_type=Path)
STAMP = "%Y%m%dT%H%M%SZ"
BACKUP = re.compile(r"[0-9]{8}T[0-9]{6}Z")
DATABASE, ENVIRONMENT, MEDIA = "marketplace.db", "settings.env", "media"
# Beside the database: copies of before an upgrade or a restore, and what was killed in the middle of one.
LEFT = ("*.before-[0-9]*T*Z*", ".restoring-*")


@click.command("backup", cls=Command)
@click.argument("path", metavar="FOLDER", type=PATH)
@click.option("--force", is_flag=True, help="Replace FILE.db if it exists.")
@click.option("--keep", type=duration, help="Delete backups in FOLDER older than this: 30d, 52w.")
def backup_command(path: Path, force: bool, keep: int | None) -> None:
    """Back up the service to FOLDER while it runs.

    Adds a folder with a copy of the database and with the settings, without passwords. Adds the images that
    FOLDER lacks. The backup appears complete or not at all, and only its owner may read it. If you name
    FILE.db instead of FOLDER, only the database is saved.
    """
    now = datetime.now(UTC)
    if path.suffix == ".db" or path.is_file():
        _back_up_database(path, force)
        _note_backup(now)
        return
    path.mkdir(mode=0o700, exist_ok=True)
    target = path / now.strftime(STAMP)
    if target.exists():
        raise click.ClickException(f"{target} exists: try again in a second")
    partial = Path(tempfile.mkdtemp(dir=path, prefix=".partial-"))
    try:
        _write_settings(partial / ENVIRONMENT)
        _back_up_database(partial / DATABASE, force=False, shown=target / DATABASE)
        partial.rename(target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    disks.sync_names(path)
    _back_up_images(path / MEDIA)
    _note_backup(now)
    if key := current_app.config["ACCOUNT_KEY_FILE"]:
        echo(f"Not included: {key}, the account's key. Keep a copy of it in a safe place")
    if keep is not None:
        _delete_older(path, now - timedelta(seconds=keep))


def _back_up_database(file: Path, force: bool, shown: Path | None = None) -> None:
    database, shown = services().database, shown or file
    file = file.resolve()
    if file.exists() and not file.is_file():
        raise click.ClickException(f"{shown} is no file: take another name")
    if file.exists() and not force:
        raise click.ClickException(f"{shown} exists: take another name, or replace it with --force")
    if _is_of(database, file):
        raise click.ClickException(f"{shown} is the database itself: take another name")
    started = time.monotonic()
    size = _copy(file)
    seconds = time.monotonic() - started
    echo(f"Backed up {database.name} to {shown}: {size:,} bytes in {seconds:.1f} s")


def _is_of(database: object, file: Path) -> bool:
    """Whether a file is the database itself."""
    return isinstance(database, SQLiteDatabase) and file.exists() and file.samefile(database.path)


def _copy(file: Path) -> int:
    """Copy to a file that appears complete or not at all, and survives a power cut. Returns its size."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        database = services().database
        database.copy(Path(name))
        if isinstance(database, SQLiteDatabase):  # its pages were copied as they are
            database.check(Path(name))
        disks.sync(handle, file.parent)
        os.replace(name, file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)
    disks.sync_names(file.parent)
    return file.stat().st_size


def _write_settings(file: Path) -> None:
    """Write the settings that differ from their defaults, to start the service with them elsewhere."""
    first = f"# Version {__version__}. Passwords and keys are not in it; other settings have their defaults."
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(handle, "w", encoding="utf-8") as opened:
        opened.write(f"{first}\n{write_changed(current_app.config)}")
        opened.flush()
        disks.sync(handle, file.parent)


def _back_up_images(target: Path) -> None:
    folder = services().media.folder
    if folder is None:
        echo(f"Not included: the images in {current_app.config['MEDIA_URL']}")
        return
    target.mkdir(mode=0o700, exist_ok=True)
    new, all_of_them = _copy_images(folder, target, (entry.name for entry in os.scandir(folder)))
    echo(f"Images in {target}: {all_of_them:,}, of which {new:,} are new")


def _copy_images(
    source: Path, target: Path, names: Iterable[str], mode: int | None = None
) -> tuple[int, int]:
    """Copy the images that are missing: none ever changes. Returns their number, and that of all.

    Follows no link: the image of a backup could be any file of this machine.
    """
    new = number = 0
    for name in names:
        is_hidden = name.startswith(".") or "/" in name
        if is_hidden or (source / name).is_symlink() or not (source / name).is_file():
            continue
        number += 1
        if not (target / name).exists():
            _copy_image(source / name, target / name, mode)
            new += 1
    return new, number


def _copy_image(source: Path, target: Path, mode: int | None) -> None:
    """Copy to a file that appears complete or not at all."""
    partial = target.with_name(f".{target.name}")
    partial.unlink(missing_ok=True)
    with source.open("rb") as old, partial.open("xb") as new:
        shutil.copyfileobj(old, new)
    if mode is not None:
        disks.set_mode(partial, mode)
    partial.rename(target)


def _note_backup(began_at: datetime) -> None:
    """Store the date of a backup, for /metrics and ``flask status``. The backup is complete without it."""
    if services().database.is_outdated:
        return
    date = times.to_iso(int(began_at.timestamp()) * times.SECOND)
    try:
        with explained(), write() as db:
            properties.mark_property(db, properties.LAST_BACKUP, date.encode())
    except (MarketplaceError, OSError) as error:
        echo(f"The date of this backup was not stored: {error}", err=True)


def _delete_older(folder: Path, before: datetime) -> None:
    for path in _list_backups(folder):
        if path.name < before.strftime(STAMP):
            shutil.rmtree(path)
            echo(f"Deleted {path}")


def _list_backups(folder: Path) -> list[Path]:
    """The backups in a folder, the oldest first."""
    return sorted(path for path in folder.iterdir() if BACKUP.fullmatch(path.name))


@click.command("restore", cls=Command)
@click.argument("path", metavar="FOLDER", type=click.Path(path_type=Path, exists=True))
def restore_command(path: Path) -> None:
    """Replace the database by a backup, and add its images. Stop the service first.

    FOLDER is a folder of backups (the newest is restored), one of the backups in it, or a FILE.db. Nothing
    changes if the backup is damaged, or while another process has the database open. The old content is saved
    in a file beside the database.

    Access tokens that you revoked since the backup work again: revoke them again. NFTs, accounts and
    collections that you hid, blocked or verified since then stay so.
    """
    file = _find_database(path)
    database = services().database
    if _is_of(database, file):
        raise click.ClickException(f"{file} is the database itself: name a backup of it")
    decided: list[DecisionRow] = []
    with suppress(StartRefused, DatabaseUnreadable, DatabaseError):  # a reason to restore it
        decided = decisions.list_decisions(read())
    try:
        kept = databases.replace(file)
    except (OSError, DatabaseUnreadable) as error:
        raise click.ClickException(f"Nothing was changed: {reason(error)}") from error
    echo(f"Restored {database.name} from {file}; the old content is in {kept}")
    for row in moderation.decide_again(decided):
        echo(f"Still {row['kind']}: {Subject(row['id'], row['serial_no'])}")
    images = file.parent.parent / MEDIA
    if path.is_dir() and images.is_dir():
        _restore_images(images)


def _find_database(path: Path) -> Path:
    """The database of a backup, or of the newest one in a folder."""
    if path.is_file():
        return path
    newest = _list_backups(path)[-1:]
    file = (newest[0] if newest else path) / DATABASE
    if not file.is_file():
        raise click.ClickException(
            f"{path} is not a backup, and contains none: name the folder that backup wrote to"
        )
    return file


def _restore_images(source: Path) -> None:
    folder = services().media.folder
    if folder is None:
        url = current_app.config["MEDIA_URL"]
        echo(f"The images are in {source}: copy those that {url} lacks")
        return
    names = (name for key in media.list_keys(read()) for name in media.list_sizes(key))
    try:
        new, number = _copy_images(source, folder, names, media.FILE_MODE)
    except OSError as error:
        raise click.ClickException(
            f"The database is restored, but images are missing: {reason(error)}"
        ) from error
    echo(f"Images in {folder}: {number:,} of the backup, of which {new:,} were missing")


@click.command("prune", cls=Command)
@click.option("--remove", is_flag=True, help="Remove these files.")
@click.option(
    "--older-than",
    "seconds",
    type=duration,
    default="7d",
    show_default=True,
    help="Keep newer files: you may need them to undo an upgrade.",
)
def prune_command(remove: bool, seconds: int | None) -> None:
    """Show or remove the files that upgrades, restores and interrupted commands left beside the database."""
    database = services().database
    folder = Path(current_app.config["DATA_DIR"])
    if isinstance(database, SQLiteDatabase):
        folder = database.path.parent
    before = time.time() - (seconds or 0)
    total = 0
    for path in sorted(path for pattern in LEFT for path in folder.glob(pattern)):
        with suppress(FileNotFoundError):  # another command has just ended
            size, is_old = _measure(path), path.stat().st_mtime <= before
            total += size * is_old
            what = ("removed" if remove else "to remove") if is_old else "kept"
            if remove and is_old:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            echo(f"{size:>15,}  {path}: {what}")
    if remove or not total:
        echo(f"Removed {total:,} bytes")
    else:
        echo(f"{total:,} bytes can be removed: {command('prune --remove')}")


def _measure(path: Path) -> int:
    """The size of a file, or of all files of a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
