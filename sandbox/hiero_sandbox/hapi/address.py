"""The address of the sandbox's node."""

from flask import Flask

HOST = "127.0.0.1"


def find_port(sandbox: Flask) -> int | None:
    """The port of the node, in this process or in the one that wrote NODE_FILE; None if there is none."""
    if port := sandbox.config.get("NODE_PORT"):
        return int(port)
    try:
        return int(sandbox.config["NODE_FILE"].read_text().rpartition(":")[2])
    except (KeyError, OSError, ValueError):
        return None
