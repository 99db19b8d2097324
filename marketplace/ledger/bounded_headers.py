"""Connections that bound the size of response headers. The standard library reads up to 6.5 MB of headers."""

import http.client
from typing import Any

from requests.adapters import BaseAdapter, HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

MAX_HEADER_BYTES = 64 * 1024  # of one answer, with its status line


class HeadersTooLarge(ValueError):
    """The headers of an answer are larger than MAX_HEADER_BYTES."""


class _Head:
    """Reads a file's first lines, up to the bound."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._left = MAX_HEADER_BYTES

    def readline(self, limit: int) -> bytes:
        line: bytes = self._file.readline(min(limit, self._left + 1))
        self._left -= len(line)
        if self._left < 0:
            raise HeadersTooLarge
        return line

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class _Response(http.client.HTTPResponse):
    def begin(self) -> None:
        file, self.fp = self.fp, _Head(self.fp)  # type: ignore[assignment]
        super().begin()
        self.fp = file


class _HTTPConnection(HTTPConnection):
    response_class = _Response


class _HTTPSConnection(HTTPSConnection):
    response_class = _Response


class _HTTPConnectionPool(HTTPConnectionPool):
    ConnectionCls = _HTTPConnection


class _HTTPSConnectionPool(HTTPSConnectionPool):
    ConnectionCls = _HTTPSConnection


def bound_headers(adapter: BaseAdapter) -> None:
    """Let an adapter's new connections refuse longer headers. Excludes proxies, which are the operator's."""
    if isinstance(adapter, HTTPAdapter):
        pools = {"http": _HTTPConnectionPool, "https": _HTTPSConnectionPool}
        adapter.poolmanager.pool_classes_by_scheme = pools
