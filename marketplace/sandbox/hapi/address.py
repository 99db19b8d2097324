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
def announced(sandbox: Flask, port: int, mirror_port: int | None = None) -> Iterator[None]:
    """Keep the node's address in its file, as ``127.0.0.1:50211``, while it listens.

    Beside it, sandbox.env has all addresses of the sandbox, as shells and dotenv read them.
    """
    file, address = _file(sandbox), f"{HOST}:{port}"
    all_addresses, url = file.with_name("sandbox.env"), sandbox.config["PUBLIC_URL"]
    file.write_text(address)
    all_addresses.write_text(
        f"MARKET={url}\n"
        f"MIRROR={url}/sandbox/api/v1\n"
        f"MIRROR_GRPC={HOST}:{mirror_port or port}\n"
        f"NODE={address}\n"
    )
    try:
        yield
    finally:
        if file.read_text() == address:  # a newer node has written its own
            file.unlink()
            all_addresses.unlink()
