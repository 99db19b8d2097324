"""The address of the sandbox's node."""

import re
from ipaddress import IPv4Address

from flask import Flask, current_app, has_request_context, request

HOST = "127.0.0.1"
NAME = re.compile(r"([a-zA-Z0-9._-]+)(:[0-9]+)?\Z")  # of a Host that is no IPv6 address


def find_port(sandbox: Flask) -> int | None:
    """The port of the node, in this process or in the one that wrote NODE_FILE; None if there is none."""
    if port := sandbox.config.get("NODE_PORT"):
        return int(port)
    try:
        return int(sandbox.config["NODE_FILE"].read_text().rpartition(":")[2])
    except (KeyError, OSError, ValueError):
        return None


def find_host() -> tuple[str, str]:
    """The node's IPv4 address, or else its name: the one that a request over HTTP was sent to.

    A request over gRPC does not say where it was sent to, and gets the setting NODE_HOST.
    """
    asked = NAME.match(request.host) if has_request_context() else None
    host = asked[1] if asked else current_app.config.get("NODE_HOST", HOST)
    try:
        return str(IPv4Address(host)), ""
    except ValueError:
        return (HOST, "") if host == "localhost" else ("", host)
