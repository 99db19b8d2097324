"""The sandbox's addresses, kept in files beside its ledger for programs and other processes."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flask import Flask

HOST = "127.0.0.1"


def find_port(sandbox: Flask) -> int | None:
    """The port that the node listens on; None if no node runs."""
    try:
        return int(sandbox.config["NODE_FILE"].read_text().rpartition(":")[2])
    except (OSError, ValueError):
        return None


def find_url(sandbox: Flask) -> str | None:
    """The service's address, as the node has written it; None if no node runs."""
    try:
        found = re.search("^export MARKET=(.*)$", _environment(sandbox).read_text(), re.MULTILINE)
    except OSError:
        return None
    return found and found[1]


def _environment(sandbox: Flask) -> Path:
    return Path(sandbox.config["NODE_FILE"]).with_name("sandbox.env")


@contextmanager
def announced(
    sandbox: Flask, token: str, port: int, mirror_port: int | None = None
) -> Iterator[None]:
    """Write the node's address, such as ``127.0.0.1:50211``, to its file, and remove the file at the end.

    Beside it, sandbox.env has all addresses of the sandbox and its access token, for shells and dotenv.
    """
    file, address = sandbox.config["NODE_FILE"], f"{HOST}:{port}"
    environment, url = _environment(sandbox), sandbox.config["PUBLIC_URL"]
    environment.unlink(missing_ok=True)  # a killed process may have left one that others may read
    environment.touch(mode=0o600)
    environment.write_text(
        f"export MARKET={url}\n"
        f"export MIRROR={url}/sandbox/api/v1\n"
        f"export MIRROR_GRPC={HOST}:{mirror_port or port}\n"
        f"export NODE={address}\n"
        f"export TOKEN={token}\n"
    )
    file.write_text(address)  # last, so that the other file is complete when this one exists
    try:
        yield
    finally:
        if find_port(sandbox) == port:  # otherwise a newer node has written its own
            file.unlink()
            environment.unlink()
