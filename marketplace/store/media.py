"""Stores optimized images under the hash of their content."""

import hashlib
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import obstore
from flask import Config, current_app
from obstore.exceptions import GenericError
from obstore.store import LocalStore, S3Store

from marketplace.errors import MediaUnreachable
from marketplace.settings import SettingError
from marketplace.store import disks
from marketplace.store.connection import Connection

# Versions before 0.3.0 stored GIF and PNG.
TYPES = {"webp": "image/webp", "gif": "image/gif", "png": "image/png"}
MAX_AGE_SECONDS = 86_400  # a client asks again after a day: the operator may have hidden the image
# No image is stored if its disk has less free space: the database may be on the same disk.
MIN_FREE_BYTES = 200_000_000
FILE_MODE = 0o644  # for a web server that serves the folder
PLACEHOLDER = Path(__file__).with_name("placeholder.webp")
TIMEOUT = timedelta(seconds=10)
CONNECT_TIMEOUT = timedelta(seconds=3)


class MediaFull(Exception):
    """Recorded as the reason why an NFT has no image."""

    def __init__(self) -> None:
        super().__init__("the disk of MARKETPLACE_MEDIA_URL is nearly full")


class MediaStore:
    """A folder or a bucket of images. The image of a key never changes."""

    def __init__(self, url: str, public_url: str) -> None:
        self._public_url = public_url
        self.folder: Path | None = None  # None: a bucket
        self._store = self._open(url)

    def _open(self, url: str) -> LocalStore | S3Store:
        if url.startswith("s3://"):
            return S3Store.from_url(
                url,
                client_options={
                    "timeout": TIMEOUT,
                    "connect_timeout": CONNECT_TIMEOUT,
                    "allow_http": True,
                },
                retry_config={"max_retries": 1, "retry_timeout": TIMEOUT},
            )
        self.folder = Path(url.removeprefix("file:")).absolute()
        try:
            return LocalStore(self.folder, mkdir=True)
        except OSError as error:
            raise SettingError(f"MARKETPLACE_MEDIA_URL={url!r} can't be used: {error}") from error

    @property
    def is_remote(self) -> bool:
        """Whether it is a bucket, which may fail to answer."""
        return self.folder is None

    def put(self, content: bytes, extension: str, small: bytes | None = None) -> str:
        """Store an image and return its key. With a small image, the keys end in -640 and -320.

        Raises MediaFull if the folder's disk is nearly full, and MediaUnreachable.
        """
        key = find_key(content, extension, small)
        if small is not None:
            self._put(_small_of(key), small, extension)
        return self._put(key, content, extension)

    def _put(self, key: str, content: bytes, extension: str) -> str:
        """Store an object, whole or not at all."""
        if self.folder and (self.folder / key).exists():
            return key
        try:
            self._require_room()
            obstore.put(self._store, key, content, attributes=self._attributes(extension))
            if self.folder:
                disks.set_mode(self.folder / key, FILE_MODE)
        except (OSError, GenericError) as error:
            raise MediaUnreachable from error
        return key

    def _require_room(self) -> None:
        """Raise MediaFull if the disk is nearly full. Makes the folder again if it was removed."""
        if self.folder:
            self.folder.mkdir(parents=True, exist_ok=True)
            if shutil.disk_usage(self.folder).free < MIN_FREE_BYTES:
                raise MediaFull

    def _attributes(self, extension: str) -> dict[str, str] | None:
        """HTTP headers for an image in a bucket, the same as our own; None for a folder."""
        if self.folder:
            return None
        cached = f"public, max-age={MAX_AGE_SECONDS}"
        return {"Content-Type": TYPES[extension], "Cache-Control": cached}

    def remove(self, keys: Iterable[str]) -> None:
        """Remove images, and the small ones beside them. Raises MediaUnreachable."""
        for name in [name for key in keys for name in list_sizes(key)]:
            try:
                with suppress(FileNotFoundError):
                    obstore.delete(self._store, name)
            except (OSError, GenericError) as error:
                raise MediaUnreachable from error

    def get(self, key: str) -> bytes | None:
        """Read an image. Returns None if the key does not exist. Raises MediaUnreachable."""
        try:
            return bytes(obstore.get(self._store, key).bytes())
        except FileNotFoundError:
            return None
        except (OSError, GenericError) as error:
            current_app.logger.warning("An image cannot be read: %s", error)
            raise MediaUnreachable from error

    def url(self, key: str | None) -> str:
        """The absolute URL of an image, or of the placeholder if ``key`` is None."""
        return f"{self._public_url}/{key or PLACEHOLDER.name}"


def find_key(content: bytes, extension: str, small: bytes | None = None) -> str:
    """The key under which put() stores an image."""
    name = hashlib.sha256(content).hexdigest()
    return f"{name}.{extension}" if small is None else f"{name}-640.{extension}"


def _small_of(key: str) -> str:
    """The key of the small image beside a large one; for an image without one, its own key."""
    return key.replace("-640.", "-320.")


def list_sizes(key: str) -> set[str]:
    """The keys of an image and of the small one beside it, if it has one."""
    return {key, _small_of(key)}


def large_of(key: str) -> str:
    """The key of the large image beside a small one. Any other image keeps its key."""
    return key.replace("-320.", "-640.")


def list_keys(db: Connection) -> Iterator[str]:
    """The keys of all images that rows name. Reads whole tables: for commands."""
    sql = """
        SELECT image AS name FROM nft WHERE image IS NOT NULL
        UNION SELECT banner FROM collection WHERE banner IS NOT NULL
        UNION SELECT logo FROM collection WHERE logo IS NOT NULL
    """
    return (row["name"] for row in db.execute(sql).fetchall())


def from_config(config: Config) -> MediaStore:
    return MediaStore(config["MEDIA_URL"], config["MEDIA_PUBLIC_URL"])
