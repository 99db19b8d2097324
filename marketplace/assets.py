"""The scripts, styles and images of pages, which browsers keep: their address has a hash of all of them."""

import gzip
import hashlib
import mimetypes
import posixpath
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, abort, request

MAX_AGE_SECONDS = 365 * 86_400
IMPORT = re.compile(r'^import (?:[^;]*? from )?"(\.[^"]+)";', re.MULTILINE)


class Assets:
    """Folders' files by their paths, and bundles that join several files. A later folder's file comes first.

    A bundle's name must change with its content, unless its files are in the folders. A page of an older
    version gets 404 at its old address, so that it never mixes its scripts with newer ones.
    """

    def __init__(self, folders: Sequence[Path], others: Mapping[str, Sequence[Path]]) -> None:
        paths: list[Path] = []
        self._files: dict[str, Sequence[Path]] = {}
        for folder in folders:
            own = [path for path in sorted(folder.rglob("*")) if path.is_file()]
            self._files |= {path.relative_to(folder).as_posix(): [path] for path in own}
            paths += own
        self._files |= others
        digest = hashlib.sha256(repr([*self._files]).encode())
        for path in paths:
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        self.digest = digest.hexdigest()[:12]
        self.find_imports = cache(self._find_imports)
        self._compress = cache(self._compress_file)

    def serve_from(self, blueprint: Blueprint, path: str) -> None:
        """Serve them below a path of a blueprint: ``url_for(".show_asset", name="base.css")``."""
        blueprint.add_url_rule(f"{path}/{self.digest}/<path:name>", "show_asset", self.show)

    def has(self, name: str) -> bool:
        return name in self._files

    def show(self, name: str) -> Any:
        """Serve a script, style or image of a page"""
        if name not in self._files:
            abort(404)
        is_packed = bool(request.accept_encodings["gzip"])
        body = self._compress(name) if is_packed else self._read(name)
        response = Response(body, mimetype=mimetypes.guess_type(name)[0])
        if is_packed:
            response.content_encoding = "gzip"
        response.headers["Cache-Control"] = f"public, max-age={MAX_AGE_SECONDS}, immutable"
        response.headers["Vary"] = "Accept-Encoding"
        response.set_etag(f"{self.digest}-gzip" if is_packed else self.digest)
        return response.make_conditional(request)

    def _read(self, name: str) -> bytes:
        return b"\n".join(path.read_bytes() for path in self._files[name])

    def _compress_file(self, name: str) -> bytes:
        return gzip.compress(self._read(name), 9, mtime=0)

    def _find_imports(self, *scripts: str) -> list[str]:
        """All that scripts import at once, and what that imports: a browser asks for all of it together."""
        found = [*scripts]
        for name in found:  # which grows
            folder = posixpath.dirname(name)
            for target in IMPORT.findall(self._read(name).decode()):
                imported = posixpath.normpath(posixpath.join(folder, target))
                if imported not in found:
                    found.append(imported)
        return found[len(scripts) :]
