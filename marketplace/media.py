"""Where optimised images are kept, under the hash of their content, and how they are served."""

import hashlib
import os
import tempfile
from pathlib import Path

from flask import Blueprint, Flask, current_app, send_from_directory

PLACEHOLDER = "placeholder.webp"

blp = Blueprint("media", __name__)


class MediaStore:
    """A folder of images. Its keys are their names; an image never changes under its key."""

    def __init__(self, folder: str, public_url: str) -> None:
        self.folder = Path(folder).absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._base_url = f"{public_url}/media/"

    def put(self, content: bytes, extension: str) -> str:
        """Keep an image, whole or not at all, and return its key."""
        key = f"{hashlib.sha256(content).hexdigest()}.{extension}"
        path = self.folder / key
        if not path.exists():
            with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                os.fchmod(file.fileno(), 0o644)
            os.replace(file.name, path)
        return key

    def url(self, key: str | None) -> str:
        """The absolute address of an image; of a placeholder where there is none."""
        return self._base_url + (key or PLACEHOLDER)


@blp.get("/media/<key>")
def show_media(key):
    """Serve an optimised image"""
    folder = Path(__file__).parent if key == PLACEHOLDER else current_app.extensions["media"].folder
    response = send_from_directory(folder, key, mimetype="image/webp", max_age=31_536_000)
    response.cache_control.immutable = True
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = "default-src 'none'"
    return response


def init_app(app: Flask) -> None:
    app.extensions["media"] = MediaStore(app.config["MEDIA_URL"], app.config["PUBLIC_URL"])
    app.register_blueprint(blp)
