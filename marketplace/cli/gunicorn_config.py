"""How gunicorn serves it; every line can be overridden on gunicorn's own command line.

``gunicorn -c python:marketplace.cli.gunicorn_config`` serves the package in any folder.
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

from marketplace.cli import startup
from marketplace.cli.command import echo_log
from marketplace.errors import StartRefused
from marketplace.market import signer
from marketplace.services import services

wsgi_app = "marketplace.wsgi:app"

# Only this machine: a proxy in front ends TLS, and keeps slow clients away.
bind = "127.0.0.1:8000"

# One process for each core that we may use; threads for requests that wait for the ledger.
worker_class = "gthread"
workers = len(os.sched_getaffinity(0))
threads = 8

# The application and the Hedera SDK are imported once, before the fork: workers share their memory.
preload_app = True

# A worker that has not moved for so long is replaced. Threads that wait for the ledger do not count.
timeout = 30
# After SIGTERM, running requests get so long to finish; the longest waits for the ledger.
graceful_timeout = 30
# A connection may idle so long between two requests: longer than a page needs for its next call.
keepalive = 5

# No address here is longer than about 200 bytes, and no client sends more than some twenty headers.
limit_request_line = 2048
limit_request_fields = 64
limit_request_field_size = 8190

# Proxies are believed as MARKETPLACE_TRUSTED_PROXIES says, and by the application alone. The last two are for
# Unix sockets, over which gunicorn would believe everybody.
forwarded_allow_ips = ""
secure_scheme_headers: dict[str, str] = {}
forwarder_headers = ""

# Nothing but signals and systemd controls the server.
control_socket_disable = True

# Files go through write(), which SILENT_CLIENT_SECONDS interrupts; sendfile() would wait for ever.
sendfile = False

# The form of --access-logfile.
access_log_format = (
    '%(t)s %(h)s "%(r)s" %(s)s %(B)s B %(M)s ms %({marketplace.request}e)s %({marketplace.token}e)s'
)

# A client may fall silent for so long in the middle of a request, or of our answer.
SILENT_CLIENT_SECONDS = 5


def pre_request(worker: Any, request: Any) -> None:
    """Keep query strings out of the access log: some client may send a token in one."""
    request.uri = request.uri.partition("?")[0]


def when_ready(server: Any) -> None:
    """Before the fork: what is set here holds in every worker."""
    app = server.app.wsgi()
    addresses = [listener.sock.getsockname() for listener in server.LISTENERS]
    sandbox = services(app).sandbox
    further = sandbox.listen(server) if sandbox else None
    for listener in server.LISTENERS:
        drop_silent_clients(listener)
    logging.getLogger("gunicorn.error").addFilter(shorten_traceback)
    require_account(app)
    logging.raiseExceptions = False  # a line for which the disk has no room is lost
    # Objects that live as long as the processes are left out of their garbage collection.
    gc.collect()
    gc.freeze()
    # Said here, or each worker would say it, too.
    echo_log("\n".join(filter(None, (startup.describe(app, addresses), further))))


def require_account(app: Flask) -> None:
    """Ask the ledger, once for all workers, whether purchases can be signed; or end with the reason."""
    try:
        startup.require_ready(app)
        if app.config["NETWORK"] != "sandbox":
            signer.require_account(app)
    except StartRefused as error:
        sys.exit(f"Error: {error}")


def post_worker_init(worker: Any) -> None:
    """Leave the terminal's Ctrl-C to the first process: a worker that gets both signals may hang."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def drop_silent_clients(listener: Any) -> None:
    """A client that stops in the middle must not keep a thread."""
    if listener.sock.family == socket.AF_UNIX:
        listener.accept = partial(accept_with_timeout, listener.sock)
        return
    set_timeouts(listener.sock)  # Linux hands this down to each accepted connection
    # A connection is ours once something was sent on it; until then the kernel keeps it.
    listener.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, SILENT_CLIENT_SECONDS)


def accept_with_timeout(listening: socket.socket) -> tuple[socket.socket, Any]:
    """Accept a connection of a Unix socket, which inherits no timeouts."""
    connection, address = listening.accept()
    set_timeouts(connection)
    return connection, address


def set_timeouts(sock: socket.socket) -> None:
    timeout = struct.pack("ll", SILENT_CLIENT_SECONDS, 0)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeout)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeout)


def shorten_traceback(record: logging.LogRecord) -> bool:
    """One line, not a traceback, for a client that fell silent."""
    if record.exc_info and isinstance(record.exc_info[1], BlockingIOError):
        logging.getLogger(record.name).info("Dropped a client that fell silent")
        return False
    return True
