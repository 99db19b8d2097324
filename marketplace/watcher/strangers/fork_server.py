"""Forks a process for each NFT that is to be read. The watcher begins it without an environment of its own.

    python -m marketplace.watcher.strangers.fork_server SECONDS [MODULE...]

Its standard input is a Unix socket. A message on it brings two descriptors: of a connection, over which the
process gets its work and answers, and of a pipe, over which the watcher learns how it ended. The modules are
imported once, for all processes. The server ends when no message came for so many seconds.
"""

import importlib
import os
import pkgutil
import select
import signal
import socket
import sys
from contextlib import suppress
from multiprocessing.connection import Connection


def serve(messages: socket.socket, idle_seconds: float) -> None:
    """Fork a keeper for each message, until the watcher has ended or asks for nothing more."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for keepers
    messages.settimeout(idle_seconds)
    while True:
        try:
            message, descriptors, *_ = socket.recv_fds(messages, 1, 2)
        except TimeoutError:
            # The next message fails, and has another server begun; one that came just now is read.
            messages.shutdown(socket.SHUT_RD)
            continue
        if not message:
            return
        if not os.fork():
            messages.close()
            keep(*map(Connection, descriptors))
            os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


def keep(answers: Connection, ended: Connection) -> None:
    """Fork the process, and send its exit code. Kill it when its time is up, or the watcher has given up."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        run, seconds, arguments = answers.recv()
    except (EOFError, OSError):
        return
    pid = os.fork()
    if not pid:
        ended.close()
        pkgutil.resolve_name(run)(answers, *arguments)
        os._exit(0)
    poll = select.poll()
    poll.register(os.pidfd_open(pid), select.POLLIN)
    poll.register(answers, 0)  # whether the watcher has closed it
    poll.poll(seconds * 1000)
    os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with suppress(OSError):
        ended.send(code)


if __name__ == "__main__":
    seconds, *modules = sys.argv[1:]
    for module in modules:
        importlib.import_module(module)
    serve(socket.socket(fileno=0), float(seconds))
