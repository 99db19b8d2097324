"""The ports on which SDKs look for the REST of a local mirror node: the web server listens there, too."""

import os
from typing import Any

from marketplace.sandbox.commands import describe_further
from marketplace.sandbox.hapi.address import HOST


def listen(server: Any) -> str | None:
    """Have gunicorn listen on those of SANDBOX_REST_PORTS that are free, before it forks; tell which ones."""
    from gunicorn.sock import TCPSocket  # other processes do without

    ports = map(int, os.environ.get("SANDBOX_REST_PORTS", "").split())
    wanted, served = [port for port in ports if (HOST, port) not in server.cfg.address], []
    for port in wanted:
        try:
            server.LISTENERS.append(TCPSocket((HOST, port), server.cfg, server.log))
        except OSError:
            continue
        served.append(port)
    return describe_further("REST", served, wanted) if wanted else None
