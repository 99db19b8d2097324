"""Forks a process for each NFT whose metadata is to be read. The watcher starts it without our environment.

    python -m marketplace.watcher.strangers.fork_server SECONDS [MODULE...]

Its standard input is a Unix socket. Each message on it carries two descriptors: a connection, over which the
process receives its task and answers, and a pipe, over which the watcher receives the exit code. The modules
are imported once, for all processes. The server ends when no message has come for so many seconds.
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
    """Fork a keeper for each message, until the watcher ends, or sends no message for too long."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for keepers
    messages.settimeout(idle_seconds)
    while True:
        try:
            message, descriptors, *_ = socket.recv_fds(messages, 1, 2)
        except TimeoutError:
            # The watcher's next message fails, so it starts another server. One that has just come is read.
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
    """Fork the process, and send its exit code. Kill it when its time is up, or the watcher gives it up."""
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
    poll.register(answers, 0)  # reports that the watcher has closed it
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
