"""Waits for the processes of ``make run``. Ends all of them when a signal comes, or when one of them ends.

    python -I -S supervise.py web=123 watcher=124

run.py started them. They are children of this process, in sessions of their own. It imports little, to take
only 5 MB.
"""

import os
import signal
import sys
import time
from contextlib import suppress

SECONDS = 1.3  # for processes to end, before they are killed
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # SIGHUP: the terminal was closed


def supervise(processes: dict[int, str]) -> int:
    """Wait until a signal comes, or a process ends; then end all. Returns the exit code."""
    ended, number = [], signal.SIGCHLD  # it also comes if a process is only suspended
    while number not in ENDING and not ended:
        ended = [name for pid, name in processes.items() if has_ended(pid)]
        number = number if ended else signal.sigwait((*ENDING, signal.SIGCHLD))
    end(processes)
    if number in ENDING:
        return 0
    print("Ended, so all were stopped:", *ended, file=sys.stderr)
    return 1


def has_ended(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def end(processes: dict[int, str]) -> None:
    """Ask processes to end. Kill those that do not, with their own children."""
    for pid in processes:
        os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + SECONDS
    while not all(map(has_ended, processes)) and (rest := until - time.monotonic()) > 0:
        signal.sigtimedwait((signal.SIGCHLD,), rest)
    for pid in processes:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


if __name__ == "__main__":
    words = (word.partition("=") for word in sys.argv[1:])
    sys.exit(supervise({int(pid): name for name, _, pid in words}))
