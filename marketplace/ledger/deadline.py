"""A moment by which work must be done, kept even against a server that sends a byte at a time."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from requests.adapters import HTTPAdapter
from requests_hardened.ip_filter_adapter import IPFilterAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

_watching = threading.local()


class TimeIsUp(Exception):
    """The deadline has passed."""


class Deadline:
    """A moment some seconds from now."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds
        self._bites: set[Callable[[], None]] = set()

    def within(self, seconds: float, spare: float = 0) -> "Deadline":
        """The deadline that is so many seconds from now, and as many as are to spare before this one."""
        return Deadline(min(seconds, self._at - spare - time.monotonic()))

    @property
    def left(self) -> float:
        """Seconds left, or none: 0."""
        return max(0.0, self._at - time.monotonic())

    def remaining(self) -> float:
        """Seconds left. Raises TimeIsUp where there are none."""
        seconds = self.left
        if not seconds:
            raise TimeIsUp
        return seconds

    def end(self) -> None:
        """Let it be now: what is being read within it, is cut off."""
        self._at = time.monotonic()
        for bite in [*self._bites]:
            bite()

    @contextmanager
    def biting(self, bite: Callable[[], None]) -> Iterator[None]:
        """Have it bite, in whatever thread, if it ends before its time."""
        self._bites.add(bite)
        try:
            yield
        finally:
            self._bites.discard(bite)


class _Watchdog:
    """Shuts a connection down at the deadline, whatever is being read from it then.

    A timeout of requests is for one silence, not for the whole: a byte a second never ends it.
    """

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._timer: threading.Timer | None = None
        self._connection: HTTPConnection | None = None
        self._socket: socket.socket | None = None
        self.has_bitten = False

    def guard(self, connection: HTTPConnection) -> None:
        self._connection = connection
        if connection.sock:
            # Kept, as a response that ends the connection takes the socket over.
            self._socket = connection.sock
        # Asked again once it is connected: while a name server was silent, there was nothing to cut.
        seconds = self._deadline.remaining()
        if self._timer is None:
            self._timer = threading.Timer(seconds, self.bite)
            self._timer.daemon = True
            self._timer.start()

    def bite(self) -> None:
        self.has_bitten = True
        cut = self._socket or (self._connection and self._connection.sock)
        if cut:
            with suppress(OSError):  # closed already
                socket.socket.shutdown(cut, socket.SHUT_RDWR)  # below TLS, which would say goodbye

    def leave(self) -> None:
        if self._timer:
            self._timer.cancel()


@contextmanager
def watched(deadline: Deadline) -> Iterator[None]:
    """Let no network request of this thread outlive the deadline. Raises TimeIsUp."""
    deadline.remaining()
    _watching.dog = dog = _Watchdog(deadline)
    try:
        with deadline.biting(dog.bite):
            yield
    except Exception:
        if not dog.has_bitten:
            raise
    finally:
        dog.leave()
        _watching.dog = None
    if dog.has_bitten:
        raise TimeIsUp  # what was read looks whole to HTTP, but was cut


class _WatchedConnection:
    def connect(self):
        _watching.dog.guard(self)
        super().connect()

    def getresponse(self):
        _watching.dog.guard(self)
        return super().getresponse()


class _PlainConnection(_WatchedConnection, HTTPConnection):
    pass


class _TLSConnection(_WatchedConnection, HTTPSConnection):
    pass


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _PlainConnection


class _TLSPool(HTTPSConnectionPool):
    ConnectionCls = _TLSConnection


class _WatchedAdapter:
    def init_poolmanager(self, *args, **kwargs):
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _PlainPool, "https": _TLSPool}


class WatchedAdapter(_WatchedAdapter, HTTPAdapter):
    """Carries requests over connections that keep the deadline."""


class GuardedAdapter(_WatchedAdapter, IPFilterAdapter):
    """The same, to public addresses only: resolved once, checked, and pinned."""
