"""How much room the disks of the database and the images have."""

import os
import shutil

from flask import current_app


def find_free() -> dict[str, int]:
    """Free bytes, by the setting whose disk it is. Leaves out what is on other machines."""
    free = {}
    for name in ("DATABASE_URL", "MEDIA_URL"):
        path = current_app.config[name].removeprefix("file:")
        if "://" not in path:
            folder = path if name == "MEDIA_URL" else os.path.dirname(path) or "."
            free[name] = shutil.disk_usage(folder).free
    return free
