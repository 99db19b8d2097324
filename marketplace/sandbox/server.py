"""The server of ``make run``: gunicorn with one worker, which also runs the watcher and the sandbox's node.

    gunicorn -c python:marketplace.sandbox.server

PORT, GRPC_PORT and RELAY_PORT are its ports. It adds the sample collections, unless SAMPLE is "no".
"""

import fcntl
import os
import signal
import socket
import sys
import threading
from typing import Any

from flask import Flask
from gunicorn.sock import TCPSocket

from hiero_sandbox import relay
from hiero_sandbox.hapi.address import HOST
from marketplace.command_line import echo_log
from marketplace.sandbox import addresses, node, seed
from marketplace.serving import gunicorn_config
from marketplace.serving.gunicorn_config import *  # noqa: F403
from marketplace.watcher import loop

NODE_SECONDS = 10  # for the node to start, before the first request is answered

# Until gunicorn handles them. SIGHUP: the terminal was closed.
for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(each, signal.SIG_DFL)


def read_port(name: str, default: str) -> int:
    value = os.environ.get(name) or default
    if not value.isdecimal() or int(value) > 65_535:
        sys.exit(f"{name}={value} is not a port: take a number up to 65535")
    return int(value)


PORT, GRPC_PORT = read_port("PORT", "8000"), read_port("GRPC_PORT", "50211")
RELAY_PORT = read_port("RELAY_PORT", str(relay.PORT))
RELAY_HOST = os.environ.get("RELAY_HOST") or HOST  # 0.0.0.0: for a wallet on a phone

bind = f"{HOST}:{PORT}"
workers = 1  # the watcher and the node are in it
loglevel = "warning"
graceful_timeout = 1


def check_and_fill(server: Any) -> None:
    """Exit if the port is taken, or if another server has the data. Then add the sample."""
    app = server.app.wsgi()
    try:
        socket.create_server((HOST, PORT)).close()
    except OSError:
        sys.exit(
            f"Port {PORT} is taken: end what listens there, or use another: make run PORT={PORT + 1}"
        )
    lock(app.config["DATA_DIR"])
    if os.environ.get("SAMPLE") != "no":
        with app.app_context():
            seed.fill(node.sandbox_of(app))


def lock(folder: str) -> None:
    """Lock a file of the data folder until this process and its worker have ended. Exit if it is locked."""
    file = os.open(f"{folder}/sandbox.lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(
            f"make run serves the data in {folder} already, where {folder}/sandbox.env says."
            " End it first, or run this in another clone"
        )


def open_ports(server: Any) -> None:
    """Prepare the server before the fork."""
    served = []
    for port in addresses.REST_PORTS:
        try:
            server.LISTENERS.append(TCPSocket((HOST, port), server.cfg, server.log))
            served.append(port)
        except OSError:
            continue  # others listen there
    # A closed terminal ends it, as Ctrl-C does; gunicorn would load its configuration again.
    signal.signal(signal.SIGHUP, lambda *_: server.signal(signal.SIGINT, None))
    gunicorn_config.prepare(server, watches=True)
    echo_log(addresses.describe_further("REST", served, addresses.REST_PORTS))


def begin_threads(worker: Any) -> None:
    """Start the node and the watcher in threads. Requests wait until the node has started."""
    gunicorn_config.post_worker_init(worker)
    app: Flask = worker.wsgi
    begin_relay(app)
    node.begin(app, GRPC_PORT).wait(NODE_SECONDS)
    threading.Thread(target=watch, args=(app,), name="watch", daemon=True).start()


def begin_relay(app: Flask) -> None:
    """Serve the wallets' relay, on another port if its own is taken."""
    try:
        listener = socket.create_server((RELAY_HOST, RELAY_PORT))
    except OSError:
        listener = socket.create_server((RELAY_HOST, 0))
    relay.begin(listener)
    host, port = relay.find_address(RELAY_HOST), listener.getsockname()[1]
    node.sandbox_of(app).config.update(RELAY=f"ws://{host}:{port}", RELAY_PORT=port)
    echo_log(addresses.describe_relay(host, port))


def watch(app: Flask) -> None:
    with app.app_context():
        loop.watch(threading.Event())  # until the process ends


def end_at_once(worker: Any) -> None:
    """End the worker's threads with it. They would work on while the interpreter ends, and fail."""
    sys.stdout.flush()
    os._exit(0)


def end_worker(server: Any, worker: Any) -> None:
    if os.getpid() == worker.pid:  # gunicorn's master calls this, too
        end_at_once(worker)


def forget_addresses(server: Any) -> None:
    addresses.forget(server.app.wsgi().config["DATA_DIR"])


# Gunicorn's names of these.
on_starting, when_ready, on_exit = check_and_fill, open_ports, forget_addresses
post_worker_init, worker_int, worker_exit = begin_threads, end_at_once, end_worker
