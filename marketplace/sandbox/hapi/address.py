"""The address of the sandbox's node, kept in a file beside the ledger for programs and other processes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flask import Flask

HOST = "127.0.0.1"


def _file(sandbox: Flask) -> Path:
    path: Path = sandbox.config["NODE_FILE"]
    return path


def find_port(sandbox: Flask) -> int | None:
    """The port that the node listens on; None where there is no node."""
    try:
        return int(_file(sandbox).read_text().rpartition(":")[2])
    except (OSError, ValueError):
        return None


@contextmanager
def announced(sandbox: Flask, port: int) -> Iterator[None]:
    """Keep the node's address in its file, as ``127.0.0.1:50211``, while it listens."""
    file, address = _file(sandbox), f"{HOST}:{port}"
    file.write_text(address)
    try:
        yield
    finally:
        if file.read_text() == address:  # a newer node has written its own
            file.unlink()
