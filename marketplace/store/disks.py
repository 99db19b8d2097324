"""The disks of the database, the images and the backups: their room, and what they can't do."""

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flask import current_app


def find_free() -> dict[str, int]:
    """Free bytes, by the setting whose disk it is. Leaves out what is on other machines."""
    free = {}
    for name in ("DATABASE_URL", "MEDIA_URL"):
        path = current_app.config[name].removeprefix("file:")
        if "://" not in path:
            folder = Path(path) if name == "MEDIA_URL" else Path(path).parent
            free[name] = shutil.disk_usage(_find_existing(folder)).free
    return free


def _find_existing(folder: Path) -> Path:
    """The folder, or the nearest one above it: the next image makes a folder again that was removed."""
    return next(each for each in (folder, *folder.parents) if os.path.isdir(each))


# Errors of disks without modes, or which can't sync a folder: of virtual machines, SMB, FUSE, vfat.
UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM)
_logged: set[tuple[int, str]] = set()  # what disks lack, by the disk


def set_mode(path: Path, mode: int) -> None:
    """Set a file's mode, if its disk has modes."""
    with _hardening(path.parent, "sets no modes"):
        path.chmod(mode)


def copy_owner(source: Path, target: Path) -> None:
    """Give a file the mode of another one and, if this user may, its owner and group."""
    status = source.stat()
    with suppress(PermissionError):
        os.chown(target, status.st_uid, status.st_gid)
    set_mode(target, stat.S_IMODE(status.st_mode))


def sync(handle: int, folder: Path) -> None:
    """Sync a file in a folder, so that it survives a power cut, if its disk can."""
    with _hardening(folder, "syncs no files"):
        os.fsync(handle)


def sync_names(folder: Path) -> None:
    """Sync a folder, so that the names in it survive a power cut, if its disk can."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with _hardening(folder, "syncs no folders"):
            os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _hardening(folder: Path, lack: str) -> Iterator[None]:
    """Log that a disk lacks something, and go on. Any other error is raised."""
    try:
        yield
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        if (key := (os.stat(folder).st_dev, lack)) not in _logged:
            _logged.add(key)
            current_app.logger.warning("The disk of %s %s: %s", folder, lack, error.strerror)
