"""How the service is served; every line can be overridden on gunicorn's own command line."""

import os
import socket
import struct

bind = "127.0.0.1:8000"
wsgi_app = "wsgi:app"

# One process per core, threads for those who wait (for the ledger, for a slow client).
worker_class = "gthread"
workers = os.cpu_count() or 1
threads = 8

# The application and the Hedera SDK are imported once, before the fork: workers share their memory.
preload_app = True

timeout = 30
graceful_timeout = 30
keepalive = 5
limit_request_line = 4094
control_socket_disable = True

SILENT_CLIENT_SECONDS = 10


def when_ready(server):
    """A client that stops in the middle of a request must not keep a thread; tell where we are."""
    for listener in server.LISTENERS:
        patience = struct.pack("ll", SILENT_CLIENT_SECONDS, 0)
        # Linux hands these down to each accepted connection.
        listener.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, patience)
        listener.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, patience)
    app = server.app.wsgi()
    if app.config["NETWORK"] == "sandbox":
        from marketplace.sandbox.commands import hello

        print(hello(app), flush=True)
    app.extensions["database"].close()  # no connection may cross the fork
