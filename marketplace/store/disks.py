"""How much room the disks of the database and the images have."""

import os
import shutil
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
