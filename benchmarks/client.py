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
        received = bytearray(self._receive())
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += self._receive()
        status, headers = _parse(received[:end].decode("latin-1"))
        body = received[end + 4 :]
        is_chunked = "chunked" in headers.get("transfer-encoding", "")
        length = 0 if status in (204, 304) else int(headers.get("content-length", -1))
        if not body and length:
            body += self._receive()
        first = time.perf_counter() - started
        while not _ends_chunks(body) if is_chunked else len(body) < length:
            body += self._receive()
        if length < 0 and not is_chunked:
            raise ValueError("The answer does not say where it ends")
        seconds = time.perf_counter() - started
        if headers.get("connection", "").lower() == "close":
            self.close()
        return Answer(status, headers, _joined(body) if is_chunked else bytes(body), seconds, first)

    def _receive(self) -> bytes:
        received = self._sock.recv(262_144)
        if not received:
            raise ConnectionResetError("The server ended the connection")
        return received


def _parse(head: str) -> tuple[int, dict[str, str]]:
    line, *fields = head.split("\r\n")
    pairs = (field.partition(":") for field in fields)
    return int(line.split()[1]), {name.lower(): value.strip() for name, _, value in pairs}


def _ends_chunks(body: bytearray) -> bool:
    return body.endswith(b"\r\n0\r\n\r\n") or body == b"0\r\n\r\n"


def _joined(chunked: bytearray) -> bytes:
    """The body that came in chunks."""
    parts, at = [], 0
    while True:
        end = chunked.index(b"\r\n", at)
        size = int(chunked[at:end].split(b";")[0], 16)
        if size == 0:
            return b"".join(parts)
        parts.append(chunked[end + 2 : end + 2 + size])
        at = end + 2 + size + 2
