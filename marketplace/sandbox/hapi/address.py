"""Where the sandbox's node listens: a file beside the ledger says it, to programs and to other processes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flask import Flask

from marketplace.services import services

HOST = "127.0.0.1"


def _file(sandbox: Flask) -> Path:
    return services(sandbox).database.path.with_name("sandbox-node")


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
        if file.read_text() == address:  # a node that began since has one of its own
            file.unlink()
