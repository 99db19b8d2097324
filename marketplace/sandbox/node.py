"""The sandbox's node for SDKs, served by a command of its own, or by a thread of the web server."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import cast

from flask import Flask

from hiero_sandbox.hapi.address import find_port
from marketplace.command_line import echo_log
from marketplace.sandbox import addresses
from marketplace.services import Sandbox, services


def sandbox_of(app: Flask) -> Flask:
    return cast(Sandbox, services(app).sandbox).app


def port_of(app: Flask) -> int | None:
    """The port of the node that runs now, in any process."""
    return find_port(sandbox_of(app))


def run(app: Flask, port: int, further: tuple[int, ...] = ()) -> None:
    """Serve until SIGTERM or SIGINT, on another port if this one is taken. Prints its addresses."""
    from hiero_sandbox.hapi import server  # imports gRPC, which other processes do not need

    asyncio.run(
        server.serve(sandbox_of(app), port, further, partial(announced, app, port, further))
    )


def begin(app: Flask, port: int) -> threading.Event:
    """Serve in a thread, until the process ends. Returns an event that is set when the ports are served."""
    from hiero_sandbox.hapi import server

    is_served = threading.Event()
    further = tuple(each for each in addresses.GRPC_PORTS if each != port)

    @contextmanager
    def then(served: int, others: list[int]) -> Iterator[None]:
        with announced(app, port, further, served, others):
            is_served.set()
            yield

    def serve() -> None:
        asyncio.run(server.serve(sandbox_of(app), port, further, then, ending=()))

    threading.Thread(target=serve, name="node", daemon=True).start()
    return is_served


@contextmanager
def announced(
    app: Flask, wanted: int, further: tuple[int, ...], served: int, others: list[int]
) -> Iterator[None]:
    """Print the addresses, and keep them in files until the end."""
    with addresses.announced(app, served, next(iter(others), None)):
        taken = f", as {wanted} is taken" if wanted not in (0, served) else ""
        echo_log(addresses.describe_node(served) + taken)
        if further:
            echo_log(addresses.describe_further("gRPC", others, further))
        yield
