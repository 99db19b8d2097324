"""How gunicorn serves it; every line can be overridden on gunicorn's own command line.

``gunicorn -c python:marketplace.operator.gunicorn`` serves the package in any folder.
"""

import gc
import logging
import os
import socket
import struct
from contextlib import suppress

from marketplace.operator import requestlog, startup
from marketplace.operator.command import say

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
# After SIGTERM, running requests get so long to finish; the longest waits for the ledger and images.
graceful_timeout = 30
# A connection may idle so long between two requests: longer than a page needs for its next call.
keepalive = 5

# No address here is longer than about 200 bytes, and no client sends more than some twenty headers.
limit_request_line = 2048
limit_request_fields = 64
limit_request_field_size = 8190

# Proxies are believed as MARKETPLACE_TRUSTED_PROXIES says, and by the application alone.
forwarded_allow_ips = ""

# Nothing but signals and systemd controls the server.
control_socket_disable = True

# Files go through write(), which SILENT_CLIENT_SECONDS interrupts; sendfile() would wait for ever.
sendfile = False

# Standard output, one line a request, where MARKETPLACE_ACCESS_LOG asks for it.
accesslog = requestlog.destination(os.environ.get("MARKETPLACE_ACCESS_LOG", "off"))

# A client may fall silent for so long in the middle of a request, or of our answer.
SILENT_CLIENT_SECONDS = 5


def when_ready(server):
    """Before the fork: what is set here holds in every worker."""
    for listener in server.LISTENERS:
        drop_silent_clients(listener.sock)
    logging.getLogger("gunicorn.error").addFilter(tell_briefly)
    app = server.app.wsgi()
    write_access_log(app)
    addresses = [listener.sock.getsockname() for listener in server.LISTENERS]
    # What lives as long as the processes is looked through once, and never again by a collection of theirs.
    gc.collect()
    gc.freeze()
    if node := app.extensions.get("node"):
        node.start(inherited=[listener.sock for listener in server.LISTENERS])
        keep_node(server, node)
    # A full disk behind standard output keeps nobody from being served.
    with suppress(OSError):
        say(startup.describe(app, addresses))  # at once, or each worker would print it, too


def keep_node(server, node):
    """Let it be looked at whenever a child has ended; gunicorn has no hook for one that is no worker."""
    reap = server.handle_chld

    def reap_and_keep():
        reap()
        node.keep()

    # By both names of the signal: which one gunicorn calls is not certain.
    server.handle_chld = server.handle_cld = reap_and_keep


def on_exit(server):
    """What was begun beside the workers ends before the server does: whoever starts next has its port."""
    if node := server.app.wsgi().extensions.get("node"):
        node.stop()


def on_reload(server):
    """After SIGHUP, which made the access log's handlers anew."""
    write_access_log(server.app.wsgi())


def write_access_log(app):
    counts = app.extensions["counts"]
    requestlog.init_server(app.config["ACCESS_LOG"], lambda: counts.add(("log_lines_lost",)))


def drop_silent_clients(sock):
    """A client that stops in the middle must not keep a thread."""
    patience = struct.pack("ll", SILENT_CLIENT_SECONDS, 0)
    # Linux hands these down to each accepted connection.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, patience)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, patience)
    if sock.family in (socket.AF_INET, socket.AF_INET6):
        # A connection is ours once something was sent on it; until then the kernel keeps it.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, SILENT_CLIENT_SECONDS)


def tell_briefly(record):
    """One line, not a traceback, for a client that fell silent."""
    if record.exc_info and isinstance(record.exc_info[1], BlockingIOError):
        logging.getLogger(record.name).info("Dropped a client that fell silent")
        return False
    return True
