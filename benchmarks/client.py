"""Single requests over a kept connection, and how long each took."""

import http.client
import time
from typing import NamedTuple


class Answer(NamedTuple):
    link: str | None
    body: bytes
    seconds: float


class Client:
    def __init__(self, server: str, port: int, token: str) -> None:
        self._server = server
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Authorization": f"Bearer {token}"}

    def get(self, path: str, status: int = 200) -> Answer:
        """Get a path. Raises SystemExit for any other status."""
        started = time.perf_counter()
        try:
            self._connection.request("GET", path, headers=self._headers)
            response = self._connection.getresponse()
        except ConnectionError:  # the server ended a connection that was idle
            self._connection.close()
            return self.get(path, status)
        body = response.read()
        seconds = time.perf_counter() - started
        if response.status != status:
            raise SystemExit(f"{self._server} answers {path} with {response.status}")
        return Answer(response.headers["Link"], body, seconds)
