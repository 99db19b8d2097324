"""``make run``: runs the processes of the Procfile in one terminal. They start together and end together.

    python run.py ["flask --app wsgi sandbox seed"] ...

PORT and GRPC_PORT are the ports it serves on. Commands in its arguments run first. Each process is a fork of
this one, which has loaded the application: so they share its memory, and start fast. Then this process
becomes deploy/supervise.py, a small program that waits for them.
honcho 2.0 was tried: it hangs if Ctrl-C comes in its first half second, and leaves processes behind if the
terminal is closed. supervisor 4.3 loses signals in its first second. Neither ends a process within 2 s.
"""

import fcntl
import gc
import importlib
import os
import re
import shlex
import signal
import socket
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

PROCFILE = Path(__file__).with_name("Procfile")
SUPERVISOR = Path(__file__).resolve().with_name("deploy") / "supervise.py"
VARIABLE = re.compile(r"\$\{(\w+):-(\w+)\}")  # ${PORT:-8000}
# SIGHUP: the terminal was closed.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SIGNALS = (*ENDING, signal.SIGCHLD)


def require_ports() -> None:
    """Exit with a message if PORT is taken, or if PORT or GRPC_PORT is not a port."""
    for name in ("PORT", "GRPC_PORT"):
        value = os.environ.get(name, "8000")
        if not value.isdecimal() or int(value) > 65_535:
            sys.exit(f"{name}={value} is not a port: take a number up to 65535")
    port = int(os.environ.get("PORT", "8000"))
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        sys.exit(
            f"Port {port} is taken: end what listens there, or use another: make run PORT={port + 1}"
        )


def lock(folder: str) -> None:
    """Lock the data folder until this process and all its forks have ended. Exit if it is in use."""
    file = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(
            f"make run serves the data in {folder} already, where {folder}/sandbox.env says."
            " End it first, or run this in another clone"
        )


def begin(name: str, command: str, target: Callable[[str], None]) -> BaseProcess:
    process = get_context("fork").Process(target=target, args=(command,), name=name)
    process.start()
    return process


def serve(command: str) -> None:
    """Run a console script in a session of its own: only we signal it, and not the terminal."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    execute(command)


def execute(command: str) -> None:
    """Run a console script."""
    sys.argv = shlex.split(VARIABLE.sub(lambda found: os.environ.get(*found.groups()), command))
    [script] = entry_points(group="console_scripts", name=sys.argv[0])
    sys.exit(script.load()())


if __name__ == "__main__":
    for number in ENDING:
        signal.signal(number, signal.SIG_DFL)  # no process has to be ended yet
    require_ports()
    lock(importlib.import_module("wsgi").app.config["DATA_DIR"])
    gc.freeze()
    for first in sys.argv[1:]:
        process = begin(first, first, execute)
        process.join()
        if process.exitcode:
            sys.exit(process.exitcode)
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # from now on they wait for the supervisor
    lines = (line.split(": ", 1) for line in PROCFILE.read_text().splitlines())
    pids = [f"{name}={begin(name, command, serve).pid}" for name, command in lines]
    os.execv(sys.executable, [sys.executable, "-I", "-S", SUPERVISOR, *pids])  # noqa: S606
