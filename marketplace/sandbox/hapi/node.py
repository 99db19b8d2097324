"""The process of the sandbox's consensus node: begun by the server's first process, and gone with it.

gRPC must not be begun before a fork, and every worker is one: so it has a process of its own. The server's
first process, which never speaks gRPC itself, begins it anew when it dies.
"""

import asyncio
import ctypes
import mmap
import os
import resource
import select
import signal
import socket
import struct
import threading
import time
from collections.abc import Iterable
from contextlib import suppress

from flask import Flask

from marketplace.sandbox.follower import Follower

READY_SECONDS = 10  # from its beginning until its port is open
STOPPED_SECONDS = 5
PAUSE_SECONDS = 1  # before it is begun anew
OPEN_FILES = 4096  # a connection is one
PR_SET_PDEATHSIG = 1  # prctl(2)
# What is sent to all processes of a terminal concerns the server; the node ends with it.
LEFT_TO_THE_SERVER = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGTTIN,
    signal.SIGTTOU,
    signal.SIGWINCH,
)
PORT = struct.Struct("=I")


class Node:
    """The node of an application, begun by start() in the process that all workers are forked from."""

    def __init__(self, app: Flask, sandbox: Flask) -> None:
        self._app = app
        self._sandbox = sandbox
        self._wanted = app.config["GRPC_PORT"]
        self._memory = mmap.mmap(-1, PORT.size)  # shared with all that are forked from here
        self._pid = 0
        self._inherited: list[socket.socket] = []

    @property
    def port(self) -> int:
        """The port that it listens on, on 127.0.0.1; 0 where it does not."""
        return PORT.unpack(self._memory[:])[0]

    @property
    def has_begun(self) -> bool:
        """Whether this process has begun it, or was forked from the one that did."""
        return self._pid != 0

    def start(self, inherited: Iterable[socket.socket] = ()) -> None:
        """Begin it, and wait until it listens. It closes the sockets that it has inherited."""
        if self._wanted is None:
            return
        self._inherited = list(inherited)
        reading, writing = os.pipe()
        self._begin(writing)
        os.close(writing)
        select.select([reading], [], [], READY_SECONDS)
        os.close(reading)

    def keep(self) -> None:
        """Begin it anew where it has ended: for who is told of the ends of children.

        Not in a handler of a signal, which may interrupt a fork that holds locks.
        """
        if self._pid and _has_ended(self._pid):
            self._begin()

    def stop(self) -> None:
        """End it, and wait until its port is free."""
        pid, self._pid = self._pid, 0
        if not pid:
            return
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGTERM)
            until = time.monotonic() + STOPPED_SECONDS
            while os.waitpid(pid, os.WNOHANG) == (0, 0) and time.monotonic() < until:
                time.sleep(0.01)

    def _begin(self, writing: int | None = None) -> None:
        """Fork it. It writes to the pipe once it listens; where it gets none, it is begun anew."""
        parent = os.getpid()
        self._pid = os.fork()
        if self._pid:
            return
        try:
            _live_with(parent)
            for inherited_socket in self._inherited:
                # After a reload they may be others.
                with suppress(OSError):
                    os.close(inherited_socket.fileno())
            if writing is None:
                time.sleep(PAUSE_SECONDS)
                self._app.logger.warning("The sandbox's node has ended: it is begun anew")
            self._serve(writing)
        except Exception:
            self._app.logger.exception("The sandbox's node can not go on")
        finally:
            os._exit(0)

    def _serve(self, writing: int | None) -> None:
        # Here, where no fork follows.
        from marketplace.sandbox.hapi import server

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if 0 <= soft < OPEN_FILES:
            limit = OPEN_FILES if hard < 0 else min(OPEN_FILES, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))

        def tell(port: int) -> None:
            self._memory[:] = PORT.pack(port)
            if writing is not None:
                os.write(writing, b"1")

        follower = Follower(self._app, self._sandbox)
        threading.Thread(target=follower.follow, daemon=True).start()
        was_open = self.port
        port, is_required = was_open or self._wanted, bool(was_open)
        asyncio.run(server.serve(self._sandbox, port, is_required, tell))


def _live_with(parent: int) -> None:
    """Have this process ended with the one that began it, and by no signal that is meant for that."""
    for number in LEFT_TO_THE_SERVER:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(0)  # it has ended already


def _has_ended(pid: int) -> bool:
    """Tell whether a child has ended. Whoever waits for all children learns of it as well."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True
