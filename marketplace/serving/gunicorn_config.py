"""The configuration of gunicorn. Options on gunicorn's command line override it.

``gunicorn -c python:marketplace.serving.gunicorn_config`` serves the package in any folder. With a host's own
application, such as ``shop:app`` at the end, it serves that.
"""

import gc
import logging
import os
import signal
import socket
import struct
import sys
from functools import partial
from typing import Any

from flask import Flask

from marketplace import command_line, metrics
from marketplace.command_line import echo_log
from marketplace.errors import StartRefused
from marketplace.services import applications
from marketplace.serving import startup

command_line.prepare_process()

wsgi_app = "marketplace.wsgi:app"

# Only this machine: a proxy in front terminates TLS, and keeps slow clients away.
bind = "127.0.0.1:8000"

# One process for each core that we may use. The threads are for requests that wait for the ledger.
worker_class = "gthread"
workers = len(os.sched_getaffinity(0))
threads = 8

# The application and the Hedera SDK are imported once, before the fork: workers share their memory.
preload_app = True

# A worker whose main loop hangs for so long is replaced. Threads that wait for the ledger do not count.
timeout = 30
# After SIGTERM, running requests have so long to finish. The longest ones wait for the ledger.
graceful_timeout = 30
# A connection may be idle for so long between two requests: longer than a page needs for its next call.
keepalive = 5

# GET /v1/nfts with 100 long ids has about 3,300 bytes. Clients send about twenty headers at most.
limit_request_line = 4094
limit_request_fields = 64
limit_request_field_size = 8190

# Only the application trusts proxies, by MARKETPLACE_TRUSTED_PROXIES. The last two settings are for Unix
# sockets, over which gunicorn would trust everybody.
forwarded_allow_ips = ""
secure_scheme_headers: dict[str, str] = {}
forwarder_headers = ""

# Only signals and systemd control the server.
control_socket_disable = True

# Files are sent by write(), which SILENT_CLIENT_SECONDS interrupts; sendfile() would wait for ever.
sendfile = False

# The format of --access-logfile.
access_log_format = (
    '%(t)s %(h)s "%(r)s" %(s)s %(B)s B %(M)s ms %({marketplace.request}e)s %({marketplace.token}e)s'
)

# A client may be silent for so long in the middle of a request, or of our answer.
SILENT_CLIENT_SECONDS = 5


def pre_request(worker: Any, request: Any) -> None:
    """Keep query strings out of the access log: a client may send a token in one."""
    request.uri = request.uri.partition("?")[0]


def when_ready(server: Any) -> None:
    prepare(server, watches=False)


def prepare(server: Any, watches: bool) -> None:
    """Prepare the server before the fork, so that each setting holds in every worker.

    ``watches``: a worker of this server is the watcher, too.
    """
    app = server.app.wsgi()
    for listener in server.LISTENERS:
        drop_silent_clients(listener)
    logging.getLogger("gunicorn.error").addFilter(shorten_traceback)
    logging.raiseExceptions = False  # if the disk is full, log lines are lost
    is_ours = isinstance(app, Flask) and app in applications  # not a host's
    if is_ours:
        require_account(app)
    # Objects that live as long as the processes need no garbage collection.
    gc.collect()
    gc.freeze()
    folders = {each.config["DATA_DIR"] for each in applications}
    if len(folders) == 1:  # a host may have several marketplaces
        metrics.share(folders.pop(), metrics.SERVER)
    if is_ours:
        # Printed here, because each worker would print it, too.
        addresses = [listener.sock.getsockname() for listener in server.LISTENERS]
        echo_log(startup.describe(app, addresses, watches))


def require_account(app: Flask) -> None:
    """Check once for all workers that purchases can be signed. Exits with the reason if they cannot."""
    try:
        startup.require_ready(app)
        if app.config["NETWORK"] != "sandbox":
            startup.require_account(app)
    except StartRefused as error:
        sys.exit(f"Error: {error}")


def child_exit(server: Any, worker: Any) -> None:
    metrics.end(worker.pid)


def post_worker_init(worker: Any) -> None:
    """Ignore the terminal's Ctrl-C, which the master handles: a worker that gets both signals may hang."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def drop_silent_clients(listener: Any) -> None:
    """Set timeouts on accepted connections: a client that stops in the middle must not occupy a thread."""
    if listener.sock.family == socket.AF_UNIX:
        listener.accept = partial(accept_with_timeout, listener.sock)
        return
    set_timeouts(listener.sock)  # on Linux, each accepted connection inherits them
    # The kernel holds a connection back until its client has sent something.
    listener.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, SILENT_CLIENT_SECONDS)


def accept_with_timeout(listening: socket.socket) -> tuple[socket.socket, Any]:
    """Accept a connection of a Unix socket, and set its timeouts: it inherits none."""
    connection, address = listening.accept()
    set_timeouts(connection)
    return connection, address


def set_timeouts(sock: socket.socket) -> None:
    timeout = struct.pack("ll", SILENT_CLIENT_SECONDS, 0)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeout)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeout)


def shorten_traceback(record: logging.LogRecord) -> bool:
    """Log one line, not a traceback, for a client that fell silent."""
    if record.exc_info and isinstance(record.exc_info[1], BlockingIOError):
        logging.getLogger(record.name).info("Dropped a client that fell silent")
        return False
    return True
