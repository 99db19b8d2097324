"""Single requests over a kept connection, and how long each took."""

import http.client
import socket
import time
from typing import NamedTuple


class Answer(NamedTuple):
    status: int
    link: str | None
    body: bytes
    seconds: float


class Client:
    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Authorization": f"Bearer {token}"}

    def get(self, path: str) -> Answer:
        if self._connection.sock is None:
            self._connection.connect()
            self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        started = time.perf_counter()
        try:
            self._connection.request("GET", path, headers=self._headers)
            response = self._connection.getresponse()
        except ConnectionError:  # the server ended a connection that was idle
            self.close()
            return self.get(path)
        body = response.read()
        seconds = time.perf_counter() - started
        return Answer(response.status, response.headers["Link"], body, seconds)

    def close(self) -> None:
        self._connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
