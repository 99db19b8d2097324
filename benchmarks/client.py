"""Single requests over a kept connection, and how long each took."""

import socket
import time
from typing import NamedTuple


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]  # by lower-case name
    body: bytes
    seconds: float  # until the last byte
    first: float  # until the first byte of the body


class Client:
    """Speaks just enough HTTP/1.1 to add little time of its own."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token, self._sock = port, token, None

    def get(self, path: str, **headers: str) -> Answer:
        lines = [f"GET {path} HTTP/1.1", "Host: bench", f"Authorization: Bearer {self.token}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        request = ("\r\n".join(lines) + "\r\n\r\n").encode()
        for attempt in range(2):
            try:
                return self._ask(request)
            except ConnectionError:  # the server ended a connection that was idle
                self.close()
                if attempt:
                    raise
        raise AssertionError("unreachable")

    def close(self) -> None:
        if self._sock:
            self._sock.close()
        self._sock = None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def _ask(self, request: bytes) -> Answer:
        if self._sock is None:
            self._sock = socket.create_connection(("127.0.0.1", self.port), timeout=60)
            self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        started = time.perf_counter()
        self._sock.sendall(request)
        received = self._receive()
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += self._receive()
        head, chunks = received[:end].decode("latin-1"), [received[end + 4 :]]
        status, headers = _parse(head)
        is_empty = status in (204, 304)
        while not chunks[-1] and not is_empty and headers.get("content-length") != "0":
            chunks.append(self._receive())
        first = time.perf_counter() - started
        if "chunked" in headers.get("transfer-encoding", ""):
            while not b"".join(chunks[-2:])[-7:].endswith(b"\r\n0\r\n\r\n") and chunks != [
                b"0\r\n\r\n"
            ]:
                chunks.append(self._receive())
            seconds = time.perf_counter() - started
            return Answer(status, headers, _joined(b"".join(chunks)), seconds, first)
        missing = 0 if is_empty else int(headers["content-length"]) - sum(map(len, chunks))
        while missing > 0:
            chunks.append(self._receive())
            missing -= len(chunks[-1])
        seconds = time.perf_counter() - started
        if headers.get("connection", "").lower() == "close":
            self.close()
        return Answer(status, headers, b"".join(chunks), seconds, first)

    def _receive(self) -> bytes:
        received = self._sock.recv(262_144)
        if not received:
            raise ConnectionResetError("The server ended the connection")
        return received


def _parse(head: str) -> tuple[int, dict[str, str]]:
    line, *fields = head.split("\r\n")
    pairs = (field.partition(":") for field in fields)
    return int(line.split()[1]), {name.lower(): value.strip() for name, _, value in pairs}


def _joined(chunked: bytes) -> bytes:
    """The body that came in chunks."""
    parts, at = [], 0
    while True:
        end = chunked.index(b"\r\n", at)
        size = int(chunked[at:end].split(b";")[0], 16)
        if size == 0:
            return b"".join(parts)
        parts.append(chunked[end + 2 : end + 2 + size])
        at = end + 2 + size + 2
