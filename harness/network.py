"""Servers over real sockets that stand in for the network: a faithful one, and ones that misbehave."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

from werkzeug.serving import make_server

PATIENCE_SECONDS = 60  # a timeout for things that take a second on an idle machine


@contextlib.contextmanager
def reserved_port():
    """Reserve a free port for a server that sets SO_REUSEADDR, as all here do. Nobody else can get it."""
    with socket.socket() as keeper:
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        keeper.bind(("127.0.0.1", 0))
        yield keeper.getsockname()[1]


def is_free(port):
    """Whether nobody listens on a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def read_all(connection):
    """Read until the other side ends the connection."""
    return b"".join(iter(lambda: connection.recv(65536), b""))


@contextlib.contextmanager
def serve(application, port=0) -> Iterator[str]:
    """Serve a WSGI application on a port of this machine, or on a free one; yields its address."""
    server = make_server("127.0.0.1", port, application, threaded=True)
    server.log_startup = lambda: None
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def serve_raw(
    answer: Callable[..., None], host="127.0.0.1", port=0, by_head=False
) -> Iterator[str]:
    """Serve bare sockets: each request is read to its blank line, then the function answers.

    ``by_head``: the function also gets what was read.
    """
    listener = socket.create_server((host, port))
    listener.settimeout(0.1)
    stop, threads = threading.Event(), []

    def handle(connection):
        with contextlib.suppress(OSError), connection:
            connection.settimeout(30)
            received = b""
            while b"\r\n\r\n" not in received:
                received += connection.recv(65536)
                if not received:
                    return
            answer(connection, *([received] if by_head else []))

    def accept():
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                connection, _ = listener.accept()
                thread = threading.Thread(target=handle, args=(connection,), daemon=True)
                thread.start()
                threads.append(thread)

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield f"http://{host}:{listener.getsockname()[1]}"
    finally:
        stop.set()
        accepting.join()
        listener.close()


def response(body: bytes, status="200 OK", **headers) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


# Ways to misbehave


def silence(connection):
    """Say nothing for longer than any client here waits."""
    time.sleep(120)


def reset_in_the_middle(connection):
    connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{"transactions": [')
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def drip(connection, piece):
    """Drip for half a minute only: a thread that waits for it delays the end of its process."""
    for _ in range(300):
        connection.sendall(piece)
        time.sleep(0.1)


def drip_body(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    drip(connection, b" ")


def drip_headers(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    drip(connection, b"x")


def huge_body(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 200000000\r\n\r\n")
    for _ in range(3200):
        connection.sendall(b" " * 65536)


def answering(body: bytes, status="200 OK", **headers):
    return lambda connection: connection.sendall(response(body, status, **headers))
