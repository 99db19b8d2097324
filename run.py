"""``make run``: runs the processes of the Procfile in one terminal. They begin together, and end together.

    python run.py ["flask --app wsgi sandbox seed"] ...

Commands that it is given are run first. Each process is a fork of this one, which has made the application:
they share its memory, and begin at once.
honcho 2.0 was tried: it hangs where Ctrl-C comes in its first half second, and leaves processes behind where
the terminal is closed. (supervisor 4.3 loses signals in its first second.) Neither ends a process within 2 s.
"""

import gc
import importlib
import os
import re
import shlex
import signal
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
    importlib.import_module("wsgi")
    gc.freeze()
    for first in sys.argv[1:]:
        process = begin(first, first, execute)
        process.join()
        if process.exitcode:
            sys.exit(process.exitcode)
    lines = PROCFILE.read_text().splitlines()
    sys.exit(run(dict(line.split(": ", 1) for line in lines)))
