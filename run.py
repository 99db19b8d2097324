"""``make run``: runs the processes of the Procfile in one terminal. They begin together, and end together.

    python run.py ["flask --app wsgi sandbox seed"] ...

PORT and GRPC_PORT say where it serves. Commands that it is given are run first. Each process is a fork of
this one, which has made the application: they share its memory, and begin at once.
honcho 2.0 was tried: it hangs where Ctrl-C comes in its first half second, and leaves processes behind where
the terminal is closed. (supervisor 4.3 loses signals in its first second.) Neither ends a process within 2 s.
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
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import entry_points
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

PROCFILE = Path(__file__).with_name("Procfile")
VARIABLE = re.compile(r"\$\{(\w+):-(\w+)\}")  # ${PORT:-8000}
SECONDS = 1.3  # that processes have to end
# SIGHUP: the terminal was closed.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SIGNALS = (*ENDING, signal.SIGCHLD)


def require_ports() -> None:
    """End with a sentence where PORT is taken, or where PORT or GRPC_PORT is none."""
    for name in ("PORT", "GRPC_PORT"):
        value = os.environ.get(name, "8000")
        if not value.isdecimal() or int(value) > 65_535:
            sys.exit(f"{name}={value} is no port: take a number up to 65535")
    port = int(os.environ.get("PORT", "8000"))
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        sys.exit(
            f"Port {port} is taken: end what listens there, or take another: make run PORT={port + 1}"
        )


def lock(folder: str) -> None:
    """Lock the data until this process and all that it forks have ended; end where they are in use."""
    file = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(
            f"make run serves the data in {folder} already, where {folder}/sandbox.env says."
            " End it first, or begin in another clone"
        )


def run(commands: dict[str, str]) -> int:
    """Run commands until a signal comes, or one of them ends. Returns the exit code."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    processes = [begin(name, command, serve) for name, command in commands.items()]
    ended, number = [], signal.SIGCHLD  # which comes, too, where a process stops for a while
    while number not in ENDING and not ended:
        number = signal.sigwait(SIGNALS)
        ended = [process.name for process in processes if not process.is_alive()]
    end(processes)
    if number in ENDING:
        return 0
    print("Ended, and all with it:", *ended, file=sys.stderr)
    return 1


def begin(name: str, command: str, target: Callable[[str], None]) -> BaseProcess:
    process = get_context("fork").Process(target=target, args=(command,), name=name)
    process.start()
    return process


def serve(command: str) -> None:
    """Run a console script, in a session of its own: what a terminal sends to all comes from us alone."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    execute(command)


def execute(command: str) -> None:
    """Run a console script."""
    sys.argv = shlex.split(VARIABLE.sub(lambda found: os.environ.get(*found.groups()), command))
    [script] = entry_points(group="console_scripts", name=sys.argv[0])
    sys.exit(script.load()())


def end(processes: list[BaseProcess]) -> None:
    """Ask processes to end, and kill those that do not, with all that they have begun."""
    for process in processes:
        process.terminate()
    until = time.monotonic() + SECONDS
    for process in processes:
        process.join(max(0, until - time.monotonic()))
    for process in processes:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


if __name__ == "__main__":
    for number in ENDING:
        signal.signal(number, signal.SIG_DFL)  # nothing is to be ended yet
    require_ports()
    lock(importlib.import_module("wsgi").app.config["DATA_DIR"])
    gc.freeze()
    for first in sys.argv[1:]:
        process = begin(first, first, execute)
        process.join()
        if process.exitcode:
            sys.exit(process.exitcode)
    lines = PROCFILE.read_text().splitlines()
    sys.exit(run(dict(line.split(": ", 1) for line in lines)))
